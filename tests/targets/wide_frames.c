// SPDX-License-Identifier: Apache-2.0
/*
 * Burns CPU in burn_leaf, called through link_0 to link_19, whose frames are so large that each
 * needs an unwind rule without a short form, which no other program has.
 */
#include <stdint.h>

#define FRAME static __attribute__((noipa)) void

FRAME burn_leaf(unsigned int rounds)
{
	uint64_t x = 88172645463325252u;

	while (rounds--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

/* Link @n calls @next. */
#define LINK(n, next)                                                                              \
	FRAME link_##n(unsigned int rounds)                                                        \
	{                                                                                          \
		volatile char room[70000 + 1024 * (n)];                                            \
                                                                                                   \
		room[0] = room[sizeof(room) - 1] = (char)rounds;                                   \
		next(rounds);                                                                      \
		__asm__ volatile("");                                                              \
	}

LINK(0, burn_leaf)
LINK(1, link_0)
LINK(2, link_1)
LINK(3, link_2)
LINK(4, link_3)
LINK(5, link_4)
LINK(6, link_5)
LINK(7, link_6)
LINK(8, link_7)
LINK(9, link_8)
LINK(10, link_9)
LINK(11, link_10)
LINK(12, link_11)
LINK(13, link_12)
LINK(14, link_13)
LINK(15, link_14)
LINK(16, link_15)
LINK(17, link_16)
LINK(18, link_17)
LINK(19, link_18)

int main(void)
{
	for (;;)
		link_19(1000000);
}
