// SPDX-License-Identifier: Apache-2.0
/*
 * loads_versions file LIBRARY: loads it and burns CPU in it until it is killed.
 * loads_versions memory FIRST SECOND MILLISECONDS: has both in one file in memory, one after the
 * other in the same place: it loads the first from there, burns so much CPU in it, unloads it,
 * writes the second over it, and so on, until it is killed. Libraries are those of versions.c.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

/* Without @milliseconds: for ever. */
static void burn_in(const char *path, long milliseconds)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*burn)(void) = library ? (void (*)(void))dlsym(library, "burn") : NULL;
	clock_t end = clock() + milliseconds * (CLOCKS_PER_SEC / 1000);

	if (!burn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	while (!milliseconds || clock() < end)
		burn();
	dlclose(library);
}

static void copy_over(int to, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t copied;

	if (from < 0 || ftruncate(to, 0) || lseek(to, 0, SEEK_SET))
		exit(1);
	while ((copied = sendfile(to, from, NULL, 1 << 20)) > 0)
		;
	if (copied)
		exit(1);
	close(from);
}

static int burn_in_memory(char **paths, long milliseconds)
{
	int fd = memfd_create("versions", MFD_CLOEXEC);
	char path[32];

	if (fd < 0)
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (unsigned int i = 0;; i++) {
		copy_over(fd, paths[i % 2]);
		burn_in(path, milliseconds);
	}
}

int main(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 3 && !strcmp(argv[1], "file"))
		burn_in(argv[2], 0);
	else if (argc == 5 && !strcmp(argv[1], "memory"))
		return burn_in_memory(argv + 2, strtol(argv[4], NULL, 10));
	return 2;
}
