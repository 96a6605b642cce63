// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU beside functions, which nobody calls, whose unwind rules have no short form: as many as
 * are kept of one file. With another NUMBER, below 100, they are other ones.
 */
#ifdef __x86_64__
#define STACK_POINTER "7"
#else
#define STACK_POINTER "31"
#endif

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)

__asm__(".text\n"
	".set depth, 1000004 + " VALUE(NUMBER) " * 8192\n"
					       ".rept 505\n"
					       ".cfi_startproc\n"
					       ".cfi_def_cfa " STACK_POINTER ", depth\n"
					       "nop; nop; nop; nop\n"
					       ".cfi_endproc\n"
					       ".set depth, depth + 8\n"
					       ".endr\n");

int main(void)
{
	for (;;)
		__asm__ volatile("");
}
