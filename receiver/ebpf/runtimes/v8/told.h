/* SPDX-License-Identifier: Apache-2.0 */
/* The variables in which a file with V8 tells debuggers how objects look. Any thread. */
#pragma once

#include "v8.h"

struct elf_view;

struct v8_told {
	struct v8_layout *layout; /* borrowed: most of it goes there */
	int32_t tagged_bytes, smi_shift;
	int32_t context_slot, array_slot; /* of frames, in bytes */
};

/* What @view says to *@told, whose layout is empty; what it does not say stays 0. */
void v8_read_told(const struct elf_view *view, struct v8_told *told);

/* Can @layout be one? It is read by it without further looks. */
bool v8_is_sound(const struct v8_layout *layout);
