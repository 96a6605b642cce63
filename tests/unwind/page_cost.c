// SPDX-License-Identifier: Apache-2.0
/*
 * What the unwind tables of a file cost the worker:
 *
 *   page_cost [FILE...]        by default the ten largest shared libraries below /usr/lib
 *
 * Each file is read by two processes of their own, as the worker reads it: all pages one after the
 * other, and SAMPLES pages that lie evenly apart, one request each. A line for each file, tab
 * separated; times are of the CPU, peak memory is what the process came to have resident beyond
 * what it began with.
 */
#include "tables/page_layout.h"
#include "worker/answer.h"

#include "base/base.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 10, SAMPLES = 50, OPEN_DIRECTORIES = 16 };

struct candidate {
	off_t size;
	ino_t inode;
	char *path; /* owned */
};

/* Largest first. The walk of a directory has no context. */
static struct candidate largest[LARGEST + 1];

struct cost {
	uint64_t pages, failed, rows, bytes, rules, ns, peak_bytes;
	bool has_tables;
};

static int take_file(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	size_t at = LARGEST;

	(void)walk;
	for (size_t i = 0; i < LARGEST; i++)
		if (largest[i].inode == status->st_ino)
			return 0; // by another name
	if (type != FTW_F || !strstr(path, ".so") || status->st_size <= largest[LARGEST - 1].size)
		return 0;
	for (; at && largest[at - 1].size < status->st_size; at--)
		largest[at] = largest[at - 1];
	largest[at] = (struct candidate){
		.size = status->st_size,
		.inode = status->st_ino,
		.path = strdup(path),
	};
	free(largest[LARGEST].path);
	largest[LARGEST] = (struct candidate){ 0 };
	return 0;
}

/* What /proc/self/status has of @field, in bytes. */
static uint64_t status_bytes(const char *field)
{
	CLEANUP_FILE FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, strlen(field)))
			return strtoull(line + strlen(field) + 1, NULL, 10) << 10;
	return 0;
}

/* Not the time that others take. */
static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* One request, as the worker serves it. */
static void ask(const struct image *image, const uint64_t *asked, size_t count, struct cost *cost)
{
	static uint8_t kernel_page[UNWIND_OBJECT_BYTES];
	struct worker_page pages[WORKER_MAX_PAGES];
	CLEANUP_FREE void *body = NULL;
	struct worker_answer answer;
	size_t bytes;

	if (answer_write_pages(image, asked, count, &body, &bytes) ||
	    !answer_read_pages(body, bytes, asked, count, pages, &answer))
		exit(1);
	madvise((void *)(uintptr_t)image->file, image->file_bytes, MADV_DONTNEED);
	cost->pages += answer.page_count;
	cost->failed += answer.pages_failed;
	cost->rules += answer.rule_count;
	for (size_t i = 0; i < answer.page_count; i++) {
		cost->rows += pages[i].row_count;
		cost->bytes += page_layout_write(kernel_page, pages[i].first, pages[i].rows);
	}
}

static void ask_whole(const struct image *image, struct cost *cost)
{
	uint64_t asked[WORKER_MAX_PAGES];
	size_t count = 0;

	for (uint64_t at = image->text.first; at < image->text.limit; at++) {
		asked[count++] = at;
		if (count == WORKER_MAX_PAGES || at + 1 == image->text.limit) {
			ask(image, asked, count, cost);
			count = 0;
		}
	}
}

static void ask_some(const struct image *image, struct cost *cost)
{
	uint64_t span = image->text.limit - image->text.first;

	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t asked = image->text.first + i * span / SAMPLES;

		ask(image, &asked, 1, cost);
	}
}

static struct cost measure(const char *path, bool is_whole)
{
	uint64_t before = status_bytes("VmRSS:"), began_ns;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cost cost = { 0 };
	struct image image;
	struct stat status;
	void *file;

	if (fd < 0 || fstat(fd, &status) || !status.st_size)
		return cost;
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return cost;
	began_ns = cpu_ns();
	image_init(&image, file, (size_t)status.st_size);
	if (image_read_source(&image))
		return cost;
	cost.has_tables = image.has_tables;
	if (is_whole)
		ask_whole(&image, &cost);
	else
		ask_some(&image, &cost);
	cost.ns = cpu_ns() - began_ns;
	cost.peak_bytes = status_bytes("VmHWM:") - before;
	image_deinit(&image);
	munmap(file, (size_t)status.st_size);
	return cost;
}

/* The same in a process of its own, whose peak is the file's. */
static struct cost measure_apart(const char *path, bool is_whole)
{
	struct cost cost = { 0 };
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return cost;
	pid = fork();
	if (!pid) {
		cost = measure(path, is_whole);
		_exit(write(ends[1], &cost, sizeof(cost)) != sizeof(cost));
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &cost, sizeof(cost)) != sizeof(cost))
		cost = (struct cost){ 0 };
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return cost;
}

static void print_file(const char *path)
{
	// The first pass also brings the file into the page cache.
	measure_apart(path, true);
	struct cost whole = measure_apart(path, true), some = measure_apart(path, false);

	if (!whole.has_tables) {
		printf("%s\tno tables\n", path);
		return;
	}
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%" PRIu64
	       "\n",
	       path, whole.pages, whole.rows, whole.bytes >> 10, (double)whole.ns / 1e6,
	       (double)whole.peak_bytes / 1024, (double)some.bytes / (double)SAMPLES,
	       (double)some.ns / 1e3 / SAMPLES, (double)some.peak_bytes / 1024,
	       whole.failed + some.failed);
}

int main(int argc, char **argv)
{
	printf("file\tpages\trows\tKiB\tms\tpeak KiB\tbytes/page\tus/page\tpeak KiB by page\t"
	       "failed\n");
	for (int i = 1; i < argc; i++)
		print_file(argv[i]);
	if (argc > 1)
		return 0;
	if (nftw("/usr/lib", take_file, OPEN_DIRECTORIES, FTW_PHYS))
		return 1;
	for (size_t i = 0; i < LARGEST && largest[i].path; i++)
		print_file(largest[i].path);
	return 0;
}
