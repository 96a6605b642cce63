/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where every sample went. Each instance has an account, to which it and the host
 * book (<profcol/metrics.h> says who books what). The balance of an exporter is the
 * sum of the accounts on all ways from a receiver to it; there, once all is drained,
 *
 *   taken = exported + filtered + lost + stored
 */
#pragma once

#include <profcol/metrics.h>

#include <pthread.h>

/* Causes of one instance; further ones are booked under "other", so the sums stay right. */
enum { ACCOUNT_ENTRIES = 64, ACCOUNT_OUTCOMES = PROFCOL_STORED + 1 };

struct account_entry {
	enum profcol_outcome outcome;
	const char *cause; /* literal of the component; NULL for TAKEN, EXPORTED and STORED */
	_Atomic uint64_t samples;
};

/* Booking takes no lock once a cause is known and never allocates. Any thread. */
struct account {
	pthread_mutex_t lock; /* guards the appending of entries */
	_Atomic size_t count; /* entries below it are complete */
	struct account_entry entries[ACCOUNT_ENTRIES];
};

void account_init(struct account *account);
void account_deinit(struct account *account);

void account_book(struct account *account, enum profcol_outcome outcome, const char *cause,
		  uint64_t samples);

/*
 * Samples booked so far; of every cause when @cause is NULL. A sample is booked as TAKEN before it
 * is booked under any other outcome: a reader of all accounts that reads TAKEN last never finds too
 * few taken.
 */
uint64_t account_samples(const struct account *account, enum profcol_outcome outcome,
			 const char *cause);

/* Call @visit on each entry, those without samples included. Any thread. */
void account_visit(const struct account *account,
		   void (*visit)(const struct account_entry *entry, void *context), void *context);

struct balance_cause {
	enum profcol_outcome outcome;
	const char *cause; /* borrowed from an account */
	uint64_t samples;
};

struct balance {
	uint64_t totals[ACCOUNT_OUTCOMES];
	struct balance_cause
		causes[2 * ACCOUNT_ENTRIES]; /* of totals; what is beyond is not named */
	size_t cause_count;
};

/* Add one account on the way; an account that lies on two ways is added twice. */
void balance_add(struct balance *balance, const struct account *account);

/* Add to @to what @plus has and @minus (NULL: nothing), an earlier state of it, had not yet. */
void balance_add_difference(struct balance *to, const struct balance *plus,
			    const struct balance *minus);

/* taken - exported - filtered - lost - stored: positive when samples vanished, negative when some
 * were counted twice. */
int64_t balance_unaccounted(const struct balance *balance);

/* What is under way, and will not arrive any more, is lost by @cause (literal). */
void balance_lose_rest(struct balance *balance, const char *cause);

/*
 * "taken=1987 exported=1820 filtered=160 lost=7 (idle=160 ring_buffer_full=7)", with
 * "stored=N" and "unaccounted=N" behind lost when they are not 0. Writes at most @size bytes
 * including the NUL and returns the length written.
 */
size_t balance_format(const struct balance *balance, char *to, size_t size);

/* The causes of @outcome alone, without parentheses; writes at most @size bytes, which is not 0. */
void balance_format_causes(const struct balance *balance, enum profcol_outcome outcome, char *to,
			   size_t size);
