// SPDX-License-Identifier: Apache-2.0
#include "json_text.h"

void json_text_write(FILE *out, const char *bytes, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size && bytes[i]; i++) {
		char c = bytes[i];

		fputc(c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c, out);
	}
	fputc('"', out);
}
