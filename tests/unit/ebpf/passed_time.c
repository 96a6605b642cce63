// SPDX-License-Identifier: Apache-2.0
#include "passed_time.h"

uint64_t passed_ns;

uint64_t __real_clock_monotonic_ns(void);
uint64_t __wrap_clock_monotonic_ns(void);

uint64_t __wrap_clock_monotonic_ns(void)
{
	return __real_clock_monotonic_ns() + passed_ns;
}
