// SPDX-License-Identifier: Apache-2.0
/*
 * Which files are one, on each kind of file system that this machine can mount: docs/identity.md.
 *
 * Each test has a mount namespace of its own. What kernel and tools of the machine do not have is
 * skipped, and says so.
 */
#include "fuse_file.h"

#include "processes/files.h"
#include "processes/proc_text.h"
#include "processes/processes.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { OPEN_MAX_FILES = 4, FILES_BYTES = 1 << 20, FILE_IDS = 1 << 20, PROGRAM_BYTES = 16384 };

struct fixture {
	char directory[64];
	struct files *files;
	char good[PROGRAM_BYTES], evil[PROGRAM_BYTES]; /* alike at both ends */
};

/* ---- set up ---- */

/* Run a command of the shell, in the fixture's directory. */
static bool shell(const struct fixture *fixture, const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", fixture->directory,
		 command);
	return !system(line);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	strcpy(fixture->directory, "/tmp/file-identity.XXXXXX");
	fixture->files = files_create(OPEN_MAX_FILES, FILES_BYTES, FILE_IDS);
	memcpy(fixture->good, "\177ELF", 4);
	memcpy(fixture->evil, "\177ELF", 4);
	strcpy(fixture->good + PROGRAM_BYTES / 2, "good_fn");
	strcpy(fixture->evil + PROGRAM_BYTES / 2, "EVIL_fn");
	*state = fixture;
	return mkdtemp(fixture->directory) && fixture->files ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int status;

	files_destroy(fixture->files);
	shell(fixture, "umount -l m n upper");
	status = shell(fixture, "rm -rf --one-file-system \"$PWD\"") ? 0 : -1;
	free(fixture);
	return status;
}

/* Mounts made from here on are of this process alone. Without the right to do so: skip. */
static void own_mounts(const struct fixture *fixture)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		print_message("skipped: mounting needs CAP_SYS_ADMIN\n");
		skip();
	}
	assert_true(shell(fixture, "mkdir m n upper lower"));
}

/* What comes next needs @command to succeed. */
static void need(const struct fixture *fixture, const char *command, const char *what)
{
	if (shell(fixture, command))
		return;
	print_message("skipped: no %s here\n", what);
	skip();
}

static const char *path_of(const struct fixture *fixture, const char *name)
{
	static _Thread_local char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", fixture->directory, name);
	return path;
}

/* Content and time of @name, whose inode stays if it is there. */
static void write_program(const struct fixture *fixture, const char *name, const char *content)
{
	const struct timespec times[2] = { { .tv_sec = 1700000000 }, { .tv_sec = 1700000000 } };
	const char *path = path_of(fixture, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, PROGRAM_BYTES), PROGRAM_BYTES);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* ---- what a process maps ---- */

struct mapped {
	void *memory;
	char path[PATH_MAX];
	struct file_search search;
};

/* As /proc/PID/maps shows it. */
static void read_mapping(struct mapped *mapped)
{
	CLEANUP_FREE char *text = NULL;
	struct proc_mapping found;
	char *at, *end;
	size_t length;

	assert_int_equal(file_read(AT_FDCWD, "/proc/self/maps", 1 << 20, &text, &length), 0);
	at = text;
	end = text + length;
	do
		assert_true(proc_maps_next(&at, end, &found));
	while (found.start != (uintptr_t)mapped->memory);
	snprintf(mapped->path, sizeof(mapped->path), "%s", found.path);
	mapped->search = (struct file_search){ .mapped = { .pid = (uint32_t)getpid(),
							   .start = found.start,
							   .limit = found.limit,
							   .path = mapped->path,
							   .device = found.device,
							   .inode = found.inode } };
}

static void map_fd(struct mapped *mapped, int fd)
{
	mapped->memory = mmap(NULL, PROGRAM_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped->memory, MAP_FAILED);
	read_mapping(mapped);
}

static void unmap(struct mapped *mapped)
{
	assert_int_equal(munmap(mapped->memory, PROGRAM_BYTES), 0);
}

/* Until the clock has gone on since it was written. */
static void settle(int fd)
{
	struct file_look look;

	do
		assert_int_equal(file_look(fd, &look), 0);
	while (look.fresh && poll(NULL, 0, 1) == 0);
}

/* The id of @name as a process has it that maps it and unmaps it again. */
static uint32_t identify(const struct fixture *fixture, const char *name)
{
	int fd = open(path_of(fixture, name), O_RDONLY | O_CLOEXEC);
	struct mapped mapped;
	uint32_t id;

	assert_true(fd >= 0);
	settle(fd);
	map_fd(&mapped, fd);
	close(fd);
	id = files_identify(fixture->files, &mapped.search);
	assert_int_not_equal(id, PROCESS_NO_FILE);
	unmap(&mapped);
	return id;
}

static void assert_content(const struct fixture *fixture, uint32_t id, const char *content)
{
	static char read_back[PROGRAM_BYTES];
	int fd = files_open(fixture->files, id);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, read_back, sizeof(read_back)), PROGRAM_BYTES);
	assert_memory_equal(read_back, content, PROGRAM_BYTES);
	close(fd);
}

/* No descriptor of what was met so far is held any more. */
static void take_descriptors(const struct fixture *fixture)
{
	for (char name[] = "other0"; name[5] < '0' + OPEN_MAX_FILES; name[5]++) {
		write_program(fixture, name, fixture->good);
		identify(fixture, name);
	}
}

static bool tells_mounts(const struct fixture *fixture)
{
	CLEANUP_FD int fd = open(fixture->directory, O_PATH | O_CLOEXEC);
	struct file_look look;

	assert_int_equal(file_look(fd, &look), 0);
	return look.mount;
}

/* What holds on every file system: @directory lies on one that can be written to. */
static void check_writes(const struct fixture *fixture, const char *directory)
{
	char one[64], two[64];
	uint32_t good, evil;

	snprintf(one, sizeof(one), "%s/one", directory);
	snprintf(two, sizeof(two), "%s/two", directory);
	write_program(fixture, one, fixture->good);
	write_program(fixture, two, fixture->evil);
	good = identify(fixture, one);
	assert_content(fixture, good, fixture->good);
	evil = identify(fixture, two);
	assert_int_not_equal(evil, good);
	assert_content(fixture, evil, fixture->evil);
	assert_int_equal(identify(fixture, one), good);
	// As cp -p does it: no size, time or end differs.
	write_program(fixture, one, fixture->evil);
	assert_int_equal(files_open(fixture->files, good), -ESTALE);
	evil = identify(fixture, one);
	assert_int_not_equal(evil, good);
	assert_content(fixture, evil, fixture->evil);
	take_descriptors(fixture);
	write_program(fixture, one, fixture->good);
	good = identify(fixture, one);
	assert_int_not_equal(good, evil);
	assert_content(fixture, good, fixture->good);
	// It is known again, where the kernel tells mounts from each other.
	take_descriptors(fixture);
	if (tells_mounts(fixture))
		assert_int_equal(identify(fixture, one), good);
}

/* ---- tests ---- */

static void on_the_disk_of_this_machine(void **state)
{
	check_writes(*state, ".");
}

static void on_tmpfs(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first, second;

	own_mounts(fixture);
	need(fixture, "mount -t tmpfs none m", "tmpfs");
	check_writes(fixture, "m");
	take_descriptors(fixture);
	// The next one may have its device and its inodes.
	assert_true(shell(fixture, "umount m && mount -t tmpfs none m"));
	write_program(fixture, "m/one", fixture->good);
	first = identify(fixture, "m/one");
	take_descriptors(fixture);
	assert_true(shell(fixture, "umount m && mount -t tmpfs none m"));
	write_program(fixture, "m/one", fixture->evil);
	second = identify(fixture, "m/one");
	assert_int_not_equal(second, first);
	assert_content(fixture, second, fixture->evil);
}

/* A file system in an image; @make makes it in "image". */
static void on_image(struct fixture *fixture, const char *make, const char *type)
{
	char command[256];

	own_mounts(fixture);
	snprintf(command, sizeof(command), "truncate -s %s image && %s image",
		 !strcmp(type, "xfs") ? "320M" : "120M", make);
	need(fixture, command, make);
	snprintf(command, sizeof(command), "mount -o loop -t %s image m", type);
	need(fixture, command, "loop device for it");
	check_writes(fixture, "m");
}

static void on_ext4(void **state)
{
	on_image(*state, "mkfs.ext4", "ext4");
}

static void on_xfs(void **state)
{
	on_image(*state, "mkfs.xfs", "xfs");
}

static void on_btrfs(void **state)
{
	struct fixture *fixture = *state;
	uint32_t good, evil;

	on_image(fixture, "mkfs.btrfs", "btrfs");
	need(fixture, "btrfs subvolume create m/s1 && btrfs subvolume create m/s2", "btrfs(8)");
	write_program(fixture, "m/s1/program", fixture->good);
	write_program(fixture, "m/s2/program", fixture->evil);
	good = identify(fixture, "m/s1/program");
	evil = identify(fixture, "m/s2/program");
	assert_int_not_equal(good, evil);
	assert_content(fixture, evil, fixture->evil);
	assert_int_equal(identify(fixture, "m/s1/program"), good);
	// Written to in a snapshot: of the inode that it had before, there.
	assert_true(shell(fixture, "btrfs subvolume snapshot m/s1 m/s3"));
	write_program(fixture, "m/s3/program", fixture->evil);
	evil = identify(fixture, "m/s3/program");
	assert_int_not_equal(evil, good);
	assert_content(fixture, evil, fixture->evil);
	assert_content(fixture, good, fixture->good);
}

/* Two images that differ in nothing but content; squashfs has no time of change. */
static void on_squashfs(void **state)
{
	static const char make[] =
		"for i in 1 2; do rm -rf d; mkdir d; mv program$i d/program;"
		"mksquashfs d image$i -noI -noD -noF -all-time 1700000000 -mkfs-time 1700000000;"
		" done";
	struct fixture *fixture = *state;
	uint32_t good, evil;

	own_mounts(fixture);
	write_program(fixture, "program1", fixture->good);
	write_program(fixture, "program2", fixture->evil);
	need(fixture, make, "mksquashfs");
	need(fixture, "losetup /dev/loop7 image1 && mount -t squashfs /dev/loop7 m", "/dev/loop7");
	good = identify(fixture, "m/program");
	assert_content(fixture, good, fixture->good);
	take_descriptors(fixture);
	assert_true(shell(fixture, "umount m && losetup -d /dev/loop7 &&"
				   "losetup /dev/loop7 image2 && mount -t squashfs /dev/loop7 m"));
	evil = identify(fixture, "m/program");
	assert_int_not_equal(evil, good);
	assert_content(fixture, evil, fixture->evil);
	assert_true(shell(fixture, "umount -l m; losetup -d /dev/loop7"));
}

static void mount_overlay(const struct fixture *fixture, int number)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "mkdir -p upper/u%d upper/w%d && mount -t overlay none -o "
		 "lowerdir=lower,upperdir=upper/u%d,workdir=upper/w%d m",
		 number, number, number, number);
	need(fixture, command, "overlayfs");
}

/* A container changes a program in its layer; the next one, with the same device, has it as it
 * was. */
static void on_overlays_one_after_the_other(void **state)
{
	struct fixture *fixture = *state;
	uint32_t good, evil;

	own_mounts(fixture);
	need(fixture, "mount -t tmpfs none upper", "tmpfs");
	write_program(fixture, "lower/program", fixture->good);
	mount_overlay(fixture, 1);
	write_program(fixture, "m/program", fixture->evil);
	evil = identify(fixture, "m/program");
	assert_content(fixture, evil, fixture->evil);
	take_descriptors(fixture);
	assert_true(shell(fixture, "umount m"));
	mount_overlay(fixture, 2);
	good = identify(fixture, "m/program");
	assert_int_not_equal(good, evil);
	assert_content(fixture, good, fixture->good);
	// Copied up: neither the inode nor the device need be others.
	write_program(fixture, "m/program", fixture->evil);
	evil = identify(fixture, "m/program");
	assert_int_not_equal(evil, good);
	assert_content(fixture, evil, fixture->evil);
	check_writes(fixture, "m");
}

/* Whoever serves a file system shows what he likes; another mount has its device by then. */
static void on_fuse(void **state)
{
	struct fixture *fixture = *state;
	char directory[80];
	struct fuse_file file = {
		.mount = directory,
		.length = PROGRAM_BYTES,
		.inode = 4711,
		.seconds = 1700000000,
	};
	uint32_t good, evil;

	own_mounts(fixture);
	snprintf(directory, sizeof(directory), "%s/m", fixture->directory);
	file.content = fixture->evil;
	if (!fuse_file_mount(&file)) {
		print_message("skipped: no FUSE here\n");
		skip();
	}
	evil = identify(fixture, "m/program");
	assert_content(fixture, evil, fixture->evil);
	take_descriptors(fixture);
	fuse_file_unmount(&file);
	file.content = fixture->good;
	assert_true(fuse_file_mount(&file));
	good = identify(fixture, "m/program");
	assert_int_not_equal(good, evil);
	assert_content(fixture, good, fixture->good);
	take_descriptors(fixture);
	fuse_file_unmount(&file);
}

static void without_a_name(void **state)
{
	struct fixture *fixture = *state;
	struct mapped mapped[2];
	uint32_t ids[2];
	int fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = memfd_create("program", MFD_CLOEXEC);
		assert_int_equal(write(fds[i], i ? fixture->evil : fixture->good, PROGRAM_BYTES),
				 PROGRAM_BYTES);
		settle(fds[i]);
		map_fd(&mapped[i], fds[i]);
		ids[i] = files_identify(fixture->files, &mapped[i].search);
	}
	assert_int_not_equal(ids[0], ids[1]);
	assert_content(fixture, ids[0], fixture->good);
	assert_content(fixture, ids[1], fixture->evil);
	// The number of its inode comes again after four thousand million files: as another's.
	unmap(&mapped[0]);
	mapped[1].search.mapped.inode = mapped[0].search.mapped.inode;
	assert_int_not_equal(files_identify(fixture->files, &mapped[1].search), ids[0]);
	unmap(&mapped[1]);
	close(fds[0]);
	close(fds[1]);
}

static void one_file_by_two_mounts(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id;

	own_mounts(fixture);
	write_program(fixture, "lower/program", fixture->good);
	need(fixture, "mount --bind lower m && mount --bind lower n", "bind mounts");
	id = identify(fixture, "m/program");
	assert_int_equal(identify(fixture, "n/program"), id);
	assert_int_equal(identify(fixture, "lower/program"), id);
	write_program(fixture, "n/program", fixture->evil);
	assert_int_not_equal(identify(fixture, "m/program"), id);
}

/* A program that is met so soon after it was written that the clock has not gone on; it has by
 * then. @fd_ret: the caller's. Returns the id that it has. */
static uint32_t meet_too_soon(struct fixture *fixture, struct mapped *mapped, int *fd_ret)
{
	struct file_look look;
	uint32_t id;
	int fd;

	write_program(fixture, "program", fixture->good);
	fd = open(path_of(fixture, "program"), O_RDONLY | O_CLOEXEC);
	map_fd(mapped, fd);
	do {
		write_program(fixture, "program", fixture->good);
		id = files_identify(fixture->files, &mapped->search);
		assert_int_equal(file_look(fd, &look), 0);
	} while (!look.fresh); // this process had to wait in between
	settle(fd);
	*fd_ret = fd;
	return id;
}

/* What is written within one tick of the clock leaves no trace in its times. */
static void what_was_just_written_is_not_trusted(void **state)
{
	struct fixture *fixture = *state;
	struct mapped mapped;
	uint32_t id, next;
	int fd;

	id = meet_too_soon(fixture, &mapped, &fd);
	next = files_identify(fixture->files, &mapped.search);
	assert_int_not_equal(next, id);
	assert_int_equal(files_identify(fixture->files, &mapped.search), next);
	assert_content(fixture, id, fixture->good);
	unmap(&mapped);
	close(fd);
}

/* Or a program that is started right after it was written is not heard of until it is sampled. */
static void what_was_just_written_is_recognized_at_its_next_mapping(void **state)
{
	struct fixture *fixture = *state;
	struct mapped mapped;
	uint32_t id, next;
	int fd;

	id = meet_too_soon(fixture, &mapped, &fd);
	next = files_recognize(fixture->files, &mapped.search);
	assert_int_not_equal(next, PROCESS_NO_FILE);
	assert_int_not_equal(next, id);
	assert_int_equal(files_recognize(fixture->files, &mapped.search), next);
	assert_int_equal(files_identify(fixture->files, &mapped.search), next);
	assert_content(fixture, next, fixture->good);
	// One that nobody has met still is a new one.
	unmap(&mapped);
	close(fd);
	write_program(fixture, "other", fixture->good);
	fd = open(path_of(fixture, "other"), O_RDONLY | O_CLOEXEC);
	map_fd(&mapped, fd);
	assert_int_equal(files_recognize(fixture->files, &mapped.search), PROCESS_NO_FILE);
	unmap(&mapped);
	close(fd);
}

static void a_program_that_is_removed_can_still_be_read(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id, told[2];

	write_program(fixture, "program", fixture->good);
	id = identify(fixture, "program");
	assert_true(shell(fixture, "mv program away && chmod 700 away"));
	assert_content(fixture, id, fixture->good);
	assert_true(shell(fixture, "rm away"));
	assert_content(fixture, id, fixture->good);
	// Nor has it been written to.
	assert_int_equal(files_changed(fixture->files, told, 2), 0);
}

/* A process that is gone before its file was looked at: a file that was met before with the same
 * numbers under the same path may be another one. */
static void what_cannot_be_looked_at_is_not_guessed(void **state)
{
	struct fixture *fixture = *state;
	struct mapped mapped;
	uint32_t id;
	int fd;

	write_program(fixture, "program", fixture->good);
	id = identify(fixture, "program");
	fd = open(path_of(fixture, "program"), O_RDONLY | O_CLOEXEC);
	map_fd(&mapped, fd);
	close(fd);
	take_descriptors(fixture);
	unmap(&mapped);
	mapped.search.mapped.pid = 0;
	assert_true(shell(fixture, "mv program away"));
	assert_int_not_equal(files_identify(fixture->files, &mapped.search), id);
}

/* ---- a hostile neighbour ---- */

enum { RACES = 10000, RACES_MOST = 20 * RACES };

/* What @id's file holds, where that can still be told after it was read. */
static bool read_certain(const struct fixture *fixture, uint32_t id, char read_back[PROGRAM_BYTES])
{
	int fd = files_open(fixture->files, id);
	bool whole;

	if (fd < 0)
		return false;
	whole = read(fd, read_back, PROGRAM_BYTES) == PROGRAM_BYTES;
	close(fd);
	return whole && !files_is_stale(fixture->files, id);
}

struct swapper {
	const struct fixture *fixture;
	pthread_t thread;
	_Atomic unsigned int pause_us; /* in each round */
	_Atomic bool ends;
};

/* Programs come and go at one path: written over with all times set back, renamed, removed, mounted
 * over. */
static void *swap(void *context)
{
	struct swapper *swapper = context;
	const struct fixture *fixture = swapper->fixture;
	char one[PATH_MAX], two[PATH_MAX];

	snprintf(one, sizeof(one), "%s/m/race/program", fixture->directory);
	snprintf(two, sizeof(two), "%s/m/race/next", fixture->directory);
	for (unsigned int i = 0; !swapper->ends; i++) {
		write_program(fixture, "m/race/next", i % 2 ? fixture->evil : fixture->good);
		if (i % 3)
			rename(two, one);
		else
			write_program(fixture, "m/race/program",
				      i % 2 ? fixture->good : fixture->evil);
		if (i % 7 == 0)
			unlink(one);
		if (swapper->pause_us)
			usleep(swapper->pause_us);
	}
	return NULL;
}

/* An id never means two contents, whatever happens between the looks. */
static void races_make_no_false_names(void **state)
{
	static char seen[RACES_MOST][8]; /* by id: what its file has */
	static char read_back[PROGRAM_BYTES];
	struct fixture *fixture = *state;
	struct swapper swapper = { .fixture = fixture };
	unsigned int told = 0;

	own_mounts(fixture);
	need(fixture, "mount -t tmpfs none m && mkdir m/race", "tmpfs");
	assert_int_equal(pthread_create(&swapper.thread, NULL, swap, &swapper), 0);
	for (unsigned int i = 0; i < (told ? RACES : RACES_MOST); i++) {
		int fd = open(path_of(fixture, "m/race/program"), O_RDONLY | O_CLOEXEC);
		struct mapped mapped;
		struct stat stat_of;
		uint32_t id;

		// Beside other work the swapper may always be faster.
		swapper.pause_us = i / RACES * 1000;
		if (fd < 0 || fstat(fd, &stat_of) || stat_of.st_size < PROGRAM_BYTES) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		map_fd(&mapped, fd);
		close(fd);
		id = files_identify(fixture->files, &mapped.search);
		unmap(&mapped);
		if (files_want_room(fixture->files))
			files_evict(fixture->files, NULL, 0);
		if (id >= RACES_MOST || !read_certain(fixture, id, read_back))
			continue;
		told++;
		if (!seen[id][0])
			memcpy(seen[id], read_back + PROGRAM_BYTES / 2, 7);
		else if (memcmp(seen[id], read_back + PROGRAM_BYTES / 2, 7) != 0)
			fail_msg("round %u: file %u was '%.7s'", i, id, seen[id]);
	}
	swapper.ends = true;
	pthread_join(swapper.thread, NULL);
	assert_true(told > 0);
}

int main(void)
{
#define IDENTITY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IDENTITY_TEST(on_the_disk_of_this_machine),
		IDENTITY_TEST(without_a_name),
		IDENTITY_TEST(what_was_just_written_is_not_trusted),
		IDENTITY_TEST(what_was_just_written_is_recognized_at_its_next_mapping),
		IDENTITY_TEST(a_program_that_is_removed_can_still_be_read),
		IDENTITY_TEST(what_cannot_be_looked_at_is_not_guessed),
		IDENTITY_TEST(one_file_by_two_mounts),
		IDENTITY_TEST(on_tmpfs),
		IDENTITY_TEST(on_overlays_one_after_the_other),
		IDENTITY_TEST(on_fuse),
		IDENTITY_TEST(on_ext4),
		IDENTITY_TEST(on_xfs),
		IDENTITY_TEST(on_btrfs),
		IDENTITY_TEST(on_squashfs),
		IDENTITY_TEST(races_make_no_false_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
