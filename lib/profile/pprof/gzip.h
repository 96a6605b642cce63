/* SPDX-License-Identifier: Apache-2.0 */
/* The outer form of a pprof file. Pure; any thread. */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_share;

bool gzip_is_magic(const uint8_t *bytes, size_t length);

/* *@bytes_ret is the caller's to free(). @level as libdeflate counts, 1 to 12. */
PROFCOL_MUST_CHECK struct profcol_error *gzip_compress(const uint8_t *bytes, size_t length,
						       int level, uint8_t **bytes_ret,
						       size_t *length_ret);

/*
 * All members of a gzip file. BAD_DATA when it is damaged, cut short, or longer than
 * @max_bytes once inflated. *@bytes_ret is the caller's to free(); its memory is taken of @share
 * (NULL = no bound), NO_MEMORY when there is too little.
 */
PROFCOL_MUST_CHECK struct profcol_error *gzip_inflate(const uint8_t *bytes, size_t length,
						      size_t max_bytes, struct memory_share *share,
						      uint8_t **bytes_ret, size_t *length_ret);
