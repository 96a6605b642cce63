// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c, whose leaves call functions that libc chooses for the machine at
 * hand (IFUNC) through the PLT: long runs in their loops, and short ones, where the stub of the
 * PLT is much of the time. One of libc's own calls a function of ours.
 */
#include <stdlib.h>
#include <string.h>

#define OWN_FUNCTIONS(F) F(main, "main") F(libc, "libc.so.6") F(compare, "compare")
#define CHAINS_LIGHT     use_strings()

static inline __attribute__((always_inline)) void use_strings(void);

#include "chains.h"

static char from[32768], to[32768];

static SHADOW_FRAME int compare(const void *a, const void *b)
{
	shadow_push(SHADOW_libc);
	shadow_push(SHADOW_compare);
	shadow_record();
	shadow_work(5000);
	shadow_pop();
	shadow_pop();
	return *(const char *)a - *(const char *)b;
}

SHADOW_INLINE void use_strings(void)
{
	// Not its inline version.
	void *(*volatile search)(const void *, const void *, size_t, size_t,
				 int (*)(const void *, const void *)) = bsearch;
	volatile size_t sum = 0;
	char zero = 0;

	shadow_record_call(SHADOW_libc);
	for (int i = 0; i < 20; i++) {
		memset(from, 'a', sizeof(from) - 1);
		memcpy(to, from, sizeof(to));
		sum += strlen(from) + (size_t)memcmp(from, to, sizeof(from));
		sum += (size_t)(strchr(to, 'b') == NULL) + (size_t)(memchr(to, 'b', 999) == NULL);
	}
	for (size_t i = 0; i < 2000; i++)
		sum += strlen(from + sizeof(from) - 1 - i % 16);
	sum += search(&zero, from, 512, 1, compare) == NULL;
}

int main(int argc, char **argv)
{
	return chains_main(argc, argv);
}
