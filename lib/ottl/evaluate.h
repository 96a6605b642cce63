/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation of a condition, as paths and converters see it. */
#pragma once

#include "pattern.h"
#include "tree.h"

/* One frame of a stack: the ids of what it refers to, 0 where there is none. */
struct frame {
	uint32_t function, mapping;
	uint32_t attributes; /* of its location */
};

struct evaluation {
	struct ottl_run *run;
	const struct profcol_batch *batch;
	struct condition_state *state; /* of the condition in this run */
	struct ottl_position position;
	struct profcol_sample sample; /* zero outside of its context */
	struct frame frame;           /* while frames are asked */
	struct scratch *scratch;
};

/* The value of @node, a ROLE_VALUE. False with a message when it has none. */
bool evaluate_value(struct evaluation *evaluation, const struct node *node, struct value *ret);

/* Set the message; false. */
bool evaluation_fail(struct evaluation *evaluation, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The regular expression of the call @node, its own or @text; NULL with a message. */
const struct ottl_pattern *evaluation_pattern(struct evaluation *evaluation,
					      const struct node *node, struct profcol_text text);

/* Why the pattern of @node could not be tried on a text of @length bytes; false. */
bool evaluation_fail_match(struct evaluation *evaluation, const struct node *node,
			   enum pattern_outcome outcome, size_t length);

/*
 * Does the regular expression of the call @node, its own or @pattern, occur in @text? False with a
 * message when the pattern is none, or took too long.
 */
bool evaluate_match(struct evaluation *evaluation, const struct node *node,
		    struct profcol_text pattern, struct profcol_text text, bool *ret);
