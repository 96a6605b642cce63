// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c, interrupted wherever they happen to be by two timers, whose
 * handlers go through eight of the chains each and may interrupt each other. Nobody knows what a
 * handler interrupts, so each level has a slot of its own, where every chain begins with
 * "<signal>".
 */
#define OWN_FUNCTIONS(F)                                                                           \
	F(main, "main")                                                                            \
	F(signal, "<signal>")                                                                      \
	F(on_alarm, "on_alarm")                                                                    \
	F(on_profile, "on_profile")
#include "chains.h"

#include <sys/time.h>

static volatile unsigned int level;

#define HANDLER(name, first)                                                                       \
	static SHADOW_FRAME void name(int signal)                                                  \
	{                                                                                          \
		static unsigned int times;                                                         \
		volatile struct shadow_slot *interrupted = shadow_slot;                            \
                                                                                                   \
		(void)signal;                                                                      \
		level = level + 1;                                                                 \
		shadow_use(level);                                                                 \
		shadow_slot->depth = 0;                                                            \
		shadow_push(SHADOW_signal);                                                        \
		shadow_push(SHADOW_##name);                                                        \
		chains_run((first) + times++ % 8);                                                 \
		level = level - 1;                                                                 \
		shadow_slot = interrupted;                                                         \
	}
HANDLER(on_alarm, 0)
HANDLER(on_profile, 8)

/* False: cannot be had. */
static SHADOW_FRAME int start_timer(int which, int signal, void (*handler)(int), long microseconds)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, microseconds }, { 0, microseconds } };

	return !sigaction(signal, &action, NULL) && !setitimer(which, &every, NULL);
}

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);

	if (!start_timer(ITIMER_REAL, SIGALRM, on_alarm, 1100) ||
	    !start_timer(ITIMER_PROF, SIGPROF, on_profile, 1700))
		return 1;
	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++)
		chains_run(i);
	return 0;
}
