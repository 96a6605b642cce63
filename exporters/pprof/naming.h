/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files in the output directory are ours. Everything the exporter deletes
 * is recognised here, by the whole name, so foreign files are never touched.
 *
 *   profcol-20261121T093000.123Z.pb.gz      start of the window, UTC
 *   profcol-20261121T093000.123Z-2.pb.gz    a further file with the same start
 *   profcol-20261121T093000.123Z.folded     the same as folded stacks
 *   .profcol-0123456789abcdef.tmp           a file being written
 *
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	NAMING_PREFIX_MAX = 64, /* bytes */
	NAMING_MAX = 128,       /* bytes of any name, NUL included */
};

enum naming_form { NAMING_PPROF_GZIP, NAMING_PPROF, NAMING_FOLDED, NAMING_FORMS };

/* 1 to 64 of letters, digits, '.', '_', '-', not starting with '.'. */
bool naming_prefix_is_valid(const char *prefix);

/*
 * @start_unix_ms lies before the year 10000. @ordinal 0 gives the name without a
 * number. The form is the ending: ".pb.gz", ".pb" when not compressed, ".folded".
 */
void naming_format(char name[NAMING_MAX], const char *prefix, uint64_t start_unix_ms,
		   unsigned int ordinal, enum naming_form form);

/* True when naming_format() with some start, ordinal and form gives exactly @name. */
bool naming_parse(const char *name, const char *prefix, uint64_t *start_unix_ms_ret,
		  unsigned int *ordinal_ret);

void naming_format_temporary(char name[NAMING_MAX], const char *prefix, uint64_t random);
bool naming_is_temporary(const char *name, const char *prefix);
