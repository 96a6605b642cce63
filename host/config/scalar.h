/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The type of a plain YAML scalar, as Go's yaml.v3 and so the Collector sees it:
 * null, true and false in three spellings each, integers in base 2, 8, 10 and 16
 * with '_' between digits, floats. yes, no, on, off and dates are strings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scalar_type { SCALAR_STRING, SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT };

struct scalar {
	enum scalar_type type;
	bool boolean;    /* BOOL */
	int64_t integer; /* INT */
	double number;   /* INT and FLOAT */
};

/* Pure. @text ends with a NUL. An integer beyond 64 bits with sign is a FLOAT. */
struct scalar scalar_resolve(const char *text);

/* What the Collector's messages call the type: "nil", "int", "float64", ... */
const char *scalar_type_name(enum scalar_type type);
