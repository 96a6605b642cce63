// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/worker/cut_names.h"
#include "receiver/ebpf/worker/demangle.h"
#include "receiver/ebpf/worker/function_index.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_names_as_people_know_them(void **state)
{
	static const struct {
		const char *symbol, *name;
	} cases[] = {
		{ "_ZN3net6SocketIiE4readEPvm", "net::Socket<int>::read" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_Z3fooIiEvT_", "foo<int>" },
		{ "_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run" },
		{ "_ZN1AD2Ev", "A::~A" },
		{ "_ZN3foo3barEv.part.0", "foo::bar" },
		{ "_ZN5tokio7runtime4task3run17h0123456789abcdefE", "tokio::runtime::task::run" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		  "17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		// C++20 and C++23, by clang 19
		{ "_Z11constrainedITk3BiglEvT_", "constrained<long>" },
		{ "_Z4manyITpTnDaJLi1ELj2ELc99EEEvl", "many<1, 2u, (char)99>" },
		{ "_Z8requiredIlQ8SameSizeIT_lEEvS0_", "required<long>" },
		{ "_ZNH6Deduce3runIS_EEvOT_l", "Deduce::run<Deduce>" },
		{ "_ZN1aclITk3BiglEEvT_.llvm.123", "a::operator()<long>" },
		{ "_Z1fITk3BigiE3pdfIXadL_Z1fIiEvvEEEv", "f<int>" },
		{ "_ZN3net4readITk3BigNS_1BIiEEEEPFiiET_", "net::read<net::B<int>>" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	};
	char name[WORKER_MAX_NAME];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(demangle_symbol(cases[i].symbol, name));
		assert_string_equal(name, cases[i].name);
	}
}

static void test_other_names_are_left_alone(void **state)
{
	static const char *const symbols[] = {
		"",   "main", "_start", "_Z", "_R", "_Zsomething", "main.main", "__libc_start_main",
		"_ZN"
	};
	char name[WORKER_MAX_NAME];

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		assert_false(demangle_symbol(symbols[i], name));
		assert_string_equal(name, "");
	}
}

enum { BOMB_BYTES = 1024 };

/* @begin, then @step over and over, with the number of the substitution before twice in each: so it
 * doubles what is done. */
static void write_bomb(char symbol[BOMB_BYTES], const char *begin, const char *step)
{
	size_t length = (size_t)sprintf(symbol, "%s", begin);

	for (int i = 1; i < 36 && length < BOMB_BYTES - 100; i++) {
		char digit = (char)(i < 10 ? '0' + i : 'A' + i - 10);

		for (const char *at = step; *at; at++)
			symbol[length++] = *at == '%' ? digit : *at;
	}
	strcpy(symbol + length, "Evv");
}

/* _Z1fI + 1X<S_, S_>: 240 bytes print 285 MB. */
static void test_a_bomb_is_cut_and_quick(void **state)
{
	char symbol[BOMB_BYTES], name[WORKER_MAX_NAME];
	uint64_t began_ns = clock_thread_ns();

	(void)state;
	write_bomb(symbol, "_Z1fISt4pairIiiES_IS0_S0_E", "S_IS%_S%_E");
	for (int i = 0; i < 1000; i++)
		assert_true(demangle_symbol(symbol, name));
	assert_int_equal(strlen(name), WORKER_MAX_NAME - 1);
	assert_memory_equal(name + WORKER_MAX_NAME - 1 - CUT_NAME_MARK, "...#", 4);
	assert_true(clock_thread_ns() - began_ns < 2000000000);
}

/* Names that only the second demangler reads: as above; and with packs that are empty, of which
 * nothing is printed. */
static void test_newer_bombs_are_given_up(void **state)
{
	static const struct {
		const char *begin, *step;
	} bombs[] = {
		{ "_Z1fITk3BigSt4pairIiiES_IS0_S0_E", "S_IS%_S%_E" },
		{ "_Z1fITk3BigiJEEvDp1XIT0_T0_E", "Dp1XIS%_S%_E" },
	};
	char symbol[BOMB_BYTES], name[WORKER_MAX_NAME];
	uint64_t began_ns = clock_thread_ns();

	(void)state;
	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		write_bomb(symbol, bombs[i].begin, bombs[i].step);
		for (int turn = 0; turn < 100; turn++)
			assert_false(demangle_symbol(symbol, name));
		assert_string_equal(name, "");
	}
	assert_true(clock_thread_ns() - began_ns < 2000000000);
}

/* Nesting up to the longest symbol must not overflow the stack. */
static void test_deep_nesting_does_not_crash(void **state)
{
	static const char *const pieces[] = { "P",      "1AI", "N1a",   "F",    "DpT_", "S_I",
					      "XadL_Z", "Li",  "Tk1aP", "Q1aI", "TpTn", "Xsr" };
	char symbol[8192], name[WORKER_MAX_NAME];

	(void)state;
	for (size_t piece = 0; piece < sizeof(pieces) / sizeof(pieces[0]); piece++) {
		for (size_t most = 100; most < sizeof(symbol) - 16; most *= 2) {
			size_t length = (size_t)sprintf(symbol, "_Z1fI");

			while (length + strlen(pieces[piece]) < most)
				length += (size_t)sprintf(symbol + length, "%s", pieces[piece]);
			demangle_symbol(symbol, name);
			sprintf(symbol + length, "iEvv");
			demangle_symbol(symbol, name);
			memcpy(symbol, "_RINvN", 6);
			demangle_symbol(symbol, name);
		}
	}
}

static void test_long_real_names_are_demangled(void **state)
{
	char symbol[4000] = "_ZN", name[WORKER_MAX_NAME];
	size_t length = 3;

	(void)state;
	while (length < 3000)
		length += (size_t)sprintf(symbol + length, "9namespace");
	strcpy(symbol + length, "3runEv");
	assert_true(demangle_symbol(symbol, name));
	assert_memory_equal(name, "namespace::namespace::", 22);
	assert_string_equal(name + strlen(name) - 5, "::run");
}

/* Templates whose arguments differ at their end alone. */
static void test_long_names_stay_apart(void **state)
{
	static char symbols[2][FUNCTION_INDEX_NAME], names[2][WORKER_MAX_NAME];

	(void)state;
	for (size_t most = 3000; most < FUNCTION_INDEX_NAME - 16; most += 1000) {
		for (size_t i = 0; i < 2; i++) {
			size_t length = (size_t)sprintf(symbols[i], "_Z3topI");

			while (length < most)
				length += (size_t)sprintf(symbols[i] + length, "7element");
			sprintf(symbols[i] + length, "%cEvv", i ? 'i' : 'l');
			assert_true(demangle_symbol(symbols[i], names[i]));
			assert_memory_equal(names[i], "top<element, element, ", 22);
		}
		assert_string_not_equal(names[0], names[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_as_people_know_them),
		cmocka_unit_test(test_other_names_are_left_alone),
		cmocka_unit_test(test_a_bomb_is_cut_and_quick),
		cmocka_unit_test(test_newer_bombs_are_given_up),
		cmocka_unit_test(test_deep_nesting_does_not_crash),
		cmocka_unit_test(test_long_real_names_are_demangled),
		cmocka_unit_test(test_long_names_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
