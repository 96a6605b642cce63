// SPDX-License-Identifier: Apache-2.0
/*
 * The shadow stack (shadow.h) for programs that are not in C: what they call instead of what would
 * be inlined. Compiled with -ffreestanding it needs no libc. A stack whose leaf is one of
 * these functions counts without it.
 */
#define SHADOW_FUNCTIONS(F) F(run, "run") CHAIN_FUNCTIONS(F)
#include "chain_functions.h"
#include "shadow.h"

void recorder_begin(void *memory);
void recorder_push(uint32_t function);
void recorder_pop(void);
void recorder_record(void);

/* @memory: a file of recorder_bytes, mapped and zero. */
extern const uint64_t recorder_bytes;
const uint64_t recorder_bytes = sizeof(struct shadow);

void recorder_begin(void *memory)
{
	shadow_begin(memory);
}

void recorder_push(uint32_t function)
{
	shadow_push((enum shadow_function)function);
}

void recorder_pop(void)
{
	shadow_pop();
}

void recorder_record(void)
{
	shadow_record();
}

#if __STDC_HOSTED__
uint32_t recorder_open(char *path, char *rounds);

/* @rounds may be NULL: endless. */
uint32_t recorder_open(char *path, char *rounds)
{
	char *argv[] = { (char *)"recorder", path, rounds };

	return shadow_open(rounds ? 3 : 2, argv);
}
#endif
