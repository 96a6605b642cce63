/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of `select`, compiled, and what they say of a process. Immutable once made; any thread.
 */
#pragma once

#include "options.h"

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rules ask of a process. */
enum select_need {
	SELECT_EXECUTABLE = 1 << 0,
	SELECT_COMM = 1 << 1,
	SELECT_CGROUP = 1 << 2, /* the container's id comes from it */
	SELECT_UID = 1 << 3,
	SELECT_LINEAGE = 1 << 4,
};

enum { SELECT_MAX_PIDS = 64 }; /* different ones in all rules */

/* What is known of a process. Borrowed. */
struct select_facts {
	unsigned int known;     /* enum select_need: which of those below count */
	const char *executable; /* "" when it has none */
	const char *comm;
	const char *cgroups; /* the text of /proc/PID/cgroup, not trusted */
	size_t cgroups_length;
	uint32_t uid;
	uint64_t lineage; /* bit i: it is, or descends from, select_rules_pid(i) */
};

enum select_verdict {
	SELECT_UNDECIDED,
	SELECT_SELECTED,
	SELECT_UNSELECTED,
	SELECT_UNDECIDABLE, /* what had to be known is not to be had any more */
};

struct select_rules;

/*
 * CONFIG errors, one a line, begin with the key: "select::include::0::comm". Nothing of
 * @config is kept. *@ret is the caller's to destroy, and written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *select_rules_create(const struct select_config *config,
							     struct select_rules **ret);
void select_rules_destroy(struct select_rules *rules); /* accepts NULL */

/* Is every process selected, whatever it is? */
bool select_rules_are_empty(const struct select_rules *rules);

unsigned int select_rules_needs(const struct select_rules *rules); /* enum select_need */

size_t select_rules_pid_count(const struct select_rules *rules);
uint32_t select_rules_pid(const struct select_rules *rules, size_t index);

/* @lineage by the pids of @rules (see select_facts) as one by those of @others, as far as they have
 * the same ones. */
uint64_t select_rules_translate(const struct select_rules *rules, uint64_t lineage,
				const struct select_rules *others);

/*
 * Never UNDECIDED. UNDECIDABLE when the outcome depends on what is not known, or on a pattern that
 * cannot tell within its limit.
 */
enum select_verdict select_rules_judge(const struct select_rules *rules,
				       const struct select_facts *facts);
