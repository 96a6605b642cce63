// SPDX-License-Identifier: Apache-2.0
/*
 * A symbol of a hostile file, without the "_Z" or "_R" that it begins with; the first byte says
 * which. Its readable form ends within its place, and is the same when it is asked for again.
 */
#include "worker/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char names[2][WORKER_MAX_NAME];
	char *symbol;
	bool is_name;

	if (!size)
		return 0;
	symbol = malloc(size + 2);
	if (!symbol)
		return 0;
	memcpy(symbol, bytes[0] & 1 ? "_R" : "_Z", 2);
	memcpy(symbol + 2, bytes + 1, size - 1);
	symbol[size + 1] = '\0';
	memset(names, 'x', sizeof(names));
	is_name = demangle_symbol(symbol, names[0]);
	if (is_name != (names[0][0] != '\0') || !memchr(names[0], '\0', sizeof(names[0])))
		abort();
	if (demangle_symbol(symbol, names[1]) != is_name || strcmp(names[0], names[1]) != 0)
		abort();
	free(symbol);
	return 0;
}
