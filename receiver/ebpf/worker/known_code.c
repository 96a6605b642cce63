// SPDX-License-Identifier: Apache-2.0
#include "known_code.h"

#include <elf.h>
#include <string.h>

enum known { KNOWN_START, KNOWN_CLONE, KNOWN_CLONE3, KNOWN_COUNT };

const char *known_code_name(uint32_t known)
{
	static const char *const names[KNOWN_COUNT] = {
		[KNOWN_START] = "_start",
		[KNOWN_CLONE] = "clone",
		[KNOWN_CLONE3] = "clone3",
	};

	return known < KNOWN_COUNT ? names[known] : "";
}

/* A C library, or a program that has one in it. Elsewhere such code need not be what it seems. */
static bool has_c_library(const struct elf_view *view)
{
	const char *soname = elf_view_soname(view);

	if (soname)
		return !strncmp(soname, "libc.", 5) || !strncmp(soname, "libc-", 5);
	return !view->has_interpreter;
}

/*
 * Does the system call with @number come right before the code at @bytes + @length? glibc's clone()
 * and clone3() have the thread's begin, which has an entry of its own, behind it:
 *
 *   mov $NUMBER, %eax; (end of the entry) syscall; test; jl; je (thread); ret; (thread:)
 */
static bool follows_call(const uint8_t *bytes, size_t length, uint32_t number)
{
	uint8_t load[5] = { 0xb8 };

	memcpy(load + 1, &number, sizeof(number));
	for (size_t at = 0; at + sizeof(load) + 2 <= length; at++)
		if (!memcmp(bytes + at, load, sizeof(load)) && bytes[at + sizeof(load)] == 0x0f &&
		    bytes[at + sizeof(load) + 1] == 0x05)
			return true;
	return false;
}

/* The name of code that begins at @start; KNOWN_COUNT: it is not known. */
static enum known recognise(const struct elf_view *view, uint64_t start)
{
	enum { CLONE = 56, CLONE3 = 435, BEFORE = 48 };
	struct elf_piece before;

	if (view->machine != EM_X86_64 || start < BEFORE)
		return KNOWN_COUNT;
	before = elf_view_code(view, start - BEFORE, BEFORE);
	if (before.length < BEFORE)
		return KNOWN_COUNT;
	if (follows_call(before.bytes, BEFORE, CLONE3))
		return KNOWN_CLONE3;
	return follows_call(before.bytes, BEFORE, CLONE) ? KNOWN_CLONE : KNOWN_COUNT;
}

void known_code_mark(struct function_ranges *ranges, const struct elf_view *view)
{
	bool has_entry = view->entry && entry_bytes(view), c_library = has_c_library(view);

	if (!has_entry && !c_library)
		return;
	for (size_t i = 0; i < ranges->count; i++) {
		struct function_range *range = &ranges->ranges[i];
		enum known known = KNOWN_COUNT;

		if (range->name != FUNCTION_UNNAMED)
			continue;
		if (has_entry && range->start == view->entry)
			known = KNOWN_START;
		else if (c_library)
			known = recognise(view, range->start);
		if (known != KNOWN_COUNT)
			range->name = FUNCTION_KNOWN | known;
	}
}
