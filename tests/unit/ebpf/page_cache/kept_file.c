// SPDX-License-Identifier: Apache-2.0
#include "kept_file.h"

#include "receiver/ebpf/worker/answer.h"

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void read_file(const char *path, char **ret, size_t *bytes_ret)
{
	assert_int_equal(file_read(AT_FDCWD, path, 64 << 20, ret, bytes_ret), 0);
}

static void write_file(const char *path, const char *bytes, size_t length)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
}

/* Answer as a worker does, and read that as the pool does. */
static void make_answer(struct kept_file *file, const uint64_t *numbers, size_t count)
{
	CLEANUP_FREE char *bytes = NULL;
	struct image image;
	size_t size;

	read_file(file->path, &bytes, &size);
	image_init(&image, bytes, size);
	assert_int_equal(image_read_source(&image), 0);
	free(file->body);
	assert_int_equal(answer_write_pages(&image, numbers, count, &file->body, &file->body_bytes),
			 0);
	image_deinit(&image);
	assert_true(answer_read_pages(file->body, file->body_bytes, numbers, count, file->pages,
				      &file->answer));
	file->answer.offsets = numbers;
	file->answer.offset_count = count;
}

static void meet(struct kept_file *file)
{
	struct stat status;

	make_answer(file, NULL, 0);
	assert_int_equal(stat(file->path, &status), 0);
	file->request.key = (struct cache_key){
		.place = 1 + status.st_dev,
		.inode = status.st_ino,
		.part = CACHE_PART_FACTS,
	};
	memcpy(file->request.key.htlhash, file->answer.htlhash, sizeof(file->request.key.htlhash));
	file->request.identity = (struct cache_identity){
		.modified_ns = status.st_mtim.tv_sec * 1000000000ll + status.st_mtim.tv_nsec,
		.changed_ns = status.st_ctim.tv_sec * 1000000000ll + status.st_ctim.tv_nsec,
		.born_ns = 1,
	};
}

void kept_file_copy(struct kept_file *file, const char *from, const char *path)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t size;

	*file = (struct kept_file){ .request.file = 7 };
	strncpy(file->path, path, sizeof(file->path) - 1);
	read_file(from, &bytes, &size);
	write_file(path, bytes, size);
	meet(file);
}

void kept_file_deinit(struct kept_file *file)
{
	free(file->body);
	unlink(file->path);
}

void kept_file_ask_group(struct kept_file *file, const uint64_t *numbers, size_t count)
{
	make_answer(file, numbers, count);
	file->request.key.part = (uint32_t)numbers[0];
	file->request.count = count;
	for (size_t i = 0; i < count; i++)
		file->request.numbers[i] = (uint32_t)numbers[i];
}

bool kept_file_agrees(const struct kept_file *file, const struct worker_answer *answer)
{
	const struct worker_answer *own = &file->answer;

	if (answer->file != file->request.file || answer->outcome != WORKER_ANSWERED ||
	    strcmp(answer->htlhash, own->htlhash) ||
	    strcmp(answer->build_id_gnu, own->build_id_gnu) ||
	    answer->has_tables != own->has_tables || answer->page_first != own->page_first ||
	    answer->page_limit != own->page_limit || answer->page_count != own->page_count ||
	    answer->segment_count != own->segment_count || answer->rule_count != own->rule_count ||
	    memcmp(answer->segments, own->segments, own->segment_count * sizeof(*own->segments)))
		return false;
	for (size_t i = 0; i < own->page_count; i++)
		if (answer->pages[i].number != own->pages[i].number ||
		    answer->pages[i].row_count != own->pages[i].row_count ||
		    memcmp(answer->pages[i].rows, own->pages[i].rows,
			   own->pages[i].row_count * sizeof(*own->pages[i].rows)))
			return false;
	return true;
}

int kept_file_open(const struct kept_file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}
