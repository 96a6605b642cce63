/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as text that Prometheus reads (text exposition format 0.0.4): gathered in any order,
 * written family by family in alphabetical order, each with one HELP and one TYPE. Rows of the
 * same name and labels are added up, so that no series is there twice.
 *
 * Memory is kept from one scrape to the next. One thread at a time.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

enum exposition_type { EXPOSITION_COUNTER, EXPOSITION_GAUGE, EXPOSITION_HISTOGRAM };

struct exposition_family {
	const char *name; /* without what a reader may want behind it */
	const char *unit; /* literal: "seconds", "bytes"; "" without, or when the name says it */
	const char *help;
	enum exposition_type type;
	bool bare; /* without the reader's labels */
};

/* `receiver="otlp",transport="grpc"`: keys made valid, values escaped and cut at 256 bytes. */
struct exposition_labels {
	char text[2048];
	size_t length;
};

/*
 * A label whose key is there already is left out, and so is one that there is no room for: then
 * the answer is false.
 */
bool exposition_label(struct exposition_labels *labels, const char *key, const char *value);

/* Of one set of labels. Not cumulative: the writer adds up. */
struct exposition_histogram {
	const uint64_t *bounds; /* literal; upper bounds, ascending */
	size_t bound_count;
	const uint64_t *counts; /* one more than bounds; copied */
	uint64_t sum;
};

struct exposition_row;

struct exposition {
	VECTOR(char) text; /* names, helps and labels, each with its NUL */
	VECTOR(struct exposition_row) rows;
	VECTOR(uint64_t) counts; /* of histograms */
	bool failed;             /* no memory */
};

void exposition_deinit(struct exposition *exposition); /* of a zeroed one too */
void exposition_clear(struct exposition *exposition);  /* keeps the memory */

/* Strings are copied. */
void exposition_add(struct exposition *exposition, const struct exposition_family *family,
		    const struct exposition_labels *labels, int64_t value);
void exposition_add_real(struct exposition *exposition, const struct exposition_family *family,
			 const struct exposition_labels *labels, double value);
void exposition_add_histogram(struct exposition *exposition, const struct exposition_family *family,
			      const struct exposition_labels *labels,
			      const struct exposition_histogram *histogram);

/* What a reader wants, see without_type_suffix and without_units. */
struct exposition_style {
	bool type_suffix; /* counters end in _total */
	bool unit_suffix;
	/* On every row that has not got such a key itself, as in exposition_labels; "" without. */
	const char *labels;
};

/* The text, for free(), without NUL; NULL without memory, also when adding has failed. */
char *exposition_write(struct exposition *exposition, const struct exposition_style *style,
		       size_t *length_ret);
