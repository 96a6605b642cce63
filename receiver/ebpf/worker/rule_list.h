/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of one answer that have no packed form, each once. One thread at a time. */
#pragma once

#include "protocol.h"

#include "base/base.h"

enum { RULE_LIST_SLOTS = 2 * UNWIND_RULES }; /* power of two */

/* Zero-initialized. */
struct rule_list {
	VECTOR(struct unwind_rule) rules;
	uint16_t slots[RULE_LIST_SLOTS]; /* by hash: 1 + index; 0 = free */
};

void rule_list_deinit(struct rule_list *list);

/* A page_number_function; @context is the list. At most PROTOCOL_MAX_RULES. */
int rule_list_number(void *context, const struct unwind_rule *rule);

/* Forget all but the first @count rules. */
void rule_list_cut(struct rule_list *list, size_t count);
