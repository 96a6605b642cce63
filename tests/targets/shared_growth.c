// SPDX-License-Identifier: Apache-2.0
/*
 * One address space grows by several: "shared_growth threads" takes 64 MiB in each of four threads
 * at once, in grow(); "shared_growth vfork" takes 64 MiB there and 64 MiB in children of vfork(),
 * by turns. All in small pages.
 */
#define _GNU_SOURCE

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, TURN = 1 << 20, THREADS = 4 };
static const size_t bytes = 64 << 20;
static pthread_barrier_t barrier;

__attribute__((noinline)) static void grow(volatile char *memory, size_t much)
{
	for (size_t at = 0; at < much; at += PAGE)
		memory[at] = 1;
	__asm__ volatile("");
}

static void *grow_beside_others(void *memory)
{
	pthread_barrier_wait(&barrier);
	grow(memory, bytes);
	return NULL;
}

static int grow_in_threads(char *memory)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, grow_beside_others, memory + i * bytes))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int grow_by_turns(char *memory)
{
	for (size_t at = 0; at < 2 * bytes; at += 2 * TURN) {
		pid_t child;

		grow(memory + at, TURN);
		child = vfork();
		if (!child) {
			grow(memory + at + TURN, TURN);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

int main(int count, char **arguments)
{
	char *memory = mmap(NULL, THREADS * bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (count < 2 || memory == MAP_FAILED || madvise(memory, THREADS * bytes, MADV_NOHUGEPAGE))
		return 1;
	return strcmp(arguments[1], "vfork") ? grow_in_threads(memory) : grow_by_turns(memory);
}
