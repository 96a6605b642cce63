// SPDX-License-Identifier: Apache-2.0
/*
 * Code with the frames that tables have to describe, and calls through a linkage table. Built in
 * several ways (unwind.cmake); never run.
 */
#include <stddef.h>

#define EXPORT __attribute__((visibility("default"), noinline, used))

extern int outside_one(void *, size_t);
extern int outside_two(void *, size_t);
extern int outside_three(const char *);

EXPORT int fixture_leaf(int x);
EXPORT int fixture_leaf(int x)
{
	return x * 3 + 1;
}

EXPORT int fixture_frame(size_t size);
EXPORT int fixture_frame(size_t size)
{
	char buffer[100];

	return outside_one(buffer, sizeof(buffer)) + outside_two(buffer, size) + 1;
}

EXPORT int fixture_alloca(size_t size);
EXPORT int fixture_alloca(size_t size)
{
	char *buffer = __builtin_alloca(size);

	return outside_one(buffer, size) + outside_three("alloca") + 1;
}

EXPORT int fixture_realigned(size_t size);
EXPORT int fixture_realigned(size_t size)
{
	char aligned[64] __attribute__((aligned(64)));
	char *buffer = __builtin_alloca(size);

	return outside_two(aligned, sizeof(aligned)) + outside_one(buffer, size) + 1;
}
