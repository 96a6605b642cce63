// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose symbol table has what tables in the wild have. Built as a shared
 * library, stripped, fixed-address and static-pie (symbols.cmake); its functions
 * are never run but for main.
 */
#define EXPORT        __attribute__((visibility("default"), noinline, used))
#define LOCAL         static __attribute__((noinline, used))
#define NAMED(symbol) __asm__(symbol)

EXPORT int fixture_plain(int x);
EXPORT int fixture_plain(int x)
{
	return x * 3 + 1;
}

LOCAL int fixture_local(int x)
{
	return x * 5 + 2;
}

// Names as C++ and Rust compilers write them.
EXPORT int cpp_method(int x) NAMED("_ZN3net6SocketIiE4readEPvm");
EXPORT int cpp_method(int x)
{
	return x * 7 + 3;
}

EXPORT int rust_legacy(int x) NAMED("_ZN5tokio7runtime4task3run17h0123456789abcdefE");
EXPORT int rust_legacy(int x)
{
	return x * 11 + 4;
}

EXPORT int rust_v0(int x) NAMED("_RNvNtCs1234_7mycrate3foo3bar");
EXPORT int rust_v0(int x)
{
	return x * 13 + 5;
}

// Three names for one function: the global one with the fewest underscores is the best.
EXPORT int __fixture_alias(int x);
EXPORT int __fixture_alias(int x)
{
	return x * 17 + 6;
}
extern int fixture_alias(int x) __attribute__((alias("__fixture_alias"), visibility("default")));
extern int a_weak(int x) __attribute__((weak, alias("__fixture_alias"), visibility("default")));

// Hand-written assembly: no type, no size, with a loop label inside a sized function.
__asm__(".text\n"
	".globl fixture_assembly\n"
	"fixture_assembly:\n"
	"	.skip 32, 0\n"
	".globl fixture_sized\n"
	".type fixture_sized, %function\n"
	"fixture_sized:\n"
	"	.skip 16, 0\n"
	".globl fixture_loop\n"
	"fixture_loop:\n"
	"	.skip 16, 0\n"
	".size fixture_sized, . - fixture_sized\n"
	// Nobody's bytes.
	"	.skip 64, 0\n"
	".globl fixture_after\n"
	".type fixture_after, %function\n"
	"fixture_after:\n"
	"	.skip 16, 0\n"
	".size fixture_after, 16\n");
extern char fixture_assembly[], fixture_sized[], fixture_loop[], fixture_after[];

int main(int argc, char **argv)
{
	(void)argv;
	return fixture_plain(argc) + fixture_local(argc) == 0;
}
