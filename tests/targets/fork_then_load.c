// SPDX-License-Identifier: Apache-2.0
/*
 * fork_then_load COUNT MILLISECONDS PARENTS CHILDS: forks so many processes, then loads the library
 * PARENTS and burns CPU in it; later each child loads the library CHILDS, of the same size, to
 * where the parent has its own, and burns so much there. With -DLIBRARY it is such a library.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY

__attribute__((noipa)) void burn(void)
{
	unsigned long x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 100000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

#else

static void burn_in(const char *library, long milliseconds)
{
	void *handle = dlopen(library, RTLD_NOW);
	void (*burn)(void) = handle ? (void (*)(void))dlsym(handle, "burn") : NULL;
	clock_t end = clock() + milliseconds * (CLOCKS_PER_SEC / 1000);

	if (!burn)
		_exit(1);
	while (clock() < end)
		burn();
}

int main(int argc, char **argv)
{
	long count, milliseconds;
	int status, failed = 0;

	if (argc != 5)
		return 2;
	count = strtol(argv[1], NULL, 10);
	milliseconds = strtol(argv[2], NULL, 10);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; i < count; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		usleep((useconds_t)(1000000 + i * 60000));
		burn_in(argv[4], milliseconds);
		_exit(0);
	}
	burn_in(argv[3], 300);
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}

#endif
