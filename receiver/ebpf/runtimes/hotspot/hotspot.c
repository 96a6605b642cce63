// SPDX-License-Identifier: Apache-2.0
#include "hotspot.h"

extern const struct runtime runtime_hotspot;

const struct runtime runtime_hotspot = {
	.number = RUNTIME_HOTSPOT,
	.name = "hotspot",
	.layout_bytes = sizeof(struct hotspot_layout),
	.recognise = hotspot_read,
	.check = hotspot_check,
	.attach = hotspot_heaps,
	.resolve = hotspot_resolve,
	.name_thread = hotspot_name_thread,
	.describe = hotspot_describe,
	.frame_type = "jvm",
};
