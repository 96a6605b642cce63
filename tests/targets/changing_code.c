// SPDX-License-Identifier: Apache-2.0
/*
 * Has other code at one place again and again. While it burns CPU there the name of its thread says
 * which one it has: "in_first" or "in_second".
 *
 *   changing_code libraries TURNS MILLISECONDS FIRST SECOND   loads and unloads the two in turns
 *   changing_code files TURNS MILLISECONDS FIRST SECOND       maps files of machine code over each
 *                                                             other
 *   changing_code jit TURNS MILLISECONDS - SECOND             makes code in anonymous memory, and
 * maps a file of it over that changing_code shared TURNS MILLISECONDS FIRST SECOND      as files,
 * but another process that has the same memory maps them changing_code leave TURNS makes code and
 * gives it up: by munmap, mprotect and by mapping data over it, then burns on changing_code write
 * FILE                                  writes such machine code to FILE
 *
 * With -DLIBRARY it is such a library.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY

__attribute__((noipa)) void burn(unsigned int rounds)
{
	unsigned long x = 88172645463325252u;

	for (; rounds; rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

#else

enum { CODE_BYTES = 4096, ROUNDS = 100000, BURN_EACH = 1000, BURN_AFTER_MS = 3000 };

typedef void (*burn_function)(unsigned int rounds);

/* Counts its argument down. It ends in what fills a page, so that the page has a size. */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#else
static const uint32_t code[] = { 0x51000400, 0x35ffffe0, 0xd65f03c0 };
#endif

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(1);
}

static void burn_at(burn_function burn, const char *name, long milliseconds)
{
	clock_t end = clock() + milliseconds * (CLOCKS_PER_SEC / 1000);

	prctl(PR_SET_NAME, name);
	while (clock() < end)
		burn(ROUNDS);
	prctl(PR_SET_NAME, "between");
}

static void run_libraries(long turns, long milliseconds, char **paths)
{
	static const char *const names[] = { "in_first", "in_second" };
	void *place = NULL;

	for (long i = 0; i < turns; i++) {
		void *library = dlopen(paths[i % 2], RTLD_NOW);
		void *function = library ? dlsym(library, "burn") : NULL;
		burn_function burn;

		check(function != NULL, "dlopen");
		if (place && place != function)
			_exit(3); // nothing would be shown
		place = function;
		memcpy(&burn, &function, sizeof(burn));
		burn_at(burn, names[i % 2], milliseconds);
		dlclose(library);
	}
}

static burn_function function_at(void *place)
{
	burn_function burn;

	__builtin___clear_cache((char *)place, (char *)place + sizeof(code));
	memcpy(&burn, &place, sizeof(burn));
	return burn;
}

static void *find_place(void)
{
	void *place = mmap(NULL, CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(place != MAP_FAILED, "mmap");
	return place;
}

static void map_file(void *place, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	check(fd >= 0, path);
	check(mmap(place, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
		      place,
	      "mmap");
	close(fd);
}

/* As JIT compilers do: writable or executable, never both. */
static void make_code(void *place)
{
	check(mprotect(place, CODE_BYTES, PROT_READ | PROT_WRITE) == 0, "mprotect");
	memcpy(place, code, sizeof(code));
	check(mprotect(place, CODE_BYTES, PROT_READ | PROT_EXEC) == 0, "mprotect");
}

static void map_memory(void *place)
{
	check(mmap(place, CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      place,
	      "mmap");
	make_code(place);
}

static void run_files(long turns, long milliseconds, char **paths)
{
	void *place = find_place();

	for (long i = 0; i < turns; i++) {
		map_file(place, paths[i % 2]);
		burn_at(function_at(place), i % 2 ? "in_second" : "in_first", milliseconds);
	}
}

static void run_jit(long turns, long milliseconds, char **paths)
{
	void *place = find_place();

	for (long i = 0; i < turns; i++) {
		map_memory(place);
		for (int again = 0; again < 4; again++) {
			burn_at(function_at(place), "in_first", milliseconds / 4);
			make_code(place);
		}
		map_file(place, paths[1]);
		burn_at(function_at(place), "in_second", milliseconds);
	}
}

/* What the other process is asked to map; -1: nothing, -2: to end. */
static atomic_int asked = -1;
static void *shared_place;
static char **shared_paths;

static int map_for_other(void *unused)
{
	(void)unused;
	for (int wanted = -1; wanted != -2; wanted = atomic_load(&asked)) {
		if (wanted >= 0) {
			map_file(shared_place, shared_paths[wanted]);
			atomic_store(&asked, -1);
		}
		usleep(200);
	}
	return 0;
}

static void run_shared(long turns, long milliseconds, char **paths)
{
	enum { STACK_BYTES = 65536 };
	char *stack = malloc(STACK_BYTES);
	int status;
	pid_t pid;

	check(stack != NULL, "malloc");
	shared_place = find_place();
	shared_paths = paths;
	map_file(shared_place, paths[1]);
	pid = clone(map_for_other, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
	check(pid > 0, "clone");
	for (long i = 0; i < turns; i++) {
		atomic_store(&asked, (int)(i % 2));
		while (atomic_load(&asked) >= 0)
			usleep(100);
		burn_at(function_at(shared_place), i % 2 ? "in_second" : "in_first", milliseconds);
	}
	atomic_store(&asked, -2);
	check(waitpid(pid, &status, 0) == pid && !status, "clone");
}

static void run_leave(long turns)
{
	enum { STEP = 4 * CODE_BYTES, APART = 2 * STEP };
	char *places = mmap(NULL, (size_t)turns * APART, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(places != MAP_FAILED, "mmap");
	for (long i = 0; i < turns; i++) {
		char *place = places + i * APART;

		make_code(place);
		if (i % BURN_EACH == 0)
			burn_at(function_at(place), "in_first", 20);
		if (i % 3 == 0)
			check(munmap(place, CODE_BYTES) == 0, "munmap");
		else if (i % 3 == 1)
			check(mprotect(place, CODE_BYTES, PROT_READ) == 0, "mprotect");
		else
			check(mmap(place, CODE_BYTES, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place,
			      "mmap");
	}
	puts("left");
	fflush(stdout);
	map_memory(places);
	burn_at(function_at(places), "in_first", BURN_AFTER_MS);
}

static void write_code(const char *path)
{
	char page[CODE_BYTES] = { 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	memcpy(page, code, sizeof(code));
	// Two of them are two files to whoever looks at their content.
	snprintf(page + 64, sizeof(page) - 64, "%s", path);
	check(fd >= 0 && write(fd, page, sizeof(page)) == sizeof(page), path);
	close(fd);
}

int main(int argc, char **argv)
{
	long turns = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long milliseconds = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 3 && !strcmp(argv[1], "write"))
		write_code(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "leave"))
		run_leave(turns);
	else if (argc == 6 && !strcmp(argv[1], "libraries"))
		run_libraries(turns, milliseconds, argv + 4);
	else if (argc == 6 && !strcmp(argv[1], "files"))
		run_files(turns, milliseconds, argv + 4);
	else if (argc == 6 && !strcmp(argv[1], "jit"))
		run_jit(turns, milliseconds, argv + 4);
	else if (argc == 6 && !strcmp(argv[1], "shared"))
		run_shared(turns, milliseconds, argv + 4);
	else
		return 2;
	return 0;
}

#endif
