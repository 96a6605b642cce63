// SPDX-License-Identifier: Apache-2.0
/* Pages from real, sandboxed worker processes. */
#include "fake_host.h"
#include "page_rules.h"

#include "receiver/ebpf/worker/protocol.h"
#include "tests/unit/ebpf/passed_time.h"

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MS 1000000ull

enum { MAX_FILES = 16, PATIENCE_MS = 120000 };

static const struct origin machine = { .owner = { 0, 0 } };

struct fixture {
	struct fake_host fake;
	struct worker_pool *pool;
	const struct image *expected; /* what answers are compared with; NULL: nothing */
	struct {
		bool answered, has_tables;
		enum worker_outcome outcome;
		size_t segments, ranges, pages, failed;
		uint32_t page_first, page_limit;
		uint64_t first_asked;
	} files[MAX_FILES];
};

static void take_answer(void *context, const struct worker_answer *answer)
{
	struct fixture *fixture = context;

	assert_true(answer->file < MAX_FILES);
	fixture->files[answer->file].answered = true;
	fixture->files[answer->file].outcome = answer->outcome;
	fixture->files[answer->file].has_tables = answer->has_tables;
	fixture->files[answer->file].segments = answer->segment_count;
	fixture->files[answer->file].ranges = answer->range_count;
	fixture->files[answer->file].pages = answer->page_count;
	fixture->files[answer->file].failed = answer->pages_failed;
	fixture->files[answer->file].page_first = answer->page_first;
	fixture->files[answer->file].page_limit = answer->page_limit;
	fixture->files[answer->file].first_asked = answer->offset_count ? answer->offsets[0] : 0;
	if (fixture->expected)
		page_rules_expect_source(answer, fixture->expected);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_host_init(&fixture->fake);
	fixture->pool = worker_pool_create(&fixture->fake.host, "purpose=test", WORKER_UID,
					   take_answer, fixture);
	*state = fixture;
	time_stands(); // no worker is slow unless a test makes it so
	return fixture->pool ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	time_goes_on();
	worker_pool_destroy(fixture->pool);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	free(fixture);
	return 0;
}

static void start(struct fixture *fixture)
{
	struct profcol_error *error = worker_pool_start(fixture->pool);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static void ask(struct fixture *fixture, uint32_t file, const char *path, const uint32_t *pages,
		size_t count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	fixture->files[file].answered = false;
	assert_true(
		worker_pool_ask_pages(fixture->pool, file, machine, file + 1, fd, pages, count));
}

/* Run until @file is answered; false after @ms. */
static bool run_until(struct fixture *fixture, uint32_t file, uint64_t ms)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ms * MS;

	while (!fixture->files[file].answered && clock_monotonic_ns() < deadline_ns)
		worker_pool_run(fixture->pool, deadline_ns);
	return fixture->files[file].answered;
}

static void expect_outcome(struct fixture *fixture, uint32_t file, enum worker_outcome outcome)
{
	assert_true(run_until(fixture, file, PATIENCE_MS));
	assert_int_equal(fixture->files[file].outcome, outcome);
}

/* The pool still answers: for a small file, all of it. */
static void expect_work_goes_on(struct fixture *fixture)
{
	ask(fixture, MAX_FILES - 1, WORKER_FILES "/crowded.so", NULL, 0);
	expect_outcome(fixture, MAX_FILES - 1, WORKER_ANSWERED);
	assert_true(fixture->files[MAX_FILES - 1].has_tables);
	assert_int_equal(fixture->files[MAX_FILES - 1].pages, 1);
	assert_int_equal(fixture->files[MAX_FILES - 1].failed, 2);
}

/* An image in this process of the file at @path, mapped until the end. */
static void image_open(struct image *image, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *file;

	assert_int_equal(fstat(fd, &status), 0);
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(file, MAP_FAILED);
	image_init(image, file, (size_t)status.st_size);
	assert_int_equal(image_read_source(image), 0);
}

static void image_close(struct image *image)
{
	void *file = (void *)(uintptr_t)image->file;
	size_t bytes = image->file_bytes;

	image_deinit(image);
	munmap(file, bytes);
}

static void test_a_large_file_page_by_page(void **state)
{
	struct fixture *fixture = *state;
	uint32_t pages[WORKER_MAX_PAGES], first, limit;
	struct image image;

	image_open(&image, LARGE_FILE);
	start(fixture);
	fixture->expected = &image;
	ask(fixture, 0, LARGE_FILE, NULL, 0);
	expect_outcome(fixture, 0, WORKER_ANSWERED);
	assert_true(fixture->files[0].has_tables);
	assert_true(fixture->files[0].segments > 0);
	assert_int_equal(fixture->files[0].pages, 0);
	first = fixture->files[0].page_first;
	limit = fixture->files[0].page_limit;
	assert_true(limit - first > WORKER_SMALL_PAGES);
	for (uint32_t at = first; at < limit;) {
		size_t count = 0;

		while (count < WORKER_MAX_PAGES && at < limit)
			pages[count++] = at++;
		ask(fixture, 0, LARGE_FILE, pages, count);
		expect_outcome(fixture, 0, WORKER_ANSWERED);
		assert_int_equal(fixture->files[0].pages, count);
		assert_int_equal(fixture->files[0].first_asked, pages[0]);
	}
	assert_int_equal(fixture->fake.helper_count, 1);
	image_close(&image);
}

static void test_a_small_file_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct image image;

	image_open(&image, WORKER_FILES "/crowded.so");
	start(fixture);
	fixture->expected = &image;
	expect_work_goes_on(fixture);
	image_close(&image);
}

static void test_an_index_of_the_same_file(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (int round = 0; round < 3; round++) {
		const struct worker_index_files files = {
			.file = open(WORKER_FILES "/crowded.so", O_RDONLY | O_CLOEXEC),
			.index = memfd_create("index", MFD_CLOEXEC),
			.debug = -1,
		};

		assert_int_equal(ftruncate(files.index, 1 << 20), 0);
		expect_work_goes_on(fixture);
		fixture->files[MAX_FILES - 1].answered = false;
		assert_true(worker_pool_ask_index(fixture->pool, MAX_FILES - 1, machine, &files));
		expect_outcome(fixture, MAX_FILES - 1, WORKER_ANSWERED);
		assert_false(fixture->files[MAX_FILES - 1].has_tables);
	}
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_more_files_than_a_worker_keeps(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (int round = 0; round < 2; round++) {
		for (uint32_t file = 0; file < MAX_FILES; file++) {
			ask(fixture, file, file % 2 ? LARGE_FILE : WORKER_FILES "/crowded.so", NULL,
			    0);
			expect_outcome(fixture, file, WORKER_ANSWERED);
			assert_true(fixture->files[file].has_tables);
		}
	}
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_requests_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint32_t pages[WORKER_MAX_PAGES + 1] = { 0 };
	unsigned int asked = 0;

	assert_false(worker_pool_ask_pages(fixture->pool, 0, machine, 1,
					   open("/dev/null", O_RDONLY), pages,
					   WORKER_MAX_PAGES + 1));
	while (worker_pool_has_room(fixture->pool, OWNER_MACHINE)) {
		assert_true(worker_pool_ask_pages(fixture->pool, 0, machine, 1,
						  open("/dev/null", O_RDONLY), pages,
						  WORKER_MAX_PAGES));
		assert_true(++asked < 1000);
	}
	assert_false(worker_pool_ask_pages(fixture->pool, 0, machine, 1,
					   open("/dev/null", O_RDONLY), pages, 1));
}

static void test_what_is_no_file_is_unreadable(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	ask(fixture, 0, "/", NULL, 0);
	expect_outcome(fixture, 0, WORKER_UNREADABLE);
	ask(fixture, 1, "/etc/passwd", NULL, 0);
	expect_outcome(fixture, 1, WORKER_ANSWERED);
	assert_false(fixture->files[1].has_tables);
	expect_work_goes_on(fixture);
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_killed_in_the_middle(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	kill(fixture->fake.helpers[0], SIGSTOP);
	ask(fixture, 0, LARGE_FILE, NULL, 0);
	worker_pool_run(fixture->pool, 0);
	assert_false(fixture->files[0].answered);
	kill(fixture->fake.helpers[0], SIGKILL);
	expect_outcome(fixture, 0, WORKER_CRASHED);
	assert_false(fixture->files[0].has_tables);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_crashes", "purpose=test"), 1);
	expect_work_goes_on(fixture);
	assert_int_equal(fixture->fake.helper_count, 2);
}

static void test_a_hang_ends_and_holds_up_nobody(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	kill(fixture->fake.helpers[0], SIGSTOP);
	ask(fixture, 0, LARGE_FILE, NULL, 0);
	worker_pool_run(fixture->pool, 0);
	passed_ns += 100 * MS;
	expect_work_goes_on(fixture);
	assert_false(fixture->files[0].answered);
	passed_ns += 4900 * MS;
	worker_pool_run(fixture->pool, 0);
	passed_ns += 500 * MS;
	expect_outcome(fixture, 0, WORKER_TIMED_OUT);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_timeouts", "purpose=test"), 1);
	expect_work_goes_on(fixture);
}

/* A file that shrinks between two requests: its tables are gone under the worker's feet. */
static void test_a_truncated_file_costs_one_worker(void **state)
{
	char path[] = "/tmp/profcol-truncated-XXXXXX";
	struct fixture *fixture = *state;
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FD int fd = mkstemp(path);
	size_t size;

	assert_true(fd >= 0);
	assert_int_equal(file_read(AT_FDCWD, WORKER_FILES "/crowded.so", 4 << 20, &bytes, &size),
			 0);
	assert_int_equal(write(fd, bytes, size), size);
	start(fixture);
	ask(fixture, 0, path, NULL, 0);
	expect_outcome(fixture, 0, WORKER_ANSWERED);
	assert_int_equal(ftruncate(fd, 0), 0);
	ask(fixture, 0, path, NULL, 0);
	expect_outcome(fixture, 0, WORKER_CRASHED);
	unlink(path);
	expect_work_goes_on(fixture);
}

/* Ready, and then @bytes of @body as the answer to the first request. */
static int answer_with(int socket, const void *body, size_t bytes)
{
	struct protocol_header header = { .magic = PROTOCOL_MAGIC };
	struct protocol_request request;
	struct protocol_hello hello;

	(void)!recv(socket, &hello, sizeof(hello), MSG_WAITALL);
	(void)!write(socket, &header, sizeof(header));
	if (recv(socket, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
		return 1;
	header.id = request.id;
	header.body_bytes = (uint32_t)bytes;
	(void)!write(socket, &header, sizeof(header));
	(void)!write(socket, body, bytes);
	pause();
	return 0;
}

static int noise_body(int socket)
{
	char noise[4096];

	memset(noise, 0xa5, sizeof(noise));
	return answer_with(socket, noise, sizeof(noise));
}

/* All right up to the tables, which announce more than there is. */
static int lying_body(int socket)
{
	const struct {
		struct protocol_facts facts;
		struct worker_segment segment;
		struct protocol_tables tables;
		char text[8];
	} body = {
		.facts = { .htlhash = "0123456789abcdef0123456789abcdef",
			   .segment_count = 1,
			   .text_bytes = 8,
			   .tables_bytes = sizeof(struct protocol_tables) },
		.segment = { .file_bytes = 0x1000, .memory_bytes = 0x1000, .executable = 1 },
		.tables = { .has_tables = 1, .page_count = 1, .rule_count = 1000 },
	};

	return answer_with(socket, &body, sizeof(body));
}

/* Larger than any answer may be. */
static int overlong_body(int socket)
{
	static const char bytes[PROTOCOL_MAX_BODY + 1];

	return answer_with(socket, bytes, sizeof(bytes));
}

static void expect_replaced(struct fixture *fixture, int (*body)(int socket))
{
	fixture->fake.body = body;
	start(fixture);
	fixture->fake.body = worker_helper;
	ask(fixture, 0, LARGE_FILE, NULL, 0);
	expect_outcome(fixture, 0, WORKER_MISBEHAVED);
	assert_int_equal(fixture->files[0].segments, 0);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_bad_answers", "purpose=test"), 1);
	expect_work_goes_on(fixture);
}

static void test_noise_is_no_answer(void **state)
{
	expect_replaced(*state, noise_body);
}

static void test_a_lying_worker_is_replaced(void **state)
{
	expect_replaced(*state, lying_body);
}

static void test_an_endless_answer_is_not_read(void **state)
{
	expect_replaced(*state, overlong_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_large_file_page_by_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_small_file_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_index_of_the_same_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_files_than_a_worker_keeps, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_requests_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_file_is_unreadable, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_killed_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_hang_ends_and_holds_up_nobody, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_truncated_file_costs_one_worker, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_noise_is_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_lying_worker_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_endless_answer_is_not_read, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
