/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations from several sources, and files for them. */
#pragma once

#include "sample_components.h"

#include <profcol/errors.h>

/*
 * Load from lists that end with NULL and may be NULL. Exactly one of both results comes:
 * the configuration, or its error.
 */
struct profcol_error *load_sources(const char *const *uris, const char *const *sets,
				   const char *const *gates, struct config **ret);

/* As above; a test fails when there is an error. */
struct config *must_load(const char *const *uris, const char *const *sets);

/* A test fails unless the error has exactly this text. */
void must_refuse(const char *const *uris, const char *const *sets, const char *text);

/* An empty directory that is the current one until leave_directory(), which removes it. */
void enter_directory(void);
void leave_directory(void);

/* A file in it. */
void write_file(const char *name, const char *text);

/* A list as the functions above want it. */
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
