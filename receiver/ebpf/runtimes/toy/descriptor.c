// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

extern const struct runtime runtime_toy;

const struct runtime runtime_toy = {
	.number = RUNTIME_TOY,
	.name = "toy",
	.layout_bytes = sizeof(struct toy_layout),
	.recognise = toy_recognise,
	.check = toy_check,
	.loops = toy_loops,
	.attach = toy_attach,
	.resolve = toy_resolve,
	.frame_type = "toy",
};
