// SPDX-License-Identifier: Apache-2.0
/*
 * greedy HOW [DIRECTORY [COUNT]]: takes as much as it can of what a profiler keeps of processes:
 *
 * files        maps COUNT files of its own in DIRECTORY, and burns CPU
 * mappings     maps code 6,000 times, of 50 files in DIRECTORY whose paths are of some 4,000 bytes,
 *              so that the list in /proc is 24 MB long, and burns CPU
 * map, name, fork, execute, thread
 *              does that as often as it can
 * apart        has children one after the other, each in a mount namespace of its own, with a
 *              file of its own in DIRECTORY, that burn CPU for a moment
 * processes    has COUNT children that burn CPU in turns, each with code of its own
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, NAME_BYTES = 200, FOLDERS = 18, LONG_FILES = 50, LONG_MAPPINGS = 6000 };
enum { APART_FILES = 4000, APART_CLOCKS = CLOCKS_PER_SEC / 20 };

static __attribute__((noreturn)) void fail(const char *what)
{
	perror(what);
	exit(1);
}

static __attribute__((noreturn)) void burn(void)
{
	for (;;)
		__asm__ volatile("");
}

static void map_file(const char *name, off_t offset)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (fd < 0 || ftruncate(fd, 2L * PAGE) || pwrite(fd, "\177ELF", 4, 0) != 4)
		fail(name);
	// Where the kernel allows no more, these have to do.
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset) == MAP_FAILED)
		burn();
	close(fd);
}

static void map_files(unsigned long count)
{
	char name[32];

	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%d.%lu", getpid(), i);
		map_file(name, 0);
	}
}

static void map_long_paths(void)
{
	char name[NAME_BYTES + 8];

	memset(name, 'd', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	for (int i = 0; i < FOLDERS; i++) {
		(void)mkdir(name, 0755);
		if (chdir(name))
			fail("chdir");
	}
	for (int i = 0; i < LONG_MAPPINGS; i++) {
		snprintf(name + NAME_BYTES - 10, 16, "%d", i % LONG_FILES);
		map_file(name, i % 2 * (off_t)PAGE);
	}
}

static void map_once(void)
{
	static int fd = -1;
	void *memory;

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED || munmap(memory, PAGE))
		fail("mmap");
}

static void rename_once(void)
{
	static unsigned int number;
	char name[16];

	snprintf(name, sizeof(name), "name%u", number++);
	prctl(PR_SET_NAME, name);
}

static void fork_once(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void execute_once(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "greedy", "nothing", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void live_apart_once(void)
{
	static unsigned int number;
	char name[16];
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			fail("unshare");
		snprintf(name, sizeof(name), "apart%u", number % APART_FILES);
		(void)unlink(name);
		map_file(name, 0);
		while (clock() < APART_CLOCKS)
			;
		_exit(0);
	}
	number++;
	waitpid(pid, NULL, 0);
}

static void *nothing(void *context)
{
	return context;
}

static void start_thread_once(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
}

/* Code that no other process has at this place. */
static __attribute__((noreturn)) void live(unsigned long number)
{
	const struct timespec pause = { .tv_nsec = 200000000 };

	prctl(PR_SET_PDEATHSIG, 9);
	for (unsigned long i = 0; i < 100 + number % 100; i++)
		if (mmap((void *)(0x100000000 + (number * 200 + i) * 2 * PAGE), PAGE,
			 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	for (;;) {
		for (unsigned int i = 0; i < 100000000; i++)
			__asm__ volatile("");
		nanosleep(&pause, NULL);
	}
}

static __attribute__((noreturn)) void have_children(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		if (!fork())
			live(i);
	burn();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *how;
		void (*once)(void);
	} again[] = { { "map", map_once },          { "name", rename_once },
		      { "fork", fork_once },        { "execute", execute_once },
		      { "apart", live_apart_once }, { "thread", start_thread_once } };
	const char *how = argc > 1 ? argv[1] : "";
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;

	prctl(PR_SET_PDEATHSIG, 9);
	if (argc > 2 && chdir(argv[2]))
		fail(argv[2]);
	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++)
		while (!strcmp(how, again[i].how))
			again[i].once();
	if (!strcmp(how, "files"))
		map_files(count);
	else if (!strcmp(how, "mappings"))
		map_long_paths();
	else if (!strcmp(how, "processes"))
		have_children(count);
	else
		return 0;
	burn();
}
