// SPDX-License-Identifier: Apache-2.0
/* All runtimes: the one place outside of their folders where they are named. */
#include "runtime.h"

extern const struct runtime runtime_go, runtime_hotspot;

const struct runtime *const runtimes[RUNTIMES] = {
	[RUNTIME_GO] = &runtime_go,
	[RUNTIME_HOTSPOT] = &runtime_hotspot,
};

const struct runtime *runtime_find(uint32_t number)
{
	return number < RUNTIMES ? runtimes[number] : NULL;
}
