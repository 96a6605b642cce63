// SPDX-License-Identifier: Apache-2.0
/*
 * odd_process HOW [ARGUMENT]: burns CPU in burn_leaf, called by burn_middle and burn_root, until it
 * is killed, and does to itself meanwhile, or before, what few processes do:
 *
 * remap        maps, protects and unmaps code, 10,000 times a second
 * mappings     has 65,530 mappings, or as many as vm.max_map_count lets it, nearly all of code
 * unmap        has as many, for half a second, then unmaps them by one call, and so on; says on its
 *              standard output how often it did
 * no_stack     runs on a stack of its own, after it has unmapped the one it was started with
 * undumpable   is one that nobody may look into
 * bomb SECONDS forks as long as it can, as a user who may have 200 processes; so do its children
 * plain        nothing
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME static __attribute__((noipa)) void

enum { PAGE = 4096, STACK_BYTES = 1 << 20, BOMB_USER = 64321, BOMB_PROCESSES = 200 };

FRAME burn_leaf(unsigned int rounds)
{
	uint64_t x = 88172645463325252u;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

FRAME burn_middle(unsigned int rounds)
{
	for (unsigned int i = 0; i < 10; i++)
		burn_leaf(rounds);
	__asm__ volatile("");
}

FRAME burn_root(unsigned int rounds)
{
	burn_middle(rounds);
	__asm__ volatile("");
}

static __attribute__((noreturn)) void burn_on(void)
{
	for (;;)
		burn_root(100000);
}

static __attribute__((noreturn)) void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *map_code(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

static __attribute__((noreturn)) void remap(void)
{
	for (;;) {
		char *memory = map_code(4ul * PAGE);

		if (mprotect(memory, 2ul * PAGE, PROT_READ | PROT_WRITE))
			fail("mprotect");
		memory[0] = 1;
		if (mprotect(memory, 2ul * PAGE, PROT_READ | PROT_EXEC) ||
		    munmap(memory, 4ul * PAGE))
			fail("munmap");
		// A round of this and the calls above take some 100 us.
		burn_root(3000);
	}
}

static unsigned long most_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long count = 0;

	if (!file || fscanf(file, "%lu", &count) != 1)
		fail("vm.max_map_count");
	fclose(file);
	return count;
}

/* A page each, with a page between them that is not mapped, all in @bytes_ret from what is returned
 * on. */
static char *have_mappings(size_t *bytes_ret)
{
	unsigned long most = most_mappings();
	char *memory = map_code(2ul * most * PAGE);

	if (munmap(memory, 2ul * most * PAGE))
		fail("munmap");
	for (unsigned long i = 0; i < most; i++)
		if (mmap(memory + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
			if (errno == ENOMEM)
				break;
			fail("mmap");
		}
	*bytes_ret = 2ul * most * PAGE;
	return memory;
}

/* In a thread of its own, while the other one burns. */
static void *unmap_again_and_again(void *context)
{
	size_t bytes;

	(void)context;
	for (unsigned int rounds = 1;; rounds++) {
		char *memory = have_mappings(&bytes);

		usleep(500000);
		if (munmap(memory, bytes))
			fail("munmap");
		printf("%u\n", rounds);
		fflush(stdout);
	}
}

static void begin_to_unmap(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, unmap_again_and_again, NULL))
		fail("thread");
}

static void *old_stack;
static size_t old_stack_bytes;

static void find_stack(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long start, limit;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "[stack]") || sscanf(line, "%lx-%lx", &start, &limit) != 2)
			continue;
		old_stack = (char *)0 + start;
		old_stack_bytes = limit - start;
	}
	if (!old_stack_bytes)
		fail("stack");
	fclose(file);
}

static __attribute__((noipa, noreturn, used)) void on_new_stack(void)
{
	if (munmap(old_stack, old_stack_bytes))
		_exit(1);
	burn_on();
}

/* Its caller's frame is on the stack that goes: what is found of this one leads there. */
static __attribute__((noipa, optimize("no-omit-frame-pointer"))) void leave_stack(void)
{
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		fail("mmap");
	find_stack();
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\tcall on_new_stack" ::"r"(stack + STACK_BYTES)
			 : "memory");
#else
	__asm__ volatile("mov sp, %0\n\tbl on_new_stack" ::"r"(stack + STACK_BYTES) : "memory");
#endif
	__builtin_unreachable();
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each lives for some milliseconds of CPU time, but for the first, and all not beyond @end. */
static void bomb(double end)
{
	pid_t first = getpid();

	while (now() < end) {
		pid_t pid = fork();

		if (!pid)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn_root(3000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (getpid() != first && clock() > 20 * (CLOCKS_PER_SEC / 1000))
			_exit(0);
	}
	exit(0);
}

static void be_limited(void)
{
	const struct rlimit limit = { BOMB_PROCESSES, BOMB_PROCESSES };

	// The limit counts the processes of a user, and not for root.
	if (setrlimit(RLIMIT_NPROC, &limit) || setgid(BOMB_USER) || setuid(BOMB_USER))
		fail("setuid");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(how, "remap"))
		remap();
	if (!strcmp(how, "mappings"))
		have_mappings(&(size_t){ 0 });
	else if (!strcmp(how, "unmap"))
		begin_to_unmap();
	else if (!strcmp(how, "no_stack"))
		leave_stack();
	else if (!strcmp(how, "undumpable"))
		prctl(PR_SET_DUMPABLE, 0);
	else if (!strcmp(how, "bomb") && argc == 3)
		be_limited(), bomb(now() + strtod(argv[2], NULL));
	else if (strcmp(how, "plain"))
		return 2;
	burn_on();
}
