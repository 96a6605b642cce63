// SPDX-License-Identifier: Apache-2.0
#include "printable.h"

void printable_strip_controls(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f) {
			text[i] = '?';
		} else if (byte == 0xc2 && i + 1 < length && (unsigned char)text[i + 1] < 0xa0) {
			// U+0080 to U+009f
			text[i] = '?';
			text[++i] = '?';
		}
	}
}
