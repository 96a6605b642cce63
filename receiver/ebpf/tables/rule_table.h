/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that have no packed form, each once, as the kernel side reads them: a thousand files of
 * Debian have 1,400. When places are short, those go that no file has any more; owners have shares
 * of them (processes/shares.h). One thread at a time.
 */
#pragma once

#include "processes/processes.h"
#include "unwind/unwind.h"

#include "sample.h"

#include "base/base.h"

struct rule_table {
	struct unwind_rule *rules; /* UNWIND_RULES, shared with the kernel; not owned */
	uint32_t count;            /* numbers that were ever given */
	struct intern index;
	VECTOR(uint16_t) free;  /* numbers to be given again */
	uint32_t unused;        /* rules that no file has */
	uint32_t round, looked; /* in which it was looked last which of these are free */
	struct shares shares;   /* places, by owner */
	bool wanted;         /* there was no room: files that nobody runs should let go of theirs */
	uint64_t taken_back; /* numbers; what is remembered of a rule by number is out of date */
	uint64_t refused;    /* times there was no room for a rule */
	struct rule_use {
		uint32_t files;     /* that have it */
		uint32_t round;     /* when the last of them let go of it */
		struct owner owner; /* of the files that have had it */
	} uses[UNWIND_RULES];
};

/* The rules of one file: all zero but for the owner is none. */
struct rule_uses {
	struct owner owner;       /* of the file */
	VECTOR(uint16_t) numbers; /* ascending */
};

void rule_table_init(struct rule_table *table, struct unwind_rule *rules);
void rule_table_deinit(struct rule_table *table);

/*
 * The number of @rule, which the file of @uses has from now on, or 0 (UNWIND_RULE_UNKNOWN) when
 * there is no room, in all or for one file, which cannot take the place of all others.
 */
uint32_t rule_table_use(struct rule_table *table, const struct unwind_rule *rule,
			struct rule_uses *uses);

/* May the file of @uses have @count rules that no file has yet, or fewer: all that one file may
 * still have, or all that its owner has less than its share? */
bool rule_table_has_room(struct rule_table *table, const struct rule_uses *uses, uint32_t count);

/* The file of @uses has none any more, and walks that begin from now on find none of its pages. */
void rule_table_release(struct rule_table *table, struct rule_uses *uses);

/*
 * Who has most rules; false: nobody has more than a share. The same as long as too few are free for
 * owners that have fewer: whose files have to let go of theirs. How many such rules a file has.
 */
bool rule_table_most(const struct rule_table *table, struct owner *ret);
bool rule_table_largest(const struct rule_table *table, struct owner *ret);
size_t rule_table_held(const struct rule_table *table, const struct rule_uses *uses,
		       struct owner owner);

/* Some tenths of a second have passed, and with them all walks under way: what was let go of two
 * rounds ago may be another rule. */
void rule_table_next_round(struct rule_table *table);
