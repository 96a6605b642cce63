// SPDX-License-Identifier: Apache-2.0
/*
 * The lists of a package manager, as anybody may have written them, and what they are called: the
 * first line is the file's name, the second one a path, the rest the list. A path that is found is
 * a line of the list, and a name that is given out is one that a package can have.
 */
#include "processes/packages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Line by line. */
static bool has_line(const char *text, size_t length, const char *path)
{
	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t line = end ? (size_t)(end - text) : length;

		if (line == strlen(path) && !memcmp(text, path, line))
			return true;
		text += line + (end != NULL);
		length -= line + (end != NULL);
	}
	return false;
}

static char *take_line(const uint8_t **bytes, size_t *size)
{
	const uint8_t *end = memchr(*bytes, '\n', *size);
	size_t length = end ? (size_t)(end - *bytes) : *size;
	char *line = strndup((const char *)*bytes, length);

	*bytes += length + (end != NULL);
	*size -= length + (end != NULL);
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char name[PACKAGES_NAME_BYTES];
	char *file, *path, *text;

	if (!size)
		return 0;
	file = take_line(&bytes, &size);
	path = size ? take_line(&bytes, &size) : strdup("/usr/x");
	text = malloc(size ? size : 1);
	memcpy(text, bytes, size);
	if (packages_name_of_list(file, name)) {
		if (strlen(name) < 2 || strncmp(file, name, strlen(name)) != 0)
			abort();
		for (const char *at = name; *at; at++)
			if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) &&
			    !strchr("+-.", *at))
				abort();
	}
	if (*path && packages_list_has(text, size, path) !=
			     (has_line(text, size, path) ||
			      (!strncmp(path, "/usr/", 5) && has_line(text, size, path + 4))))
		abort();
	free(text);
	free(path);
	free(file);
	return 0;
}
