/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporter `tally`: hands what comes to a tally. It is in no other configuration than that of
 * `shadow`, whose registry has it beside the components built in.
 */
#pragma once

#include "tally.h"

#include "config/config.h"

struct tally_exporter_type {
	struct profcol_component component;
	struct tally *tally; /* borrowed */
};

/* What registers instances of it; they find @tally by it. Has to outlive them. */
struct tally_exporter_type tally_exporter_type(struct tally *tally);

/* @builtin and @type, still to be sorted, which loading does: an array that the caller frees, whose
 * elements are borrowed. NULL without memory. */
const struct profcol_component **tally_exporter_register(const struct component_registry *builtin,
							 const struct tally_exporter_type *type,
							 struct component_registry *ret);
