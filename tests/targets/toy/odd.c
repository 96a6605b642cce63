/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that says it is a toy interpreter, and lies. Each of its threads burns CPU in what it
 * says is the loop, and is named for what is odd about it:
 *
 *   circle      its frames call themselves
 *   nowhere     its frames lie in no memory
 *   no_code     they run a function that lies in no memory
 *   long_name   of which 4 GiB are claimed
 *   lost_name   which lies in no memory
 *   odd_name    which is no UTF-8, and has a NUL, an escape and a line's end
 *   ending      its function is another one all the time
 *   stranger    it is not among the threads
 */
#include "toy.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NAME_MOST = 64 };

static struct toy_about {
	char magic[8];
	uint64_t version;
	struct toy_thread *volatile threads;
} toy_about __attribute__((section(".toy.about"), used)) = { "TOYABOUT", TOY_VERSION, NULL };

static void *const nowhere = (void *)0x7ff000;

/* All that one of them shows. */
struct odd {
	const char *name;
	struct toy_thread thread;
	struct toy_frame frame;
	struct toy_code code;
	union {
		struct toy_text text;
		char bytes[sizeof(struct toy_text) + NAME_MOST];
	} called;
};

static struct odd odds[] = {
	{ .name = "circle" },    { .name = "nowhere" },   { .name = "no_code" },
	{ .name = "long_name" }, { .name = "lost_name" }, { .name = "odd_name" },
	{ .name = "ending" },    { .name = "stranger" },
};

enum { CIRCLE, NOWHERE, NO_CODE, LONG_NAME, LOST_NAME, ODD_NAME, ENDING, STRANGER, COUNT };

static const char odd_text[] = "a\xff\xc3(\0\x1b[2J\nb";

static void fill(struct odd *odd, int what)
{
	odd->frame.code = &odd->code;
	odd->code.serial = (uint32_t)what + 1;
	odd->code.name = odd->code.file = &odd->called.text;
	odd->called.text.bytes = (uint32_t)strlen(odd->name);
	memcpy(odd->called.text.text, odd->name, odd->called.text.bytes);
	if (what == CIRCLE)
		odd->frame.caller = &odd->frame;
	else if (what == NO_CODE)
		odd->frame.code = nowhere;
	else if (what == LONG_NAME)
		odd->called.text.bytes = UINT32_MAX;
	else if (what == LOST_NAME)
		odd->code.name = nowhere;
	else if (what == ODD_NAME) {
		odd->called.text.bytes = sizeof(odd_text) - 1;
		memcpy(odd->called.text.text, odd_text, sizeof(odd_text) - 1);
	}
}

static __attribute__((noipa, section(".toy.loop"))) void odd_loop(struct odd *odd, int what)
{
	for (;;) {
		__asm__ volatile("");
		if (what == ENDING)
			odd->code.serial += COUNT;
	}
}

static __attribute__((noipa)) void odd_call(struct odd *odd, int what)
{
	struct toy_call call = { .frame = what == NOWHERE ? nowhere : &odd->frame };

	odd->thread.call = &call;
	odd_loop(odd, what);
	__asm__ volatile(""); // no tail call
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the list */

static void *run(void *context)
{
	struct odd *odd = context;
	int what = (int)(odd - odds);

	prctl(PR_SET_NAME, odd->name);
	fill(odd, what);
	odd->thread.self = (uintptr_t)__builtin_thread_pointer();
	pthread_mutex_lock(&lock);
	if (what != STRANGER) {
		odd->thread.next = toy_about.threads;
		toy_about.threads = &odd->thread;
	}
	pthread_mutex_unlock(&lock);
	odd_call(odd, what);
	return NULL;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < COUNT; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, &odds[i]))
			abort();
	}
	for (;;)
		pause();
}
