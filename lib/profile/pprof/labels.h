/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of samples: from the attributes of the sample and its resource, from its
 * link, and from the name that a profile has (PROFCOL_PROFILE_NAME). Equal sets of labels get one
 * number, so samples can be compared by it.
 *
 * On one key the sample's own attributes win over its link, that over the profile's
 * name, and that over the resource. An array of strings or integers becomes several labels of one
 * key, other values that pprof lacks become text (true, 2.5, hex digits, JSON); a unit survives on
 * integers only.
 *
 * Running out of memory sets `failed`, to be asked once at the end.
 */
#pragma once

#include "string_numbers.h"

struct pprof_label {
	uint32_t key;  /* string number */
	uint32_t str;  /* string number; 0 = the label is `num` */
	uint32_t unit; /* string number; of num */
	int64_t num;
};

/* A label being collected. */
struct draft_label {
	struct pprof_label label;
	uint32_t rank;     /* whose it is: on one key only the least rank stays */
	uint32_t position; /* values of one key keep their order */
};

/* What determines a set: remembered, since few of these repeat in many samples. */
struct label_source {
	uint32_t resource_attributes, sample_attributes; /* attribute list ids */
	uint32_t link;
	uint32_t profile_name; /* string id of the batch; 0 = none */
	uint32_t set;
};

struct labels {
	const struct profcol_batch *batch; /* borrowed */
	struct string_numbers *strings;    /* borrowed */
	VECTOR(struct pprof_label) labels; /* all sets, one after the other */
	VECTOR(uint32_t) ends;             /* by set */
	struct intern sets;
	VECTOR(struct label_source) sources;
	struct intern source_index;
	VECTOR(struct draft_label) drafts;
	bool failed;
};

void labels_init(struct labels *labels, const struct profcol_batch *batch,
		 struct string_numbers *strings);
void labels_deinit(struct labels *labels);

/* The number of the set; the fields of @source but `set` are read. */
uint32_t labels_number(struct labels *labels, struct label_source source);

/* The labels of a set, sorted by key; borrowed until the next call of the above. */
const struct pprof_label *labels_get(const struct labels *labels, uint32_t set, size_t *count_ret);
