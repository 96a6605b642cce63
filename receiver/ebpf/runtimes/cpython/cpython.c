// SPDX-License-Identifier: Apache-2.0
#include "cpython.h"

extern const struct runtime runtime_cpython;

const struct runtime runtime_cpython = {
	.number = RUNTIME_CPYTHON,
	.name = "python",
	.layout_bytes = sizeof(struct cpython_layout),
	.recognise = cpython_recognise,
	.check = cpython_check,
	.loops = cpython_loops,
	.attach = cpython_attach,
	.foresee = cpython_foresee,
	.resolve = cpython_resolve,
	.frame_type = "cpython",
};
