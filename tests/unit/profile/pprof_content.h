/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pprof file says, as sorted lines of text that do not depend on ids, on the
 * order of tables and samples, or on samples being added up. Two files with the
 * same text are equal in content. Shares no code with the encoder or decoder;
 * everything aborts on surprises.
 *
 * content_* makes the same text from elsewhere: from what a test expects.
 */
#pragma once

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

/* Of a file, gzip or not. The caller's to free(). */
char *pprof_content(const uint8_t *bytes, size_t length);

/* Prints the first lines that differ to stderr when the texts do. */
bool content_equal(const char *left, const char *right);

/* The inflated bytes of a gzip file, or a copy of others. The caller's to free(). */
uint8_t *pprof_plain(const uint8_t *bytes, size_t length, size_t *length_ret);

/* ---- making such text ---- */

struct content_sample {
	char *key;       /* owned */
	int64_t *values; /* owned */
};

struct content {
	size_t columns;
	VECTOR(char *) lines; /* owned */
	VECTOR(struct content_sample) samples;
};

void content_line(struct content *content, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Samples with the same @key (copied) are added up. */
void content_add(struct content *content, const char *key, const int64_t *values);

/* The text; frees what @content holds. */
char *content_finish(struct content *content);

struct content_labels {
	VECTOR(char *) labels; /* owned: key, NUL, then value */
};

void content_label_string(struct content_labels *labels, const char *key, const char *bytes,
			  size_t length);
/* @unit NULL or empty: none. Number 0 in a unit that repeats the key has none. */
void content_label_number(struct content_labels *labels, const char *key, int64_t number,
			  const char *unit);
bool content_labels_have(const struct content_labels *labels, const char *key);
/* Appends the labels, sorted by key, to @stream, and frees them. */
void content_labels_print(struct content_labels *labels, FILE *stream);

/* Quoted text, so that nothing in it is taken for anything else. */
void content_print_text(FILE *stream, const char *bytes, size_t length);

/* A short stand-in for a long text. */
uint64_t content_hash(const char *text);
