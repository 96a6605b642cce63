// SPDX-License-Identifier: Apache-2.0
/* The file exporter, driven through its descriptor: what stands in the file, whatever happens. */
#include "fake_host.h"
#include "test_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

extern const struct profcol_component profcol_exporter_file;

enum { JSON, PROTO };

struct fixture {
	struct fake_host fake;
	char directory[32];
	char path[64];
	struct profcol_reply reply;
};

static void fixture_init(struct fixture *fixture, int format)
{
	*fixture = (struct fixture){ .directory = "/tmp/file-test-XXXXXX" };
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/out.data", fixture->directory);
	fake_host_init(&fixture->fake, &profcol_exporter_file);
	fake_host_set_text(&fixture->fake, "path", fixture->path);
	fake_host_set_int(&fixture->fake, "format", format);
	fake_host_set_text(&fixture->fake, "directory_permissions", "");
	fake_host_set_text(&fixture->fake, "encoding", "");
}

static void fixture_deinit(struct fixture *fixture)
{
	char command[64];

	fake_host_deinit(&fixture->fake);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	assert_int_equal(system(command), 0);
}

static void fixture_restart(struct fixture *fixture)
{
	fake_host_shutdown(&fixture->fake);
	fixture->fake.component->destroy(fixture->fake.instance);
	fixture->fake.instance = NULL;
	fake_host_start(&fixture->fake);
}

/* A request with one sample on a stack named after @seed. */
static struct profcol_error *send_batch(struct fixture *fixture, uint32_t seed)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = test_batch(seed, 1, 1000 + seed);
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	assert_no_error(otlp_encode(batch, NULL, &bytes, &length));
	fixture->reply = (struct profcol_reply){ 0 };
	return fixture->fake.component->send(
		fixture->fake.instance,
		&(struct profcol_request){ bytes, length, 1, UINT64_MAX, 1 }, &fixture->reply);
}

static char *read_whole(const char *path, size_t *length_ret)
{
	char *bytes;

	assert_int_equal(file_read(AT_FDCWD, path, 64 << 20, &bytes, length_ret), 0);
	return bytes;
}

/* Records behind their lengths, each a request; all of the file must be records. */
static unsigned int count_requests(const char *path)
{
	const struct otlp_decode_limits limits = { .max_memory = 64 << 20 };
	CLEANUP_FREE char *bytes = NULL;
	unsigned int count = 0;
	size_t length, at = 0;

	bytes = read_whole(path, &length);
	while (at < length) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
		uint32_t prefix;

		assert_true(length - at >= sizeof(prefix));
		memcpy(&prefix, bytes + at, sizeof(prefix));
		at += sizeof(prefix);
		assert_true(be32toh(prefix) <= length - at);
		assert_no_error(
			otlp_decode((uint8_t *)bytes + at, be32toh(prefix), &limits, &batch));
		assert_int_equal(profcol_batch_events(batch), 1);
		at += be32toh(prefix);
		count++;
	}
	return count;
}

static unsigned int count_lines(const char *path)
{
	CLEANUP_FREE char *bytes = NULL;
	unsigned int count = 0;
	size_t length;

	bytes = read_whole(path, &length);
	for (size_t i = 0; i < length; i++)
		count += bytes[i] == '\n';
	return count;
}

static unsigned int count_files(const struct fixture *fixture, const char *pattern)
{
	char path[128];
	unsigned int count;
	glob_t found;

	snprintf(path, sizeof(path), "%s/%s", fixture->directory, pattern);
	count = glob(path, 0, NULL, &found) ? 0 : (unsigned int)found.gl_pathc;
	globfree(&found);
	return count;
}

static void append_bytes(const char *path, const void *bytes, size_t length)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
}

static void test_requests_stand_behind_their_lengths(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_no_error(send_batch(&fixture, 2));
	// At once, not when it ends.
	assert_int_equal(count_requests(fixture.path), 2);
	fake_host_shutdown(&fixture.fake);
	assert_int_equal(fake_host_metric(&fixture.fake, "file_records_written"), 2);
}

static void test_json_is_a_line_each(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *text = NULL;
	size_t length;

	(void)state;
	fixture_init(&fixture, JSON);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_no_error(send_batch(&fixture, 2));
	assert_int_equal(count_lines(fixture.path), 2);
	text = read_whole(fixture.path, &length);
	assert_int_equal(strncmp(text, "{\"resourceProfiles\":[{", 22), 0);
	assert_non_null(strstr(text, "\"timeUnixNano\":\"1001\""));
	assert_non_null(strstr(text, "\"stringTable\":[\"\","));
	assert_string_equal(text + length - 2, "}\n");
	fake_host_shutdown(&fixture.fake);
}

static void test_compressed_json_has_lengths(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *bytes = NULL;
	char text[4096];
	uint32_t prefix;
	size_t length;

	(void)state;
	fixture_init(&fixture, JSON);
	fake_host_set_int(&fixture.fake, "compression", 1);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	fake_host_shutdown(&fixture.fake);
	bytes = read_whole(fixture.path, &length);
	memcpy(&prefix, bytes, sizeof(prefix));
	assert_int_equal(be32toh(prefix), length - sizeof(prefix));
	length = ZSTD_decompress(text, sizeof(text) - 1, bytes + sizeof(prefix), be32toh(prefix));
	assert_false(ZSTD_isError(length));
	text[length] = '\0';
	assert_non_null(strstr(text, "\"timeUnixNano\":\"1001\""));
}

static void test_a_restart_empties_or_appends(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	fixture_restart(&fixture);
	assert_int_equal(count_requests(fixture.path), 0);
	assert_no_error(send_batch(&fixture, 2));
	fake_host_set_int(&fixture.fake, "append", true);
	fixture_restart(&fixture);
	assert_no_error(send_batch(&fixture, 3));
	assert_int_equal(count_requests(fixture.path), 2);
	fake_host_shutdown(&fixture.fake);
}

static void test_half_a_record_is_cut_off(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_set_int(&fixture.fake, "append", true);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	append_bytes(fixture.path, "\0\0\1\0half", 8);
	fixture_restart(&fixture);
	assert_int_equal(fake_host_log_count(&fixture.fake, "8 bytes are cut off"), 1);
	assert_no_error(send_batch(&fixture, 2));
	assert_int_equal(count_requests(fixture.path), 2);
	fake_host_shutdown(&fixture.fake);
}

static void test_half_a_line_is_ended(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	fixture_init(&fixture, JSON);
	fake_host_set_int(&fixture.fake, "append", true);
	append_bytes(fixture.path, "{\"resource", 10);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_int_equal(count_lines(fixture.path), 2);
	fake_host_shutdown(&fixture.fake);
}

static void test_a_file_of_another_format_is_left_alone(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_set_int(&fixture.fake, "append", true);
	append_bytes(fixture.path, "{\"json\":1}\n", 11);
	error = fake_host_try_start(&fixture.fake);
	assert_non_null(strstr(profcol_error_message(error), "probably of another format"));
	assert_int_equal(count_lines(fixture.path), 1);
}

/* A limit on the size of files stands in for the end of a disk: part of the record fits. */
static void test_a_full_disk_leaves_no_half_record(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct rlimit before, limit;
	struct stat status;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_int_equal(stat(fixture.path, &status), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)status.st_size + 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	error = send_batch(&fixture, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(error);
	assert_true(profcol_error_is_retryable(error));
	assert_non_null(strstr(profcol_error_message(error), "make room"));
	assert_string_equal(fixture.reply.cause, "disk_full");
	assert_int_equal(count_requests(fixture.path), 1);
	assert_no_error(send_batch(&fixture, 2));
	assert_int_equal(count_requests(fixture.path), 2);
	fake_host_shutdown(&fixture.fake);
}

/* logrotate's copytruncate, and then a disk that is full in the middle of a record. */
static void test_a_full_disk_after_a_truncation_leaves_no_hole(void **state)
{
	static const int formats[] = { PROTO, JSON };

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		CLEANUP(fixture_deinit) struct fixture fixture;
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
		struct rlimit before, limit;
		struct stat status;

		fixture_init(&fixture, formats[i]);
		fake_host_start(&fixture.fake);
		for (uint32_t seed = 1; seed <= 3; seed++)
			assert_no_error(send_batch(&fixture, seed));
		assert_int_equal(truncate(fixture.path, 0), 0);
		assert_no_error(send_batch(&fixture, 4));
		assert_int_equal(stat(fixture.path, &status), 0);
		signal(SIGXFSZ, SIG_IGN);
		assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
		limit = before;
		limit.rlim_cur = (rlim_t)status.st_size + 20;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		error = send_batch(&fixture, 5);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_non_null(error);
		assert_no_error(send_batch(&fixture, 5));
		if (formats[i] == PROTO)
			assert_int_equal(count_requests(fixture.path), 2);
		else
			assert_int_equal(count_lines(fixture.path), 2);
		fake_host_shutdown(&fixture.fake);
	}
}

/* What is cut down to the middle of the file by others has no end that is known. */
static void test_a_truncation_while_a_record_is_torn_leaves_whole_records(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct rlimit before, limit;

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_int_equal(truncate(fixture.path, 0), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	error = send_batch(&fixture, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(error);
	assert_int_equal(count_requests(fixture.path), 0);
	assert_no_error(send_batch(&fixture, 2));
	assert_int_equal(count_requests(fixture.path), 1);
	fake_host_shutdown(&fixture.fake);
}

static void test_a_missing_directory_is_an_error(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	char path[80];

	(void)state;
	fixture_init(&fixture, JSON);
	snprintf(path, sizeof(path), "%s/a/b/out.json", fixture.directory);
	fake_host_set_text(&fixture.fake, "path", path);
	error = fake_host_try_start(&fixture.fake);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error), "create its directory"));
	fixture.fake.component->destroy(fixture.fake.instance);
	fixture.fake.instance = NULL;
	fake_host_set_int(&fixture.fake, "create_directory", true);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	assert_int_equal(count_lines(path), 1);
	fake_host_shutdown(&fixture.fake);
}

static void test_a_full_file_gives_way(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE char *filler = calloc(1, 1 << 20);

	(void)state;
	fixture_init(&fixture, JSON);
	fake_host_set_int(&fixture.fake, "rotation", true);
	fake_host_set_int(&fixture.fake, "rotation.max_megabytes", 1);
	fake_host_set_int(&fixture.fake, "rotation.max_backups", 2);
	fake_host_start(&fixture.fake);
	for (uint32_t i = 0; i < 4; i++) {
		assert_no_error(send_batch(&fixture, i));
		memset(filler, 'x', (1 << 20) - 1);
		filler[(1 << 20) - 1] = '\n';
		append_bytes(fixture.path, filler, 1 << 20);
		// It counts what it writes itself; a file put in its place is looked at.
		fixture_restart(&fixture);
	}
	assert_no_error(send_batch(&fixture, 9));
	assert_int_equal(count_lines(fixture.path), 1);
	assert_int_equal(count_files(&fixture, "out-2*T*-size.data"), 2);
	assert_int_equal(count_files(&fixture, "*"), 3);
	fake_host_shutdown(&fixture.fake);
}

static void test_a_file_that_is_moved_away_is_made_anew(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	char moved[80];

	(void)state;
	fixture_init(&fixture, PROTO);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	snprintf(moved, sizeof(moved), "%s/moved", fixture.directory);
	assert_int_equal(rename(fixture.path, moved), 0);
	assert_no_error(send_batch(&fixture, 2));
	assert_int_equal(count_requests(moved), 1);
	assert_int_equal(count_requests(fixture.path), 1);
	fake_host_shutdown(&fixture.fake);
}

static void test_two_cannot_write_to_one_file(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP(fixture_deinit) struct fixture other;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	fixture_init(&fixture, PROTO);
	fixture_init(&other, PROTO);
	fake_host_set_text(&other.fake, "path", fixture.path);
	fake_host_start(&fixture.fake);
	assert_no_error(send_batch(&fixture, 1));
	error = fake_host_try_start(&other.fake);
	assert_non_null(strstr(profcol_error_message(error), "it is in use"));
	assert_int_equal(count_requests(fixture.path), 1);
	fake_host_shutdown(&fixture.fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_stand_behind_their_lengths),
		cmocka_unit_test(test_json_is_a_line_each),
		cmocka_unit_test(test_compressed_json_has_lengths),
		cmocka_unit_test(test_a_restart_empties_or_appends),
		cmocka_unit_test(test_half_a_record_is_cut_off),
		cmocka_unit_test(test_half_a_line_is_ended),
		cmocka_unit_test(test_a_file_of_another_format_is_left_alone),
		cmocka_unit_test(test_a_full_disk_leaves_no_half_record),
		cmocka_unit_test(test_a_full_disk_after_a_truncation_leaves_no_hole),
		cmocka_unit_test(test_a_truncation_while_a_record_is_torn_leaves_whole_records),
		cmocka_unit_test(test_a_missing_directory_is_an_error),
		cmocka_unit_test(test_a_full_file_gives_way),
		cmocka_unit_test(test_a_file_that_is_moved_away_is_made_anew),
		cmocka_unit_test(test_two_cannot_write_to_one_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
