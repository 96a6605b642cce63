// SPDX-License-Identifier: Apache-2.0
/* The chains of shadow_stack.c, whose leaves ask for the time all the time. */
#define OWN_FUNCTIONS(F) F(main, "main") F(libc, "libc.so.6") F(vdso, "[vdso]")
#define CHAINS_LIGHT     ask_time()

static inline __attribute__((always_inline)) void ask_time(void);

#include "chains.h"

#include <time.h>

SHADOW_INLINE void ask_time(void)
{
	struct timespec now;

	shadow_record_call(SHADOW_libc);
	shadow_push(SHADOW_libc);
	shadow_record_call(SHADOW_vdso);
	shadow_pop();
	for (int i = 0; i < 2000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
