// SPDX-License-Identifier: Apache-2.0
/*
 * The chains of shadow_stack.c, called by code that no file holds and no table describes, but
 * that keeps a frame pointer, as JIT compilers do; with WITHOUT_FRAME_POINTER, on amd64, a
 * trampoline that keeps none, as CPython's (python -X perf).
 */
#define OWN_FUNCTIONS(F) F(main, "main") F(anonymous, "<anonymous>") F(enter, "enter")
#include "chains.h"

#include <string.h>

/* What is made: calls @function with @number. */
typedef void (*jit_function)(unsigned int number, void (*function)(unsigned int number));

#if defined(__x86_64__) && defined(WITHOUT_FRAME_POINTER)
static const unsigned char jit_code[] = {
	0x48, 0x83, 0xec, 0x18, /* sub $24, %rsp */
	0xff, 0xd6,             /* call *%rsi */
	0x48, 0x83, 0xc4, 0x18, /* add $24, %rsp */
	0xc3,                   /* ret */
};
#elif defined(__x86_64__)
static const unsigned char jit_code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd6,       /* call *%rsi */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#else
static const uint32_t jit_code[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xd63f0020, /* blr x1 */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#endif

static SHADOW_FRAME void enter(unsigned int number)
{
	shadow_push(SHADOW_enter);
	chains_run(number);
	shadow_pop();
}

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	jit_function call;

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, jit_code, sizeof(jit_code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)memory, (char *)memory + sizeof(jit_code));
	memcpy(&call, &memory, sizeof(call));
	shadow_push(SHADOW_main);
	shadow_push(SHADOW_anonymous);
	for (uint32_t i = 0; i < rounds; i++)
		call(i, enter);
	return 0;
}
