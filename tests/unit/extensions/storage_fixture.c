// SPDX-License-Identifier: Apache-2.0
#include "storage_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

extern const struct profcol_component profcol_extension_file_storage;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void configure(struct storage *storage)
{
	fake_host_init(&storage->fake, &profcol_extension_file_storage);
	fake_host_set_text(&storage->fake, "directory", storage->path);
	fake_host_set_text(&storage->fake, "directory_permissions", "0700");
	fake_host_set_text(&storage->fake, "compaction.directory", "");
	fake_host_set_int(&storage->fake, "create_directory", true);
	fake_host_set_int(&storage->fake, "max_size", (int64_t)storage->max_size);
}

void storage_prepare(struct storage *storage, uint64_t max_size)
{
	*storage = (struct storage){
		.operations = profcol_extension_file_storage.storage,
		.max_size = max_size ? max_size : 64 << 20,
	};
	snprintf(storage->path, sizeof(storage->path), "/tmp/file_storage_test.XXXXXX");
	assert_non_null(mkdtemp(storage->path));
	configure(storage);
}

void storage_init(struct storage *storage, uint64_t max_size)
{
	storage_prepare(storage, max_size);
	fake_host_start(&storage->fake);
}

void storage_stop(struct storage *storage)
{
	fake_host_shutdown(&storage->fake);
	fake_host_deinit(&storage->fake);
}

void storage_again(struct storage *storage)
{
	configure(storage);
	fake_host_start(&storage->fake);
}

void storage_restart(struct storage *storage)
{
	storage_stop(storage);
	storage_again(storage);
}

void storage_deinit(struct storage *storage)
{
	storage_stop(storage);
	remove_tree(storage->path);
}

struct profcol_storage_queue *storage_open(struct storage *storage, const char *name)
{
	struct profcol_storage_queue *queue = NULL;

	assert_no_error(storage->operations->open(storage->fake.instance, name, &queue));
	assert_non_null(queue);
	return queue;
}

void storage_close(struct storage *storage, struct profcol_storage_queue *queue)
{
	storage->operations->close(queue);
}

void storage_append(struct storage *storage, struct profcol_storage_queue *queue, const char *text)
{
	size_t length = strlen(text);

	assert_no_error(storage->operations->append(queue, (const uint8_t *)text, length, length));
}

uint64_t storage_expect(struct storage *storage, struct profcol_storage_queue *queue,
			const char *text)
{
	struct profcol_record record = { 0 };

	enum profcol_take take = storage->operations->take(queue, &record);

	assert_int_not_equal(take, PROFCOL_TAKE_LATER);
	if (take == PROFCOL_TAKE_NONE) {
		if (text)
			fail_msg("no record where '%s' should be", text);
		return 0;
	}
	if (!text)
		fail_msg("a record of %zu bytes that should not be there", record.length);
	assert_int_equal(record.length, strlen(text));
	assert_memory_equal(record.bytes, text, record.length);
	assert_int_equal(record.samples, strlen(text));
	free(record.bytes);
	return record.id;
}

void storage_expect_finish(struct storage *storage, struct profcol_storage_queue *queue,
			   const char *text)
{
	storage->operations->finish(queue, storage_expect(storage, queue, text));
}

struct profcol_storage_figures storage_figures(struct storage *storage,
					       struct profcol_storage_queue *queue)
{
	struct profcol_storage_figures figures;

	storage->operations->figures(queue, &figures);
	return figures;
}

size_t storage_count_segments(const struct storage *storage, const char *part, uint64_t *bytes_ret)
{
	const struct dirent *entry;
	uint64_t bytes = 0;
	size_t count = 0;
	char path[128];
	DIR *stream;

	snprintf(path, sizeof(path), "%s/%s", storage->path, part);
	stream = opendir(path);
	assert_non_null(stream);
	while ((entry = readdir(stream))) {
		struct stat status;

		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(stream), entry->d_name, &status, 0), 0);
		bytes += (uint64_t)status.st_size;
		count++;
	}
	closedir(stream);
	if (bytes_ret)
		*bytes_ret = bytes;
	return count;
}

char *storage_only_segment(const struct storage *storage, const char *part)
{
	const struct dirent *entry;
	char path[128], *found = NULL;
	DIR *stream;

	snprintf(path, sizeof(path), "%s/%s", storage->path, part);
	stream = opendir(path);
	assert_non_null(stream);
	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		assert_null(found);
		assert_true(asprintf(&found, "%s/%s", path, entry->d_name) > 0);
	}
	closedir(stream);
	assert_non_null(found);
	return found;
}

void expect_storage_error(struct profcol_error *error, enum profcol_code code, const char *text)
{
	assert_non_null(error);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' does not contain '%s'", profcol_error_message(error), text);
	assert_int_equal(profcol_error_code(error), code);
	profcol_error_destroy(error);
}
