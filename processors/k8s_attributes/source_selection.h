/* SPDX-License-Identifier: Apache-2.0 */
/* Which pods are wanted: as the query of a URL, for servers that select, and as a test, for the
 * kubelet, which does not. Private to the source. Any thread. */
#pragma once

#include "source.h"

#include <stdio.h>

struct selection {
	char *node, **namespaces; /* owned, as all below */
	size_t namespace_count;
	struct k8s_selector *fields, *labels;
	size_t field_count, label_count;
};

/* Copies of what @settings say. NULL: no memory. */
struct selection *source_selection_create(const struct k8s_source_settings *settings);
void source_selection_destroy(struct selection *selection); /* accepts NULL */

/*
 * "&fieldSelector=...&labelSelector=...", percent-encoded, of objects of @kind; free(). "" when
 * all are wanted, NULL without memory.
 */
char *source_selection_query(const struct selection *selection, enum k8s_kind kind);

/* CONFIG when source_selection_fits cannot tell. */
PROFCOL_MUST_CHECK struct profcol_error *source_selection_check(const struct selection *selection);
bool source_selection_fits(const struct selection *selection, const struct k8s_pod *pod);

/* @text with all but letters, digits and -._~ as %XX, behind @before, in @to. */
void source_selection_encode(FILE *to, const char *before, const char *text);
