// SPDX-License-Identifier: Apache-2.0
#include "build_ids.h"

#include <stdint.h>
#include <string.h>

enum { LEAST_BYTES = 8, MOST_BYTES = 256 };

static unsigned int digit(char c)
{
	return c <= '9' ? (unsigned int)(c - '0') : (unsigned int)(c - 'a' + 10);
}

static bool gnu_is_in(const void *head, size_t bytes, const char *gnu)
{
	size_t length = strlen(gnu) / 2;
	uint8_t id[MOST_BYTES];

	if (length < LEAST_BYTES || length > sizeof(id))
		return false;
	for (size_t i = 0; i < length; i++)
		id[i] = (uint8_t)(digit(gnu[2 * i]) << 4 | digit(gnu[2 * i + 1]));
	return memmem(head, bytes, id, length);
}

static bool go_is_in(const void *head, size_t bytes, const char *go)
{
	size_t length = strlen(go);

	return length >= LEAST_BYTES && memmem(head, bytes, go, length);
}

bool build_ids_are_in(const void *head, size_t bytes, const char *gnu, const char *go)
{
	if (!*gnu && !*go)
		return false;
	return (!*gnu || gnu_is_in(head, bytes, gnu)) && (!*go || go_is_in(head, bytes, go));
}
