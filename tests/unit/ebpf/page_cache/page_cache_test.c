// SPDX-License-Identifier: Apache-2.0
/* The cache over real directories, with what may be in them and happen to them. */
#include "fake_host.h"
#include "kept_file.h"

#include "receiver/ebpf/page_cache/cache_directory.h"
#include "tests/unit/own_threads.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { LIMIT = 64 << 20, SECONDS = 120 };

/* A run of the profiler, as far as the cache goes. */
struct run {
	struct fake_host fake;
	struct page_cache *cache;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int ready; /* how often something was */
	bool holds;         /* the thread of the cache is kept from going on */
};

struct fixture {
	char root[64], directory[80], path[80];
	struct kept_file file;
	struct run run;
};

/* ---- runs ---- */

static void note_ready(void *context)
{
	struct run *run = context;

	pthread_mutex_lock(&run->lock);
	run->ready++;
	pthread_cond_broadcast(&run->changed);
	while (run->holds)
		pthread_cond_wait(&run->changed, &run->lock);
	pthread_mutex_unlock(&run->lock);
}

static void start_with(struct run *run, const char *directory, uint64_t limit)
{
	fake_host_init(&run->fake);
	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->changed, NULL);
	run->ready = 0;
	run->holds = false;
	run->cache = page_cache_create(&run->fake.host, directory, limit,
				       &(struct page_cache_asker){ note_ready, run });
	assert_non_null(run->cache);
	assert_null(page_cache_start(run->cache));
}

/* Writes what is left. */
static void end(struct run *run)
{
	page_cache_destroy(TAKE(run->cache));
	pthread_mutex_destroy(&run->lock);
	pthread_cond_destroy(&run->changed);
}

static int64_t metric(struct run *run, const char *name)
{
	return fake_host_metric(&run->fake, name, "");
}

/* Until the counters @names, one of two, have come to @count together. */
static void wait_for(struct run *run, const char *const names[2], int64_t count)
{
	uint64_t deadline_ns = clock_monotonic_ns() + SECONDS * 1000000000ull;

	while (metric(run, names[0]) + metric(run, names[1]) < count) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		poll(NULL, 0, 1);
	}
}

static void keep(struct run *run, const struct kept_file *file)
{
	static const char *const names[2] = { "unwind_cache_written", "unwind_cache_unwritten" };
	int64_t before = metric(run, names[0]) + metric(run, names[1]);

	page_cache_keep(run->cache, &file->request, &file->answer);
	wait_for(run, names, before + 1);
}

static struct page_cache_reply *wait_for_reply(struct run *run)
{
	struct timespec deadline;
	struct page_cache_reply *reply;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += SECONDS;
	pthread_mutex_lock(&run->lock);
	while (!run->ready)
		assert_int_equal(pthread_cond_timedwait(&run->changed, &run->lock, &deadline), 0);
	run->ready--;
	pthread_mutex_unlock(&run->lock);
	reply = page_cache_next(run->cache);
	assert_non_null(reply);
	return reply;
}

/* Ask for @file; whether it was found, and is right then. */
static bool look_up(struct run *run, const struct kept_file *file)
{
	int fd = kept_file_open(file);
	struct page_cache_reply *reply;
	bool found;

	// Refused while its thread waits for a CPU.
	for (int i = 0; !page_cache_ask(run->cache, &file->request, fd); i++) {
		assert_true(i < SECONDS * 100);
		poll(NULL, 0, 10);
	}
	reply = wait_for_reply(run);
	found = reply->found;
	if (found)
		assert_true(kept_file_agrees(file, &reply->answer));
	assert_true(reply->fd >= 0);
	assert_int_equal(reply->request.file, file->request.file);
	page_cache_reply_destroy(reply);
	return found;
}

/* ---- set up ---- */

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->root, "/tmp/page_cache_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/cache", fixture->root);
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->root);
	kept_file_copy(&fixture->file, SMALL_FILE, fixture->path);
	*state = fixture;
	return 0;
}

static void remove_all(const char *path)
{
	DIR *listing = opendir(path);
	char child[512];

	for (struct dirent *entry; listing && (entry = readdir(listing));) {
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlink(child))
			remove_all(child);
	}
	if (listing)
		closedir(listing);
	rmdir(path);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	kept_file_deinit(&fixture->file);
	remove_all(fixture->root);
	free(fixture);
	return 0;
}

static void start(struct fixture *fixture)
{
	start_with(&fixture->run, fixture->directory, LIMIT);
}

/* The fixture's file has been kept by a run that is over. */
static void keep_in_a_run(struct fixture *fixture)
{
	start(fixture);
	assert_false(look_up(&fixture->run, &fixture->file));
	keep(&fixture->run, &fixture->file);
	end(&fixture->run);
}

/* Where it is kept. */
static const char *entry_path(const struct fixture *fixture)
{
	static char path[256];
	char name[CACHE_ENTRY_NAME_BYTES];

	cache_entry_name(&fixture->file.request.key, name);
	snprintf(path, sizeof(path), "%s/%s", fixture->directory, name);
	return path;
}

/* ---- tests ---- */

static void test_the_next_run_finds_what_one_has_kept(void **state)
{
	struct fixture *fixture = *state;

	keep_in_a_run(fixture);
	start(fixture);
	assert_true(look_up(&fixture->run, &fixture->file));
	assert_int_equal(metric(&fixture->run, "unwind_cache_hits"), 1);
	assert_int_equal(metric(&fixture->run, "unwind_cache_misses"), 0);
	end(&fixture->run);
}

static void test_a_group_is_found_when_it_has_all_pages(void **state)
{
	struct fixture *fixture = *state;
	uint64_t numbers[8];
	struct kept_file large;

	snprintf(fixture->path, sizeof(fixture->path), "%s/large", fixture->root);
	kept_file_copy(&large, LARGE_FILE, fixture->path);
	assert_true(large.answer.page_limit - large.answer.page_first > WORKER_SMALL_PAGES);
	for (uint32_t i = 0; i < 8; i++)
		numbers[i] = large.answer.page_first + 8 + i;
	kept_file_ask_group(&large, numbers, 7);
	start(fixture);
	assert_false(look_up(&fixture->run, &large));
	keep(&fixture->run, &large);
	assert_true(look_up(&fixture->run, &large));
	// Less is in it, more is not, and what the file is neither.
	large.request.count = 3;
	assert_true(look_up(&fixture->run, &large));
	large.request.count = 8;
	large.request.numbers[7] = (uint32_t)numbers[7];
	assert_false(look_up(&fixture->run, &large));
	large.request.key.part = CACHE_PART_FACTS;
	large.request.count = 0;
	assert_false(look_up(&fixture->run, &large));
	end(&fixture->run);
	kept_file_deinit(&large);
}

/* Head, tail and build id of a file can be given to any other one by whoever writes that. */
static void test_a_copy_is_another_file(void **state)
{
	struct fixture *fixture = *state;
	struct kept_file copy;

	keep_in_a_run(fixture);
	snprintf(fixture->path, sizeof(fixture->path), "%s/copy", fixture->root);
	kept_file_copy(&copy, SMALL_FILE, fixture->path);
	assert_string_equal(copy.request.key.htlhash, fixture->file.request.key.htlhash);
	start(fixture);
	assert_false(look_up(&fixture->run, &copy));
	// Nor does it become the same one by what it may have, too.
	copy.request.key.inode = fixture->file.request.key.inode;
	copy.request.identity = fixture->file.request.identity;
	assert_true(look_up(&fixture->run, &copy));
	copy.request.key.place++;
	assert_false(look_up(&fixture->run, &copy));
	assert_true(look_up(&fixture->run, &fixture->file));
	end(&fixture->run);
	kept_file_deinit(&copy);
}

static void test_an_inode_that_was_written_to_is_another_file(void **state)
{
	struct fixture *fixture = *state;
	struct page_cache_request *request = &fixture->file.request;
	int64_t *const times[] = { &request->identity.modified_ns, &request->identity.changed_ns,
				   &request->identity.born_ns };

	keep_in_a_run(fixture);
	start(fixture);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		++*times[i];
		assert_false(look_up(&fixture->run, &fixture->file));
		--*times[i];
		assert_true(look_up(&fixture->run, &fixture->file));
	}
	assert_int_equal(metric(&fixture->run, "unwind_cache_damaged"), 0);
	end(&fixture->run);
}

static void test_a_file_that_has_changed_is_not_kept(void **state)
{
	struct fixture *fixture = *state;
	struct page_cache_request request = fixture->file.request;

	start(fixture);
	request.key.htlhash[0] = request.key.htlhash[0] == '0' ? '1' : '0';
	page_cache_keep(fixture->run.cache, &request, &fixture->file.answer);
	end(&fixture->run);
	assert_int_not_equal(access(entry_path(fixture), F_OK), 0);
}

/* ---- damage ---- */

static void make_empty(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void make_shorter(const char *path)
{
	assert_int_equal(truncate(path, 1000), 0);
}

static void make_huge(const char *path)
{
	assert_int_equal(truncate(path, 1ll << 40), 0);
}

static void flip_a_bit(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	char byte;

	assert_int_equal(pread(fd, &byte, 1, 5000), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, 5000), 1);
}

static void make_writable_by_others(const char *path)
{
	assert_int_equal(chmod(path, 0666), 0);
}

static void make_pipe(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_directory(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* To a sound entry: what it leads to may change. */
static void make_link(const char *path)
{
	char other[300];

	snprintf(other, sizeof(other), "%s.moved", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
}

static void test_damage_is_seen_and_made_good(void **state)
{
	static void (*const damages[])(const char *path) = {
		make_empty, make_shorter, make_huge,      flip_a_bit, make_writable_by_others,
		make_pipe,  make_link,    make_directory,
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		keep_in_a_run(fixture);
		damages[i](entry_path(fixture));
		start(fixture);
		assert_false(look_up(&fixture->run, &fixture->file));
		assert_int_equal(metric(&fixture->run, "unwind_cache_damaged"), 1);
		keep(&fixture->run, &fixture->file);
		assert_true(look_up(&fixture->run, &fixture->file));
		end(&fixture->run);
		remove_all(fixture->directory);
	}
}

static void test_an_entry_of_another_version_is_replaced(void **state)
{
	struct fixture *fixture = *state;
	const char *path;
	uint32_t version;
	int fd;

	keep_in_a_run(fixture);
	path = entry_path(fixture);
	fd = open(path, O_RDWR | O_CLOEXEC);
	version = CACHE_ENTRY_VERSION + 1;
	assert_int_equal(
		pwrite(fd, &version, sizeof(version), offsetof(struct cache_entry_head, version)),
		sizeof(version));
	close(fd);
	start(fixture);
	assert_false(look_up(&fixture->run, &fixture->file));
	assert_int_equal(metric(&fixture->run, "unwind_cache_damaged"), 0);
	keep(&fixture->run, &fixture->file);
	assert_true(look_up(&fixture->run, &fixture->file));
	end(&fixture->run);
}

/* ---- directories ---- */

/* With @directory the cache says @text once, and is off. */
static void expect_off(struct fixture *fixture, const char *directory, const char *text)
{
	struct run *run = &fixture->run;
	int fd = kept_file_open(&fixture->file);

	start_with(run, directory, LIMIT);
	if (page_cache_ask(run->cache, &fixture->file.request, fd)) {
		struct page_cache_reply *reply = wait_for_reply(run);

		assert_false(reply->found);
		page_cache_reply_destroy(reply);
	} else {
		close(fd);
	}
	keep(run, &fixture->file);
	assert_int_equal(metric(run, "unwind_cache_written"), 0);
	assert_non_null(strstr(run->fake.last_line, text));
	assert_non_null(strstr(run->fake.last_line, directory));
	end(run);
}

static void test_a_directory_that_cannot_be_used_is_named(void **state)
{
	struct fixture *fixture = *state;
	char below[128];

	snprintf(below, sizeof(below), "%s/not/there", fixture->root);
	expect_off(fixture, below, "create the directory above it");
	expect_off(fixture, fixture->file.path, "Not a directory");
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_int_equal(chmod(fixture->directory, 0770), 0);
	expect_off(fixture, fixture->directory, "is writable by others");
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	start(fixture);
	keep(&fixture->run, &fixture->file);
	assert_int_equal(metric(&fixture->run, "unwind_cache_written"), 1);
	end(&fixture->run);
}

static void test_a_directory_of_somebody_else_is_not_used(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid())
		skip(); // nobody else can be given one
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_int_equal(chown(fixture->directory, 1, 1), 0);
	expect_off(fixture, fixture->directory, "belongs to user 1");
}

static void test_a_directory_that_was_removed_is_made_again(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	keep(&fixture->run, &fixture->file);
	remove_all(fixture->directory);
	assert_false(look_up(&fixture->run, &fixture->file));
	keep(&fixture->run, &fixture->file);
	assert_true(look_up(&fixture->run, &fixture->file));
	assert_int_equal(metric(&fixture->run, "unwind_cache_unwritten"), 0);
	end(&fixture->run);
}

static void test_nothing_is_written_for_a_while_after_a_failure(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit before, small;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 1000;
	start(fixture);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	keep(&fixture->run, &fixture->file);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	keep(&fixture->run, &fixture->file);
	assert_int_equal(metric(&fixture->run, "unwind_cache_unwritten"), 2);
	assert_non_null(strstr(fixture->run.fake.last_line, "cannot write to cache_directory"));
	assert_false(look_up(&fixture->run, &fixture->file));
	assert_int_equal(metric(&fixture->run, "unwind_cache_damaged"), 0);
	end(&fixture->run);
	// Not even a part of it is left.
	assert_int_equal(rmdir(fixture->directory), 0);
}

static uint64_t directory_bytes(const char *path, size_t *count)
{
	DIR *listing = opendir(path);
	uint64_t bytes = 0;
	struct stat stat;

	*count = 0;
	assert_non_null(listing);
	for (struct dirent *entry; (entry = readdir(listing));) {
		if (*entry->d_name == '.')
			continue;
		assert_int_equal(fstatat(dirfd(listing), entry->d_name, &stat, 0), 0);
		bytes += (uint64_t)stat.st_blocks * 512;
		(*count)++;
	}
	closedir(listing);
	return bytes;
}

static void age(const char *path, int seconds)
{
	struct timespec times[2];

	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= seconds;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_it_stays_within_its_size(void **state)
{
	enum { SMALL_LIMIT = 1 << 20, FILES = 200 };
	struct fixture *fixture = *state;
	struct kept_file *file = &fixture->file;
	uint64_t bytes;
	size_t count;

	start_with(&fixture->run, fixture->directory, SMALL_LIMIT);
	for (uint64_t inode = 0; inode < FILES; inode++) {
		file->request.key.inode = inode;
		keep(&fixture->run, file);
		// All are old but the first, which is used again and again.
		age(entry_path(fixture), 86400 - (int)inode);
		file->request.key.inode = 0;
		assert_true(look_up(&fixture->run, file));
	}
	end(&fixture->run);
	bytes = directory_bytes(fixture->directory, &count);
	assert_true(count > 4 && count < FILES);
	assert_true(bytes <= SMALL_LIMIT + SMALL_LIMIT / 4);
	assert_true(metric(&fixture->run, "unwind_cache_evicted") > 0);
	assert_int_equal(count + (size_t)metric(&fixture->run, "unwind_cache_evicted"), FILES);
}

/* As a copy has them, or a file system that counts seconds. */
static void test_it_stays_within_its_size_when_all_are_of_one_time(void **state)
{
	enum { SMALL_LIMIT = 1 << 20, FILES = 100, MORE = 10 };
	struct fixture *fixture = *state;
	struct kept_file *file = &fixture->file;
	uint64_t bytes;
	size_t count;

	start(fixture);
	for (uint64_t inode = 0; inode < FILES; inode++) {
		file->request.key.inode = inode;
		keep(&fixture->run, file);
	}
	end(&fixture->run);
	for (uint64_t inode = 0; inode < FILES; inode++) {
		const struct timespec times[2] = { { .tv_sec = 1700000000 },
						   { .tv_sec = 1700000000 } };

		file->request.key.inode = inode;
		assert_int_equal(utimensat(AT_FDCWD, entry_path(fixture), times, 0), 0);
	}
	start_with(&fixture->run, fixture->directory, SMALL_LIMIT);
	for (uint64_t inode = FILES; inode < FILES + MORE; inode++) {
		file->request.key.inode = inode;
		keep(&fixture->run, file);
	}
	assert_int_equal(metric(&fixture->run, "unwind_cache_written"), MORE);
	end(&fixture->run);
	bytes = directory_bytes(fixture->directory, &count);
	assert_true(bytes <= SMALL_LIMIT + SMALL_LIMIT / 4);
	// No more went than had to.
	assert_true(bytes >= SMALL_LIMIT / 2);
	assert_int_equal(count + (size_t)metric(&fixture->run, "unwind_cache_evicted"),
			 FILES + MORE);
}

static void test_what_was_never_finished_goes(void **state)
{
	struct fixture *fixture = *state;
	char old[128], young[128], foreign[128];

	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	snprintf(old, sizeof(old), "%s/.new-0000000000000001", fixture->directory);
	snprintf(young, sizeof(young), "%s/.new-0000000000000002", fixture->directory);
	snprintf(foreign, sizeof(foreign), "%s/README", fixture->directory);
	close(open(old, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(open(young, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(open(foreign, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	age(old, 3600);
	age(foreign, 3600);
	start(fixture);
	keep(&fixture->run, &fixture->file); // after the directory was gone through
	end(&fixture->run);
	assert_int_not_equal(access(old, F_OK), 0);
	assert_int_equal(access(young, F_OK), 0);
	assert_int_equal(access(foreign, F_OK), 0);
}

/* ---- at the same time ---- */

static void test_two_profilers_share_a_directory(void **state)
{
	struct fixture *fixture = *state;
	static struct run other;

	start(fixture);
	start_with(&other, fixture->directory, LIMIT);
	for (int i = 0; i < 50; i++) {
		// Both at once; a reader in between finds a whole one.
		page_cache_keep(fixture->run.cache, &fixture->file.request, &fixture->file.answer);
		keep(&other, &fixture->file);
		assert_true(look_up(&fixture->run, &fixture->file));
		assert_true(look_up(&other, &fixture->file));
	}
	assert_int_equal(metric(&other, "unwind_cache_damaged"), 0);
	end(&other);
	end(&fixture->run);
}

static void hold(struct run *run, bool holds)
{
	pthread_mutex_lock(&run->lock);
	run->holds = holds;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

static void test_nobody_waits_for_a_disk_that_hangs(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = &fixture->run;
	struct page_cache_reply *reply;
	int fd = kept_file_open(&fixture->file);

	start(fixture);
	assert_false(look_up(run, &fixture->file));
	hold(run, true);
	while (!page_cache_ask(run->cache, &fixture->file.request, fd))
		poll(NULL, 0, 10);
	reply = wait_for_reply(run); // from here on its thread does not come back
	page_cache_reply_destroy(reply);
	assert_false(page_cache_is_busy(run->cache));
	fd = kept_file_open(&fixture->file);
	if (page_cache_ask(run->cache, &fixture->file.request, fd)) {
		poll(NULL, 0, 150);
		reply = page_cache_next(run->cache);
		assert_non_null(reply);
		assert_false(reply->found);
		fd = TAKE_FD(reply->fd);
		page_cache_reply_destroy(reply);
	} else {
		poll(NULL, 0, 150);
	}
	assert_false(page_cache_ask(run->cache, &fixture->file.request, fd));
	close(fd);
	hold(run, false);
	assert_false(look_up(run, &fixture->file));
	end(run);
}

/* ---- a disk that hangs ---- */

static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_changed = PTHREAD_COND_INITIALIZER;
static bool disk_hangs, disk_waits;

/* What the cache calls for each entry that it writes: the disk of these tests. */
int renameat(int from, const char *old, int to, const char *new)
{
	pthread_mutex_lock(&disk_lock);
	while (disk_hangs) {
		disk_waits = true;
		pthread_cond_broadcast(&disk_changed);
		pthread_cond_wait(&disk_changed, &disk_lock);
	}
	disk_waits = false;
	pthread_mutex_unlock(&disk_lock);
	return (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

static void set_disk_hangs(bool hangs)
{
	pthread_mutex_lock(&disk_lock);
	disk_hangs = hangs;
	pthread_cond_broadcast(&disk_changed);
	pthread_mutex_unlock(&disk_lock);
}

static void test_an_end_does_not_wait_for_a_disk_that_hangs(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = &fixture->run;

	start(fixture);
	set_disk_hangs(true);
	page_cache_keep(run->cache, &fixture->file.request, &fixture->file.answer);
	pthread_mutex_lock(&disk_lock);
	while (!disk_waits)
		pthread_cond_wait(&disk_changed, &disk_lock);
	pthread_mutex_unlock(&disk_lock);
	page_cache_keep(run->cache, &fixture->file.request, &fixture->file.answer);
	page_cache_stop(run->cache); // never, if it waited for the disk
	assert_non_null(strstr(run->fake.last_line, "does not answer, ending without it"));
	// What waited behind the other one is not forgotten.
	assert_int_equal(metric(run, "unwind_cache_unwritten"), 1);
	end(run);
	memset(run, 0x5a, sizeof(*run)); // of which the thread takes nothing when it comes back
	assert_true(own_threads("page-cache"));
	set_disk_hangs(false);
	for (int i = 0; own_threads("page-cache"); i++) {
		assert_true(i < SECONDS * 100);
		poll(NULL, 0, 10);
	}
	assert_int_equal(access(entry_path(fixture), F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_the_next_run_finds_what_one_has_kept),
		TEST(test_a_group_is_found_when_it_has_all_pages),
		TEST(test_a_copy_is_another_file),
		TEST(test_an_inode_that_was_written_to_is_another_file),
		TEST(test_a_file_that_has_changed_is_not_kept),
		TEST(test_damage_is_seen_and_made_good),
		TEST(test_an_entry_of_another_version_is_replaced),
		TEST(test_a_directory_that_cannot_be_used_is_named),
		TEST(test_a_directory_of_somebody_else_is_not_used),
		TEST(test_a_directory_that_was_removed_is_made_again),
		TEST(test_nothing_is_written_for_a_while_after_a_failure),
		TEST(test_it_stays_within_its_size),
		TEST(test_it_stays_within_its_size_when_all_are_of_one_time),
		TEST(test_what_was_never_finished_goes),
		TEST(test_two_profilers_share_a_directory),
		TEST(test_nobody_waits_for_a_disk_that_hangs),
		TEST(test_an_end_does_not_wait_for_a_disk_that_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
