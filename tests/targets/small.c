// SPDX-License-Identifier: Apache-2.0
/*
 * small UNITS: a program of a few kilobytes without a library, of which thousands of copies can be
 * made; works for some 25 us a unit. Build it with -nostdlib -static. -DPADDED gives its functions
 * other places and other frames.
 */
#ifdef PADDED
enum { WORDS = 40 };
#else
enum { WORDS = 4 };
#endif

/* The outermost frame: nobody has called it. */
#ifdef __aarch64__
__asm__(".globl _start\n"
	".type _start, %function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"mov x0, sp\n"
	"bl run\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
#else
__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"movq %rsp, %rdi\n"
	"andq $-16, %rsp\n"
	"call run\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
#endif

__attribute__((noreturn)) static void leave(long status)
{
#ifdef __aarch64__
	register long number __asm__("x8") = 94; /* exit_group */
	register long argument __asm__("x0") = status;

	__asm__ volatile("svc 0" : : "r"(number), "r"(argument) : "memory");
#else
	__asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
#endif
	__builtin_unreachable();
}

#ifdef PADDED
__attribute__((used, noipa)) int pad(int number)
{
	return number * number * number + 5;
}
#endif

/* Keeps a call from becoming a jump, and memory where it is. */
#define KEEP(words) __asm__ volatile("" : : "r"(words) : "memory")

__attribute__((noipa)) static void burn_leaf(void)
{
	unsigned long x = 88172645463325252u, words[WORDS];

	for (unsigned int rounds = 0; rounds < 20000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
	words[0] = x;
	KEEP(words);
}

__attribute__((noipa)) static void burn_middle(void)
{
	unsigned long words[2 * WORDS];

	KEEP(words);
	burn_leaf();
	KEEP(words);
}

__attribute__((noipa)) static void burn_root(unsigned long units)
{
	unsigned long words[3 * WORDS];

	KEEP(words);
	while (units--)
		burn_middle();
	KEEP(words);
}

__attribute__((used, noreturn)) void run(const unsigned long *stack);

/* @stack is as the kernel left it: the number of arguments, and where they are. */
void run(const unsigned long *stack)
{
	const char *digits = stack[0] == 2 ? (const char *)stack[2] : "";
	unsigned long units = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		units = units * 10 + (unsigned long)(*digits - '0');
	if (!units)
		leave(2);
	burn_root(units);
	leave(0);
}
