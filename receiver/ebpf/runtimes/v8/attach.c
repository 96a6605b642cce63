// SPDX-License-Identifier: Apache-2.0
/* What the kernel side is told of a process: how its frames look, and that all code of no file is
 * V8's. It is the same for all processes with a file. */
#include "v8.h"

#include <stdio.h>
#include <string.h>

static struct v8_view make_view(const struct v8_layout *layout)
{
	const struct v8_offsets *at = &layout->offsets;

	return (struct v8_view){
		.function = layout->function,
		.bytecode_offset = layout->bytecode_offset,
		.shared = (uint8_t)(at->function_shared / 8),
		.script = (uint8_t)(at->shared_script / 8),
		.builtin = (uint8_t)(at->shared_data / 8),
		.literal = (uint8_t)(at->shared_literal / 4),
		.script_id = (uint8_t)(at->script_id / 8),
		.wasm = (uint8_t)layout->values.marker_wasm,
		.regexp = (uint8_t)layout->values.marker_regexp,
		.regexp_slot = (uint8_t)layout->values.regexp_slot,
		.regexp_data = (uint8_t)(at->regexp_data / 8),
	};
}

static void write_version(const struct v8_layout *layout, struct runtime_found *ret)
{
	if (layout->version)
		snprintf(ret->version, sizeof(ret->version), "V8 %u.%u.%u", layout->version >> 24,
			 layout->version >> 16 & 0xff, layout->version & 0xffff);
}

void v8_foresee(const void *described, uint64_t base, struct runtime_found *ret)
{
	const struct v8_layout *layout = described;
	struct v8_data data = { .view = make_view(layout) };

	(void)base;
	*ret = (struct runtime_found){ .progress = 1, .complete = 1, .area_count = 1 };
	ret->areas[0] =
		(struct runtime_area){ .start = RUNTIME_ANYWHERE, .limit = RUNTIME_ANYWHERE_LIMIT };
	memcpy(ret->areas[0].area, &data.view, sizeof(ret->areas[0].area));
	memcpy(ret->data, &data, sizeof(data));
	ret->data_bytes = sizeof(data);
	write_version(layout, ret);
}

bool v8_attach(const void *described, uint64_t base, const struct runtime_memory *memory,
	       struct runtime_found *ret)
{
	const struct v8_layout *layout = described;

	(void)memory;
	if (layout->refused) {
		*ret = (struct runtime_found){ .refused = layout->refused, .complete = 1 };
		write_version(layout, ret);
		return true;
	}
	v8_foresee(layout, base, ret);
	return true;
}
