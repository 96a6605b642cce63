// SPDX-License-Identifier: Apache-2.0
#include "demangle_newer.h"

#include "demangle_newer_calls.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/*
 * The demangler is libc++abi's, which is C++: cmake/cxa_demangle.cmake gives what it calls other
 * names, those below. So its memory is ours: it comes from one block, and when that is used up, or
 * where the demangler would abort, a jump leaves it and nothing is lost. It recurses as deep as a
 * name nests; its stack is bounded by the name's length.
 */
enum {
	LONGEST = 2048,        /* bytes of a name */
	MOST_PACKS = 12,       /* that expand: each may double the steps that the printer takes */
	BLOCK_BYTES = 2 << 20, /* a name of a program takes some kilobytes */
	MOST_PREFIXES = 64,    /* that are tried: each argument that has an E in it has one */
	ALIGNMENT = 16,
};

struct block {
	char *bytes;
	size_t used;
	jmp_buf given_up;
};

/* Of the call under way in this thread. */
static _Thread_local struct block *block;

/* ---- what the demangler calls ---- */

void *newer_malloc(size_t bytes)
{
	size_t *size;

	if (bytes > BLOCK_BYTES || block->used + ALIGNMENT + bytes > BLOCK_BYTES)
		longjmp(block->given_up, 1);
	size = (size_t *)(block->bytes + block->used);
	*size = bytes;
	block->used += ALIGNMENT + ((bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
	if (block->used > BLOCK_BYTES)
		block->used = BLOCK_BYTES;
	return (char *)size + ALIGNMENT;
}

void *newer_realloc(void *old, size_t bytes)
{
	void *new = newer_malloc(bytes);
	size_t size;

	if (!old)
		return new;
	memcpy(&size, (char *)old - ALIGNMENT, sizeof(size));
	return memcpy(new, old, size < bytes ? size : bytes);
}

void newer_free(void *old)
{
	(void)old;
}

_Noreturn void newer_abort(void)
{
	longjmp(block->given_up, 1);
}

_Noreturn void newer_abort_message(const char *format, ...)
{
	(void)format;
	longjmp(block->given_up, 1);
}

/* Nothing throws, and no node is deleted: the following are only named. */

_Noreturn void newer_terminate(void)
{
	longjmp(block->given_up, 1);
}

_Noreturn void newer_catch(void)
{
	longjmp(block->given_up, 1);
}

_Noreturn void newer_resume(void)
{
	longjmp(block->given_up, 1);
}

_Noreturn void newer_personality(void)
{
	longjmp(block->given_up, 1);
}

_Noreturn void newer_delete(void)
{
	longjmp(block->given_up, 1);
}

const void *const newer_class_info[4] = { NULL };
const void *const newer_si_class_info[4] = { NULL };

/* ---- names ---- */

/* The text of @symbol, in the block; NULL: it is no name. */
static char *text_of(const char *symbol)
{
	size_t bytes = 0;
	int status = 0;
	char *text = newer_demangle(symbol, NULL, &bytes, &status);

	return status ? NULL : text;
}

/* @name may be part of the return type first. */
static bool stands_before_parameters(const char *whole, const char *name)
{
	size_t length = strlen(name);

	for (const char *found = strstr(whole, name); found; found = strstr(found + 1, name))
		if (found[length] == '(')
			return true;
	return false;
}

/* Empty parameter packs print nothing, however many steps the demangler takes to expand them. */
static bool has_many_packs(const char *symbol)
{
	size_t count = 0;

	for (const char *at = symbol; *at; at++)
		count += at[1] == 'p' && (at[0] == 'D' || at[0] == 's');
	return count > MOST_PACKS;
}

/*
 * The text of a function without its return type and parameters: that of the longest part of
 * @symbol, changed meanwhile, which stands in the @whole text in front of a parenthesis. Template
 * arguments end a name, with an E: only such names are not read by libiberty.
 */
static const char *function_name(char *symbol, size_t length, const char *whole)
{
	size_t used = block->used;

	for (int tried = 0; length > 2 && tried < MOST_PREFIXES; length--) {
		char after = symbol[length];
		const char *name;

		if (symbol[length - 1] != 'E')
			continue;
		symbol[length] = '\0';
		name = text_of(symbol);
		symbol[length] = after;
		tried++;
		if (name && stands_before_parameters(whole, name))
			return name;
		block->used = used;
	}
	return whole;
}

/* In a function of its own: after the jump back only the arguments are needed. */
static bool demangle_in_block(char *symbol, size_t length, char to[WORKER_MAX_NAME], bool *cut)
{
	const char *name;

	if (setjmp(block->given_up))
		return false;
	name = text_of(symbol);
	if (!name)
		return false;
	name = function_name(symbol, length, name);
	length = strnlen(name, WORKER_MAX_NAME);
	*cut = length == WORKER_MAX_NAME;
	length -= *cut;
	memcpy(to, name, length);
	to[length] = '\0';
	return true;
}

bool demangle_newer(const char *symbol, size_t length, char to[WORKER_MAX_NAME], bool *cut)
{
	struct block own = { .bytes = NULL };
	char changed[LONGEST];
	const char *suffix = memchr(symbol, '.', length);
	bool done;

	*cut = false;
	// What the compiler has put behind the name, as .llvm.1234, libiberty leaves away, too.
	if (suffix)
		length = (size_t)(suffix - symbol);
	if (length >= sizeof(changed))
		return false;
	memcpy(changed, symbol, length);
	changed[length] = '\0';
	if (has_many_packs(changed))
		return false;
	own.bytes = malloc(BLOCK_BYTES);
	if (!own.bytes)
		return false;
	block = &own;
	done = demangle_in_block(changed, length, to, cut);
	block = NULL;
	free(own.bytes);
	return done;
}
