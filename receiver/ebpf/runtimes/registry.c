// SPDX-License-Identifier: Apache-2.0
/* All runtimes: the one place outside of their folders where they are named. */
#include "runtime.h"

extern const struct runtime runtime_cpython, runtime_go, runtime_hotspot, runtime_toy, runtime_v8;

const struct runtime *const all_runtimes[RUNTIMES] = {
	[RUNTIME_GO] = &runtime_go,           [RUNTIME_HOTSPOT] = &runtime_hotspot,
	[RUNTIME_CPYTHON] = &runtime_cpython, [RUNTIME_V8] = &runtime_v8,
#ifdef PROFCOL_TOY_RUNTIME
	[RUNTIME_TOY] = &runtime_toy,
#endif
};

const struct runtime *runtime_find(uint32_t number)
{
	return number < RUNTIMES ? all_runtimes[number] : NULL;
}
