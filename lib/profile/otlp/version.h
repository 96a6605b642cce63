/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling requests of opentelemetry-proto 1.9 and before from those of 1.10 on.
 * Private to lib/profile/otlp.
 *
 * 1.10 gave the fields of a Sample other numbers under the same names, and nothing in a
 * request says which ones it uses:
 *
 *	field	1.9			1.10
 *	1	stack_index		stack_index
 *	2	values, packed		attribute_indices, packed
 *	3	attribute_indices	link_index, never packed
 *	4	link_index		values, packed
 *	5	timestamps		timestamps
 *
 * So a packed field 3 in any sample makes it 1.9, and a packed field 4 makes it 1.10; both
 * are certain. Without either, a request is called 1.9, or may be when something else is wrong
 * with it, when a sample has
 * - an index in field 2 that is not in the table of attributes,
 * - the same index in field 2 for each of several timestamps,
 * - beside field 2 or 5 a single number in field 4 that is an index in the table of links (1.10
 *   allows an unpacked value there), or
 * - neither values nor timestamps, read as 1.10.
 * What is left are 1.9 requests without attributes and links whose every value happens to be
 * an attribute's index: they cannot be told, and are taken for 1.10.
 */
#pragma once

#include "base/base.h"

#include <profcol/errors.h>

enum version {
	VERSION_UNCERTAIN,
	VERSION_OLD, /* 1.9 or before */
	VERSION_NEW, /* 1.10 or later */
};

/* What is certain of a request: walks all samples up to the first one that says it. */
enum version version_judge(struct reader request);

/* Says that it is. */
struct profcol_error *version_error(void) PROFCOL_MUST_CHECK;

/* Takes @error, what is wrong with it as 1.10, and adds that it may be 1.9 instead. */
struct profcol_error *version_doubt(struct profcol_error *error) PROFCOL_MUST_CHECK;
