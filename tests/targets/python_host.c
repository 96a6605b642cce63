// SPDX-License-Identifier: Apache-2.0
/*
 * A program that has Python within: it loads the library when it has run for a while, and calls a
 * Python program from a thread that Python has not made.
 *
 *     python_host LIBRARY PROGRAM ARGUMENT...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;
static char **arguments;

static void *find(const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "python_host: %s\n", dlerror());
		exit(1);
	}
	return function;
}

static void *run(void *unused)
{
	int (*ensure)(void) = find("PyGILState_Ensure");
	void (*release)(int) = find("PyGILState_Release");
	int (*run_text)(const char *, void *) = find("PyRun_SimpleStringFlags");
	int state = ensure();
	char text[4096];
	int length = snprintf(text, sizeof(text), "import sys\nsys.argv = [");

	for (char **argument = arguments; *argument && length < (int)sizeof(text); argument++)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "r'''%s''',",
				   *argument);
	if (length < (int)sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "]\nexec(compile(open(sys.argv[0]).read(), sys.argv[0], 'exec'))\n");
	run_text(text, NULL);
	release(state);
	return unused;
}

int main(int count, char **words)
{
	void (*initialize)(int);
	void *(*save)(void);
	pthread_t thread;

	if (count < 3)
		return 2;
	library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "python_host: %s\n", dlerror());
		return 1;
	}
	arguments = words + 2;
	initialize = find("Py_InitializeEx");
	save = find("PyEval_SaveThread");
	initialize(0);
	save();
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	return 1;
}
