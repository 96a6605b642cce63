// SPDX-License-Identifier: Apache-2.0
/* file_storage: segments that are damaged, cut off, forged, of an earlier or a later build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include "extensions/file_storage/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const texts[] = { "the first record", "",
				     "a third one, longer than the others" };

enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

/* A stopped instance, whose queue "q" has the texts in one segment. */
struct sample {
	struct storage storage;
	char *path;  /* of the segment, owned */
	char *bytes; /* its content, owned */
	size_t length;
};

static void sample_init(struct sample *sample)
{
	struct profcol_storage_queue *queue;

	storage_init(&sample->storage, 0);
	queue = storage_open(&sample->storage, "q");
	for (int i = 0; i < TEXTS; i++)
		storage_append(&sample->storage, queue, texts[i]);
	storage_close(&sample->storage, queue);
	sample->path = storage_only_segment(&sample->storage, "q");
	assert_int_equal(
		file_read(AT_FDCWD, sample->path, 1 << 20, &sample->bytes, &sample->length), 0);
	storage_stop(&sample->storage);
}

static void sample_deinit(struct sample *sample)
{
	remove_tree(sample->storage.path);
	free(sample->path);
	free(sample->bytes);
}

static void write_file(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* What comes of a segment: bit i of the result is that text i did. Nothing else may come. */
static unsigned int read_back(struct sample *sample, struct profcol_storage_figures *figures_ret)
{
	const struct profcol_storage_operations *operations = sample->storage.operations;
	struct profcol_storage_queue *queue;
	struct profcol_record record;
	unsigned int came = 0;
	int last = -1;

	storage_again(&sample->storage);
	queue = storage_open(&sample->storage, "q");
	while (operations->take(queue, &record) == PROFCOL_TAKE_RECORD) {
		int i = 0;

		while (i < TEXTS && (strlen(texts[i]) != record.length ||
				     memcmp(texts[i], record.bytes, record.length) != 0))
			i++;
		assert_in_range(i, last + 1, TEXTS - 1); // whole, once, and in order
		assert_int_equal(record.samples, strlen(texts[i]));
		last = i;
		came |= 1u << i;
		free(record.bytes);
	}
	*figures_ret = storage_figures(&sample->storage, queue);
	operations->close(queue);
	storage_stop(&sample->storage);
	return came;
}

/* Offset and length in the file of what belongs to text @i. */
static size_t place_of(int i, size_t *length_ret)
{
	size_t offset = SEGMENT_HEADER_BYTES;

	for (int before = 0; before < i; before++)
		offset += segment_record_bytes(strlen(texts[before]));
	*length_ret = segment_record_bytes(strlen(texts[i]));
	return offset;
}

static unsigned int texts_at(size_t offset)
{
	for (int i = 0; i < TEXTS; i++) {
		size_t length, begin = place_of(i, &length);

		if (offset >= begin && offset < begin + length)
			return 1u << i;
	}
	return 0;
}

static void a_flipped_bit_costs_only_the_record_it_is_in(void **state)
{
	const unsigned int all = (1u << TEXTS) - 1;
	struct sample sample;

	(void)state;
	sample_init(&sample);
	for (size_t offset = 0; offset < sample.length; offset++) {
		struct profcol_storage_figures figures;
		unsigned int came;

		sample.bytes[offset] ^= (char)(1 << offset % 8);
		write_file(sample.path, sample.bytes, sample.length);
		came = read_back(&sample, &figures);
		if ((came | texts_at(offset)) != all)
			fail_msg("byte %zu: of the texts only %x came", offset, came);
		assert_int_equal(figures.damaged_records, came == all ? 0 : 1);
		sample.bytes[offset] ^= (char)(1 << offset % 8);
	}
	sample_deinit(&sample);
}

static void a_damaged_body_is_counted_with_its_samples_and_once(void **state)
{
	struct profcol_storage_figures figures;
	struct sample sample;
	size_t length, begin = place_of(0, &length);

	(void)state;
	sample_init(&sample);
	sample.bytes[begin + SEGMENT_RECORD_HEADER_BYTES]++;
	write_file(sample.path, sample.bytes, sample.length);
	assert_int_equal(read_back(&sample, &figures), 6);
	assert_int_equal(figures.damaged_records, 1);
	assert_int_equal(figures.damaged_samples, strlen(texts[0]));
	assert_int_equal(figures.records, 2);
	assert_int_equal(read_back(&sample, &figures), 6);
	assert_int_equal(figures.damaged_records, 0);
	sample_deinit(&sample);
}

static void a_segment_cut_off_anywhere_gives_what_is_whole_and_counts_the_rest(void **state)
{
	struct sample sample;

	(void)state;
	sample_init(&sample);
	for (size_t length = 0; length < sample.length; length++) {
		struct profcol_storage_figures figures;
		unsigned int came, expected = 0;
		// What was in a file without its header cannot be told.
		uint64_t torn = length < SEGMENT_HEADER_BYTES, torn_samples = 0;

		for (int i = 0; i < TEXTS; i++) {
			size_t bytes, begin = place_of(i, &bytes);
			size_t body = begin + SEGMENT_RECORD_HEADER_BYTES;

			if (body + strlen(texts[i]) <= length)
				expected |= 1u << i;
			else if (begin < length)
				torn = 1;
			if (body <= length && body + strlen(texts[i]) > length)
				torn_samples = strlen(texts[i]);
		}
		write_file(sample.path, sample.bytes, length);
		came = read_back(&sample, &figures);
		assert_int_equal(came, expected);
		assert_int_equal(figures.damaged_records, torn);
		assert_int_equal(figures.damaged_samples, torn_samples);
		// It is counted once.
		if (expected)
			assert_int_equal(read_back(&sample, &figures), expected);
		assert_int_equal(figures.damaged_records, expected ? 0 : torn);
	}
	sample_deinit(&sample);
}

static void zeros_at_the_end_are_damage(void **state)
{
	struct profcol_storage_figures figures;
	struct sample sample;
	size_t length, begin = place_of(2, &length);

	(void)state;
	sample_init(&sample);
	memset(sample.bytes + begin, 0, length); // as a power cut may leave a file
	write_file(sample.path, sample.bytes, sample.length);
	assert_int_equal(read_back(&sample, &figures), 3);
	assert_int_equal(figures.damaged_records, 1);
	sample_deinit(&sample);
}

/* A body that holds a copy of a whole segment, behind a damaged header. */
static void what_a_body_pretends_to_be_is_no_record(void **state)
{
	struct profcol_storage_figures figures;
	struct profcol_storage_queue *queue;
	struct profcol_record record;
	struct sample sample;
	struct storage storage;
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	(void)state;
	sample_init(&sample);
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	assert_no_error(
		storage.operations->append(queue, (const uint8_t *)sample.bytes, sample.length, 1));
	storage_append(&storage, queue, "honest");
	storage_close(&storage, queue);
	path = storage_only_segment(&storage, "q");
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &bytes, &length), 0);
	bytes[SEGMENT_HEADER_BYTES + 16]++;
	write_file(path, bytes, length);
	storage_restart(&storage);
	queue = storage_open(&storage, "q");
	storage_expect_finish(&storage, queue, "honest");
	assert_int_equal(storage.operations->take(queue, &record), PROFCOL_TAKE_NONE);
	figures = storage_figures(&storage, queue);
	assert_int_equal(figures.damaged_records, 1);
	storage_close(&storage, queue);
	storage_deinit(&storage);
	sample_deinit(&sample);
}

static void a_file_that_vanished_is_counted(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	CLEANUP_FREE char *path = NULL;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "q");
	storage_append(&storage, queue, "one");
	storage_append(&storage, queue, "two");
	path = storage_only_segment(&storage, "q");
	assert_int_equal(remove(path), 0);
	storage_expect(&storage, queue, NULL);
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 2);
	assert_int_equal(storage_figures(&storage, queue).damaged_samples, 6);
	// The host tells the user.
	assert_int_equal(fake_host_log_count(&storage.fake, "warn "), 0);
	assert_int_equal(fake_host_metric(&storage.fake, "file_storage_damaged_records"), 2);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void strange_files_do_no_harm(void **state)
{
	static const char *const names[] = { "notes.txt", "0000000000000001-00000000000000.seg",
					     "ffffffffffffffff-0000000000000000.seg",
					     "0000000000000001-000000000000000X.seg" };
	struct profcol_storage_figures figures;
	struct sample sample;
	char path[160];

	(void)state;
	sample_init(&sample);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/q/%s", sample.storage.path, names[i]);
		write_file(path, "whatever", 8);
	}
	// This one has the name of a segment, and of the first: nothing in it can be used.
	snprintf(path, sizeof(path), "%s/q/0000000000000001-0000000000000000.seg",
		 sample.storage.path);
	write_file(path, sample.bytes + 24, sample.length - 24);
	assert_int_equal(read_back(&sample, &figures), 7);
	assert_int_equal(figures.damaged_records, 1);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/q/%s", sample.storage.path, names[i]);
		assert_int_equal(remove(path), 0);
	}
	sample_deinit(&sample);
}

/* ---- versions ---- */

/* The file header of version 2, as any later one begins. */
static const uint8_t version_2[] = {
	'P', 'R', 'O', 'F', 'C',  'O',  'L',  'Q',  2,    0,    0,    0,
	0,   0,   0,   0,   0x8d, 0x5f, 0x6b, 0x1b, 0xbb, 0xf4, 0xe8, 0x0b,
};

static void a_newer_format_is_refused_and_left_as_it_is(void **state)
{
	struct profcol_storage_queue *queue = NULL;
	struct sample sample;
	CLEANUP_FREE char *after = NULL;
	size_t length;
	char path[160];

	(void)state;
	sample_init(&sample);
	snprintf(path, sizeof(path), "%s/q/00000000000000ff-0000000000000000.seg",
		 sample.storage.path);
	write_file(path, version_2, sizeof(version_2));
	storage_again(&sample.storage);
	expect_storage_error(
		sample.storage.operations->open(sample.storage.fake.instance, "q", &queue),
		PROFCOL_UNSUPPORTED,
		"is of format 2, this version knows formats up to 1; run the newer version again");
	storage_stop(&sample.storage);
	assert_int_equal(storage_count_segments(&sample.storage, "q", NULL), 2);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &after, &length), 0);
	assert_int_equal(length, sizeof(version_2));
	assert_memory_equal(after, version_2, length);
	free(after);
	assert_int_equal(file_read(AT_FDCWD, sample.path, 1 << 20, &after, &length), 0);
	assert_int_equal(length, sample.length);
	assert_memory_equal(after, sample.bytes, length);
	sample_deinit(&sample);
}

/* A segment of version 1 as its first build wrote it: this has to work for ever. */
static void the_first_version_is_still_read(void **state)
{
	static const char name[] = "0000000000000007-5a175a175a175a17.seg";
	struct storage storage;
	struct profcol_storage_queue *queue;
	CLEANUP_FREE char *bytes = NULL;
	size_t length;
	char path[160];

	(void)state;
	storage_init(&storage, 0);
	storage_close(&storage, storage_open(&storage, "q"));
	snprintf(path, sizeof(path), "%s/tests/golden/storage/%s", PROFCOL_SOURCE_DIR, name);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &bytes, &length), 0);
	snprintf(path, sizeof(path), "%s/q/%s", storage.path, name);
	write_file(path, bytes, length);
	queue = storage_open(&storage, "q");
	assert_int_equal(storage_figures(&storage, queue).records, 2);
	storage_expect(&storage, queue, "the first record");
	storage_expect(&storage, queue, "a third one, longer than the others");
	storage_expect(&storage, queue, NULL); // the second was finished
	assert_int_equal(storage_figures(&storage, queue).damaged_records, 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_bit_costs_only_the_record_it_is_in),
		cmocka_unit_test(a_damaged_body_is_counted_with_its_samples_and_once),
		cmocka_unit_test(
			a_segment_cut_off_anywhere_gives_what_is_whole_and_counts_the_rest),
		cmocka_unit_test(zeros_at_the_end_are_damage),
		cmocka_unit_test(what_a_body_pretends_to_be_is_no_record),
		cmocka_unit_test(a_file_that_vanished_is_counted),
		cmocka_unit_test(strange_files_do_no_harm),
		cmocka_unit_test(a_newer_format_is_refused_and_left_as_it_is),
		cmocka_unit_test(the_first_version_is_still_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
