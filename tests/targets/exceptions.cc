// SPDX-License-Identifier: Apache-2.0
/*
 * Chains with an exception in flight: the language's run-time library looks for its handler and
 * unwinds, calling destructors that work. What runs of that library on top of a function of ours
 * is called "<unwinder>", however deep it is in itself.
 */
#define SHADOW_FUNCTIONS(F)                                                                        \
	F(main, "main")                                                                            \
	F(shop, "shop")                                                                            \
	F(bank, "bank")                                                                            \
	F(counter, "counter")                                                                      \
	F(safe, "safe")                                                                            \
	F(search, "search")                                                                        \
	F(fail, "fail")                                                                            \
	F(tidy, "tidy")                                                                            \
	F(unwinder, "<unwinder>")
#include "shadow.h"

extern "C" {

static volatile bool in_flight;

/* A function's place on the shadow stack; while an exception passes it, it will be resumed here. */
class place
{
      public:
	__attribute__((always_inline)) explicit place(shadow_function function)
	{
		shadow_push(function);
	}
	__attribute__((always_inline)) ~place()
	{
		if (in_flight)
			shadow_record_call(SHADOW_unwinder);
		shadow_pop();
	}
};

static SHADOW_FRAME void tidy()
{
	shadow_push(SHADOW_tidy);
	shadow_record();
	shadow_work(20000);
	shadow_pop();
}

/* Something to be destroyed on the way. */
struct mess {
	__attribute__((always_inline)) ~mess()
	{
		tidy();
	}
};

static SHADOW_FRAME void fail(unsigned int n)
{
	place here(SHADOW_fail);

	shadow_record();
	shadow_work(20000);
	shadow_record_call(SHADOW_unwinder);
	in_flight = true;
	throw n;
}

static SHADOW_FRAME void search(unsigned int n)
{
	place here(SHADOW_search);

	fail(n);
	__asm__ volatile("");
}

static SHADOW_FRAME void counter(unsigned int n)
{
	place here(SHADOW_counter);
	mess left_behind;

	fail(n);
	__asm__ volatile("");
}

static SHADOW_FRAME void safe(unsigned int n)
{
	place here(SHADOW_safe);
	mess left_behind;

	search(n);
	__asm__ volatile("");
}

#define START(name, next)                                                                          \
	static SHADOW_FRAME unsigned int name(unsigned int n)                                      \
	{                                                                                          \
		unsigned int result = 0;                                                           \
		place here(SHADOW_##name);                                                         \
                                                                                                   \
		try {                                                                              \
			next(n);                                                                   \
		} catch (unsigned int thrown) {                                                    \
			shadow_record_call(SHADOW_unwinder);                                       \
			in_flight = false;                                                         \
			result = thrown;                                                           \
		}                                                                                  \
		return result;                                                                     \
	}
START(shop, counter)
START(bank, safe)
}

int main(int argc, char **argv)
{
	uint32_t rounds = shadow_open(argc, argv);
	volatile unsigned int sum = 0;

	shadow_push(SHADOW_main);
	for (uint32_t i = 0; i < rounds; i++)
		sum = sum + shop(i) + bank(i);
	return 0;
}
