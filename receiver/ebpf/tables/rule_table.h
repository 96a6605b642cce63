/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that have no packed form, each once, as the kernel side reads them. They are never taken
 * back: all files of a machine have a few hundred. One thread at a time.
 */
#pragma once

#include "unwind/unwind.h"

#include "sample.h"

#include "base/base.h"

struct rule_table {
	struct unwind_rule *rules; /* UNWIND_RULES, shared with the kernel; not owned */
	uint32_t count;
	struct intern index;
};

void rule_table_init(struct rule_table *table, struct unwind_rule *rules);
void rule_table_deinit(struct rule_table *table);

/* The number of @rule, or 0 (UNWIND_RULE_UNKNOWN) when there is no room. */
uint32_t rule_table_number(struct rule_table *table, const struct unwind_rule *rule);
