/* SPDX-License-Identifier: Apache-2.0 */
/* Text helpers. All pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The candidate closest to @word for a "did you mean": the least
 * Damerau-Levenshtein distance, at most a third of the word's length (and at least
 * 1), between their lower_snake_case forms: "SamplesPerSecond" and
 * "samples-per-second" are "samples_per_second". NULL when none is close.
 */
const char *strings_nearest(const char *word, const char *const *candidates, size_t count);

/*
 * Copy @length bytes to @to with each byte of invalid UTF-8 (and NUL) replaced by '?',
 * and a NUL at the end; @to has room for @length + 1 bytes. May be in place.
 */
void strings_sanitize_utf8(char *to, const char *from, size_t length);

bool strings_is_utf8(const char *bytes, size_t length);

/* How many of @length bytes to keep, at most @max, so that no character is cut in two. What is not
 * UTF-8 is cut anywhere. */
size_t strings_cut_utf8(const char *bytes, size_t length, size_t max);

/* Write the character @code as UTF-8 to @to. Returns the number of bytes, 0 for what is no
 * character.
 */
size_t strings_encode_utf8(uint32_t code, char to[static 4]);

/* The value of hexadecimal digit @c, of either case; -1: it is none. */
int strings_hex_digit(int c);

/*
 * Decode @length bytes of a URL to @to, which has room for @length + 1: %41 is 'A', and with @form
 * '+' is a blank. False: an escape is cut short, has no digits, or is %00, which would end the text
 * for whoever reads it.
 */
bool strings_decode_url(const char *from, size_t length, bool form, char *to);

/* @length bytes as lower-case hexadecimal digits; @to has room for 2 * @length + 1 bytes. */
void strings_hex(char *to, const void *bytes, size_t length);

/* Bytes of @length bytes in base64, NUL included. */
#define STRINGS_BASE64_SIZE(length) (((length) + 2) / 3 * 4 + 1)

/* In the standard alphabet of RFC 4648, with padding; @to has room for
 * STRINGS_BASE64_SIZE(@length). */
void strings_base64(char *to, const void *bytes, size_t length);

/* -1, 0 or 1, byte by byte, the shorter one first; a text of no bytes may be NULL. */
int strings_compare(const char *left, size_t left_length, const char *right, size_t right_length);
