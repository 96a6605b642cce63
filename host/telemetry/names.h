/* SPDX-License-Identifier: Apache-2.0 */
/* What the metrics of components and of the host are called outside. Constant: any thread. */
#pragma once

#include "exposition.h"

#include <profcol/metrics.h>

/* A metric that the Collector has, too. */
struct names_entry {
	const char *own; /* as a component registers it */
	struct exposition_family family;
	bool data_type; /* has the label data_type="profiles" */
};

/* NULL for a name that the Collector does not have. */
const struct names_entry *names_find(const char *own);

enum { NAMES_BYTES = 128 };

/*
 * How a metric of a component is shown: by the Collector's name, else as profcol_@own, which is
 * written to @name, with characters that cannot be there as '_'. *@entry_ret is as names_find's.
 */
struct exposition_family names_family(const char *own, enum profcol_metric_kind kind,
				      const char *doc, char name[NAMES_BYTES],
				      const struct names_entry **entry_ret);
