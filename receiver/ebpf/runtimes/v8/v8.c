// SPDX-License-Identifier: Apache-2.0
#include "v8.h"

extern const struct runtime runtime_v8;

const struct runtime runtime_v8 = {
	.number = RUNTIME_V8,
	.name = "v8",
	.layout_bytes = sizeof(struct v8_layout),
	.recognise = v8_recognise,
	.check = v8_check_layout,
	.loops = v8_loops,
	.attach = v8_attach,
	.foresee = v8_foresee,
	.resolve = v8_resolve,
	.frame_type = "v8js",
};
