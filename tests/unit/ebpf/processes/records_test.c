// SPDX-License-Identifier: Apache-2.0
/* Side-band records as the kernel lays them out, decoded, and read from a ring that wraps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/record.h"
#include "processes/ring.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct bytes {
	size_t length;
	uint8_t at[512];
};

static void put(struct bytes *bytes, const void *from, size_t length)
{
	assert_true(bytes->length + length <= sizeof(bytes->at));
	memcpy(bytes->at + bytes->length, from, length);
	bytes->length += length;
}

static void put_u32(struct bytes *bytes, uint32_t value)
{
	put(bytes, &value, sizeof(value));
}

static void put_u64(struct bytes *bytes, uint64_t value)
{
	put(bytes, &value, sizeof(value));
}

static void put_text(struct bytes *bytes, const char *text)
{
	put(bytes, text, strlen(text) + 1);
	while (bytes->length % 8)
		put(bytes, "", 1);
}

static void put_header(struct bytes *bytes, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	bytes->length = 0;
	put(bytes, &header, sizeof(header));
}

static void put_tail(struct bytes *bytes, uint64_t time_ns)
{
	uint16_t size;

	put_u32(bytes, 900);
	put_u32(bytes, 901);
	put_u64(bytes, time_ns);
	put_u64(bytes, 3);
	size = (uint16_t)bytes->length;
	memcpy(bytes->at + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static struct bytes mmap_record(const char *path, uint64_t time_ns)
{
	struct bytes bytes;

	put_header(&bytes, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put_u32(&bytes, 10);
	put_u32(&bytes, 11);
	put_u64(&bytes, 0x7f0000001000);
	put_u64(&bytes, 0x3000);
	put_u64(&bytes, 0x2000);
	put_u32(&bytes, 0xfe);
	put_u32(&bytes, 1);
	put_u64(&bytes, 4242);
	put_u64(&bytes, 1);
	put_u32(&bytes, 5);
	put_u32(&bytes, 2);
	put_text(&bytes, path);
	put_tail(&bytes, time_ns);
	return bytes;
}

static struct bytes comm_record(const char *name, uint16_t misc, uint64_t time_ns)
{
	struct bytes bytes;

	put_header(&bytes, PERF_RECORD_COMM, misc);
	put_u32(&bytes, 10);
	put_u32(&bytes, 10);
	put_text(&bytes, name);
	put_tail(&bytes, time_ns);
	return bytes;
}

static struct bytes task_record(uint32_t type, uint64_t time_ns)
{
	struct bytes bytes;

	put_header(&bytes, type, 0);
	put_u32(&bytes, 20);
	put_u32(&bytes, 10);
	put_u32(&bytes, 21);
	put_u32(&bytes, 11);
	put_u64(&bytes, time_ns);
	put_tail(&bytes, time_ns);
	return bytes;
}

static void records_are_decoded(void **state)
{
	struct bytes bytes = mmap_record("/usr/lib/libx.so", 123);
	struct record record;

	(void)state;
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_MMAP);
	assert_int_equal(record.pid, 10);
	assert_int_equal(record.time_ns, 123);
	assert_int_equal(record.start, 0x7f0000001000);
	assert_int_equal(record.length, 0x3000);
	assert_int_equal(record.file_offset, 0x2000);
	assert_int_equal(record.device, makedev(0xfe, 1));
	assert_int_equal(record.inode, 4242);
	assert_string_equal(record.text, "/usr/lib/libx.so");
	assert_int_equal(record.text_length, 16);

	bytes = comm_record("sh", PERF_RECORD_MISC_COMM_EXEC, 7);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_EXEC);
	assert_string_equal(record.text, "sh");
	bytes = comm_record("sh", 0, 7);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_COMM);

	bytes = task_record(PERF_RECORD_FORK, 9);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_FORK);
	assert_int_equal(record.pid, 20);
	assert_int_equal(record.parent, 10);
	assert_int_equal(record.tid, 21);
	bytes = task_record(PERF_RECORD_EXIT, 9);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_EXIT);

	put_header(&bytes, PERF_RECORD_LOST, 0);
	put_u64(&bytes, 1);
	put_u64(&bytes, 77);
	put_tail(&bytes, 5);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_LOST);
	assert_int_equal(record.lost, 77);

	put_header(&bytes, PERF_RECORD_KSYMBOL, 0);
	put_u64(&bytes, 0xffffffffc0001000);
	put_u32(&bytes, 0x80);
	put_u32(&bytes, PERF_RECORD_KSYMBOL_TYPE_BPF | PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER << 16);
	put_text(&bytes, "bpf_prog_1_hot");
	put_tail(&bytes, 6);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_KERNEL_CODE);
	assert_true(record.ends);
	assert_true(record.start == 0xffffffffc0001000 && record.length == 0x80);
	assert_string_equal(record.text, "bpf_prog_1_hot");
	put_header(&bytes, PERF_RECORD_THROTTLE, 0);
	put_tail(&bytes, 5);
	assert_true(record_decode(bytes.at, bytes.length, &record));
	assert_int_equal(record.kind, RECORD_OTHER);
}

/* A record of a BPF program, and @junk more bytes, which are another record's that lay there. */
static struct bytes kernel_code_record(const char *name, uint64_t time_ns, size_t junk)
{
	struct bytes bytes;
	uint16_t size;

	put_header(&bytes, PERF_RECORD_KSYMBOL, 0);
	put_u64(&bytes, 0xffffffffc0001000);
	put_u32(&bytes, 0x80);
	put_u32(&bytes, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_text(&bytes, name);
	put_tail(&bytes, time_ns);
	for (size_t i = 0; i < junk; i++)
		put(&bytes, "\xab", 1);
	size = (uint16_t)bytes.length;
	memcpy(bytes.at + offsetof(struct perf_event_header, size), &size, sizeof(size));
	return bytes;
}

/* Where others listen too the kernel leaves room for what it has told them. */
static void records_of_bpf_programs_end_anywhere(void **state)
{
	static const char *const names[] = { "", "1234567", "12345678", "bpf_prog_1_hot" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t junk = 0; junk <= 96; junk += 8) {
			struct bytes bytes = kernel_code_record(names[i], 5, junk);
			struct record record;

			assert_true(record_decode(bytes.at, bytes.length, &record));
			assert_int_equal(record.kind, RECORD_KERNEL_CODE);
			assert_int_equal(record.time_ns, 5);
			assert_string_equal(record.text, names[i]);
		}
	}
}

static void malformed_records_are_refused(void **state)
{
	struct bytes whole = mmap_record("/usr/lib/libx.so", 123), bytes;
	struct record record;

	(void)state;
	// A path of 16 bytes and its NUL take 24: all shorter ones lose the NUL or more.
	for (size_t length = 0; length < whole.length - 7; length++) {
		uint8_t *cut = malloc(length ? length : 1);

		assert_non_null(cut);
		memcpy(cut, whole.at, length);
		assert_false(record_decode(cut, length, &record));
		free(cut);
	}
	bytes = whole;
	memset(bytes.at + 24, 0, 8); // no length
	assert_false(record_decode(bytes.at, bytes.length, &record));
	memset(bytes.at + 24, 0xff, 8); // past the end of memory
	assert_false(record_decode(bytes.at, bytes.length, &record));
	bytes = whole;
	memset(bytes.at + bytes.length - RECORD_TAIL_BYTES - 24, 'x', 24); // no NUL
	assert_false(record_decode(bytes.at, bytes.length, &record));
}

enum { RING_BYTES = 4096, LARGE_RING_BYTES = 65536 };

struct kernel {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
};

/* As the kernel does: all of a record or nothing. */
static bool kernel_write(struct kernel *kernel, const struct bytes *bytes)
{
	uint64_t head = kernel->page.data_head;

	if (head - kernel->page.data_tail + bytes->length > RING_BYTES)
		return false;
	for (size_t i = 0; i < bytes->length; i++)
		kernel->data[(head + i) % RING_BYTES] = bytes->at[i];
	kernel->page.data_head = head + bytes->length;
	return true;
}

static void records_survive_the_wrap_of_the_ring(void **state)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	uint64_t *scratch = malloc(RING_RECORD_MAX), written = 0, read = 0;
	struct ring ring;

	(void)state;
	assert_non_null(kernel);
	assert_non_null(scratch);
	// Where positions are near the end of their range, too.
	kernel->page.data_head = kernel->page.data_tail = UINT64_MAX - RING_BYTES * 3 + 1;
	ring_init(&ring, &kernel->page, kernel->data, RING_BYTES);
	for (int round = 0; round < 500; round++) {
		uint64_t time_ns;
		bool broken = false;

		for (;;) {
			struct bytes bytes =
				mmap_record(written % 3 ? "/a" : "/usr/lib/long-name", written + 1);

			if (!kernel_write(kernel, &bytes))
				break;
			written++;
		}
		ring_refresh(&ring);
		while (ring_peek(&ring, &time_ns, &broken)) {
			struct record record;
			size_t length;
			const void *bytes = ring_record(&ring, scratch, &length);

			assert_true(record_decode(bytes, length, &record));
			assert_int_equal(time_ns, read + 1);
			assert_int_equal(record.time_ns, time_ns);
			assert_string_equal(record.text, read % 3 ? "/a" : "/usr/lib/long-name");
			ring_pass(&ring);
			read++;
		}
		assert_false(broken);
		ring_release(&ring);
	}
	assert_true(read > 5000 && read == written);
	free(kernel);
	free(scratch);
}

/* Or all that follow would wait for the time that other bytes are taken for. */
static void the_time_of_a_bpf_program_is_found_in_the_ring(void **state)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	uint64_t expected = 0;
	struct ring ring;

	(void)state;
	assert_non_null(kernel);
	ring_init(&ring, &kernel->page, kernel->data, RING_BYTES);
	for (size_t round = 0; round < 1000; round++) {
		struct bytes code =
			kernel_code_record("bpf_prog_1_hot", ++expected, round % 13 * 8);
		uint64_t time_ns = 0;
		bool broken = false;

		assert_true(kernel_write(kernel, &code));
		ring_refresh(&ring);
		assert_true(ring_peek(&ring, &time_ns, &broken));
		assert_false(broken);
		assert_int_equal(time_ns, expected);
		ring_pass(&ring);
		ring_release(&ring);
	}
	free(kernel);
}

static void a_broken_ring_is_emptied_and_told(void **state)
{
	static const uint16_t sizes[] = { 0, 8, 31, 33, 4000, 65535 };
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	struct bytes good = mmap_record("/a", 5);
	struct ring ring;

	(void)state;
	assert_non_null(kernel);
	ring_init(&ring, &kernel->page, kernel->data, RING_BYTES);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bytes bad = good;
		uint64_t time_ns;
		bool broken = false;

		memcpy(bad.at + 6, &sizes[i], 2);
		assert_true(kernel_write(kernel, &bad));
		ring_refresh(&ring);
		assert_false(ring_peek(&ring, &time_ns, &broken));
		assert_true(broken);
		broken = false;
		assert_false(ring_peek(&ring, &time_ns, &broken));
		assert_false(broken);
		ring_release(&ring);
		assert_true(kernel_write(kernel, &good));
		ring_refresh(&ring);
		assert_true(ring_peek(&ring, &time_ns, &broken));
		assert_int_equal(time_ns, 5);
		ring_pass(&ring);
		ring_release(&ring);
	}
	free(kernel);
}

/* The kernel tells of what found no room only once it writes again. */
static void a_ring_that_was_full_is_told_of_when_nothing_comes_after_it(void **state)
{
	uint8_t *data = calloc(1, LARGE_RING_BYTES);
	struct perf_event_mmap_page page = { 0 };
	struct ring ring;

	(void)state;
	assert_non_null(data);
	ring_init(&ring, &page, data, LARGE_RING_BYTES);
	page.data_head = LARGE_RING_BYTES - RING_RECORD_LARGEST;
	ring_refresh(&ring);
	assert_false(ring_release(&ring));
	// What comes after the look counts, and what is passed only at the next release.
	page.data_head = LARGE_RING_BYTES - 8;
	ring.tail += 1000;
	assert_int_equal(ring_passed(&ring), 1000);
	assert_true(ring_release(&ring));
	assert_int_equal(ring_passed(&ring), 0);
	assert_int_equal(page.data_tail, 1000);
	ring.tail = page.data_head;
	(void)ring_release(&ring);
	assert_false(ring_release(&ring));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_decoded),
		cmocka_unit_test(records_of_bpf_programs_end_anywhere),
		cmocka_unit_test(malformed_records_are_refused),
		cmocka_unit_test(records_survive_the_wrap_of_the_ring),
		cmocka_unit_test(the_time_of_a_bpf_program_is_found_in_the_ring),
		cmocka_unit_test(a_broken_ring_is_emptied_and_told),
		cmocka_unit_test(a_ring_that_was_full_is_told_of_when_nothing_comes_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
