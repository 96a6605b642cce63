/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that have no packed form, each once, as the kernel side reads them. They are never taken
 * back: a thousand files of Debian have 1,400. One thread at a time.
 */
#pragma once

#include "unwind/unwind.h"

#include "sample.h"

#include "base/base.h"

struct rule_table {
	struct unwind_rule *rules; /* UNWIND_RULES, shared with the kernel; not owned */
	uint32_t count;
	struct intern index;
	uint64_t refused; /* times there was no room for a rule */
};

void rule_table_init(struct rule_table *table, struct unwind_rule *rules);
void rule_table_deinit(struct rule_table *table);

/*
 * The number of @rule, or 0 (UNWIND_RULE_UNKNOWN) when there is no room: at most *@left new ones
 * are added, which counts down, so that no file takes the place of all others.
 */
uint32_t rule_table_number(struct rule_table *table, const struct unwind_rule *rule,
			   uint32_t *left);
