// SPDX-License-Identifier: Apache-2.0
#include "address_mask.h"

uint64_t address_mask(void)
{
#if defined(__aarch64__)
	enum { USER_BITS = 55 }; /* the next one tells the kernel's half from the user's */
	uint64_t mask = (1ull << USER_BITS) - 1;

	// xpaclri, by the number that assemblers for older processors know it by.
	asm("mov x30, %0\n\thint #7\n\tmov %0, x30" : "+r"(mask) : : "x30");
	return mask;
#else
	return UINT64_MAX;
#endif
}
