// SPDX-License-Identifier: Apache-2.0
#include "code.h"
#include "method.h"

enum runtime_outcome hotspot_resolve(const struct runtime_process *process,
				     const struct runtime_memory *memory,
				     const struct runtime_frame *frame,
				     const struct runtime_lines *to)
{
	const struct hotspot_layout *layout = (const void *)process->layout;

	if (process->data_bytes != sizeof(struct hotspot_offsets) ||
	    layout->form == HOTSPOT_UNNAMED || layout->form >= HOTSPOT_FORMS)
		return RUNTIME_MALFORMED;
	switch (frame->kind) {
	case HOTSPOT_CALLS:
	case HOTSPOT_RUNS:
		return hotspot_resolve_code(process, memory, frame, to);
	case HOTSPOT_INTERPRETS:
	case HOTSPOT_ENTERS:
		return hotspot_resolve_method(process, memory, frame, to);
	default:
		return RUNTIME_MALFORMED;
	}
}
