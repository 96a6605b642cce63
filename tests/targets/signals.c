// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c on top of each other: a leaf stumbles over a trap, its handler
 * goes through a chain whose leaf meets an illegal instruction, and that one's handler through
 * yet another chain. With SIGNALS_ALTERNATE the handlers run on a stack that lies above the
 * interrupted frames, so that the way to the caller leads down.
 */
#define OWN_FUNCTIONS(F)                                                                           \
	F(main, "main")                                                                            \
	F(signal, "<signal>")                                                                      \
	F(on_trap, "on_trap")                                                                      \
	F(on_illegal, "on_illegal")
#define CHAINS_LIGHT interrupt()

static inline __attribute__((always_inline)) void interrupt(void);

#include "chains.h"

#include <ucontext.h>

#if defined(__x86_64__)
#define TRAP    "int3"
#define ILLEGAL "ud2"
enum { TRAP_BYTES = 0, ILLEGAL_BYTES = 2 }; /* that the saved pc stands before the next one */
#define CONTEXT_PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#else
#define TRAP                "brk #0"
#define ILLEGAL             "udf #0"
enum { TRAP_BYTES = 4, ILLEGAL_BYTES = 4 };
#define CONTEXT_PC(context) ((context)->uc_mcontext.pc)
#endif

static volatile unsigned int level, number;

SHADOW_INLINE void interrupt(void)
{
	shadow_work(CHAINS_ROUNDS / 2);
	if (level == 0)
		__asm__ volatile(TRAP ::: "memory");
	else if (level == 1)
		__asm__ volatile(ILLEGAL ::: "memory");
	shadow_work(CHAINS_ROUNDS / 2);
}

#define HANDLER(name, bytes, factor)                                                               \
	static SHADOW_FRAME void name(int signal, siginfo_t *info, void *context)                  \
	{                                                                                          \
		(void)signal;                                                                      \
		(void)info;                                                                        \
		shadow_push(SHADOW_signal);                                                        \
		shadow_push(SHADOW_##name);                                                        \
		level = level + 1;                                                                 \
		chains_run((factor) * number + level);                                             \
		level = level - 1;                                                                 \
		CONTEXT_PC((ucontext_t *)context) += (bytes);                                      \
		shadow_pop();                                                                      \
		shadow_pop();                                                                      \
	}
HANDLER(on_trap, TRAP_BYTES, 5)
HANDLER(on_illegal, ILLEGAL_BYTES, 7)

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);
	struct sigaction action = { .sa_flags = SA_SIGINFO };
#ifdef SIGNALS_ALTERNATE
	char room[1 << 16];
	stack_t alternate = { .ss_sp = room, .ss_size = sizeof(room) };

	action.sa_flags |= SA_ONSTACK;
	if (sigaltstack(&alternate, NULL))
		return 1;
#endif
	action.sa_sigaction = on_trap;
	if (sigaction(SIGTRAP, &action, NULL))
		return 1;
	action.sa_sigaction = on_illegal;
	if (sigaction(SIGILL, &action, NULL))
		return 1;
	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++) {
		number = i;
		chains_run(i);
	}
	return 0;
}
