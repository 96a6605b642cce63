// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU in hand-written functions that no table describes, below callers without frame
 * pointers; main() has one with -DFRAME. Its argument says which: "direct" and "pointer" push
 * nothing and are called directly and by a pointer, "pushes" pushes registers, "data" uses the
 * frame pointer for data.
 */
#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum { ROUNDS = 3000000 };

#define LEAF(name, begin, end)                                                                     \
	__asm__(".text\n.globl " name "\n.type " name ",@function\n" name ":\n" begin              \
		"1:	imul %rdi,%rax\n	add $3,%rax\n	dec %rdi\n	jnz 1b\n" end      \
		"	ret\n.size " name ",.-" name "\n")

LEAF("direct_leaf", "", "");
LEAF("pointer_leaf", "", "");
LEAF("pushes_leaf", "	push %rbx\n	push %r12\n	push %r13\n",
     "	pop %r13\n	pop %r12\n	pop %rbx\n");
LEAF("data_leaf", "	push %rbp\n	mov $7,%ebp\n", "	pop %rbp\n");

void direct_leaf(long rounds), pointer_leaf(long rounds), pushes_leaf(long rounds),
	data_leaf(long rounds);

static void (*volatile by_pointer)(long) = pointer_leaf;
static volatile unsigned long returned;

__attribute__((noipa)) static void leaf_caller(const char *which)
{
	if (!strcmp(which, "direct"))
		direct_leaf(ROUNDS);
	else if (!strcmp(which, "pointer"))
		by_pointer(ROUNDS);
	else if (!strcmp(which, "pushes"))
		pushes_leaf(ROUNDS);
	else
		data_leaf(ROUNDS);
	returned++;
}

__attribute__((noipa)) static void leaf_root(const char *which)
{
	leaf_caller(which);
	returned++;
}

int main(int argc, char **argv)
{
#ifdef FRAME
	char *room = alloca((size_t)argc * 16);

	memset(room, 0, 16);
	__asm__ volatile("" : : "r"(room) : "memory");
#endif
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		leaf_root(argc > 1 ? argv[1] : "direct");
}
