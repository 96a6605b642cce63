// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include "cut_names.h"
#include "demangle_newer.h"
#include "function_index.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/*
 * libiberty refuses symbols of more than half its recursion limit (1,024 bytes), which real
 * templates exceed, unless told not to count. Recursion in its parser grows with the symbol's
 * length and in its printer is bounded always, so a bound on the length bounds the stack.
 */
enum { COUNTED_LENGTH = 1024, LONGEST_SYMBOL = FUNCTION_INDEX_NAME };

struct output {
	char *to;
	size_t length;
	bool cut;
	jmp_buf full;
};

/*
 * Substitutions double: 240 bytes can print 285 MB. The callback form of libiberty owns no memory,
 * so leaving it by a jump loses nothing.
 */
static void output_append(const char *bytes, size_t length, void *context)
{
	struct output *output = context;
	size_t room = WORKER_MAX_NAME - 1 - output->length;

	output->cut = length > room;
	if (output->cut)
		length = room;
	// Of no bytes there need not be an address.
	if (length)
		memcpy(output->to + output->length, bytes, length);
	output->length += length;
	if (output->cut)
		longjmp(output->full, 1);
}

static bool demangle_by_scheme(const char *symbol, size_t length, struct output *output)
{
	int options = length > COUNTED_LENGTH ? DMGL_NO_RECURSE_LIMIT : DMGL_NO_OPTS;

	// A legacy Rust symbol is a C++ one with a hash at its end: try the narrower one first.
	if (rust_demangle_callback(symbol, options, output_append, output))
		return true;
	output->length = 0;
	return cplus_demangle_v3_callback(symbol, options, output_append, output);
}

/* A function of its own: after the jump back nothing here is needed but the arguments' memory. */
static bool demangle_until_full(const char *symbol, size_t length, struct output *output)
{
	if (setjmp(output->full))
		return true;
	return demangle_by_scheme(symbol, length, output);
}

bool demangle_symbol(const char *symbol, char to[WORKER_MAX_NAME])
{
	size_t length = strnlen(symbol, LONGEST_SYMBOL + 1);
	struct output output = { .to = to };

	to[0] = '\0';
	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') || length > LONGEST_SYMBOL)
		return false;
	if (!demangle_until_full(symbol, length, &output)) {
		output.length = 0;
		if (symbol[1] == 'Z' && demangle_newer(symbol, length, to, &output.cut))
			output.length = strlen(to);
	}
	to[output.length] = '\0';
	if (output.cut)
		cut_name_mark(to, output.length, symbol, length);
	return output.length > 0;
}
