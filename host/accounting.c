// SPDX-License-Identifier: Apache-2.0
#include "accounting.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The entries that are always there, each at the position of its outcome. */
static const char *const fixed_causes[ACCOUNT_OUTCOMES] = {
	[PROFCOL_FILTERED] = "other",
	[PROFCOL_LOST] = "other",
};

void account_init(struct account *account)
{
	memset(account, 0, sizeof(*account));
	pthread_mutex_init(&account->lock, NULL);
	for (unsigned int outcome = 0; outcome < ACCOUNT_OUTCOMES; outcome++) {
		account->entries[outcome].outcome = (enum profcol_outcome)outcome;
		account->entries[outcome].cause = fixed_causes[outcome];
	}
	atomic_store(&account->count, ACCOUNT_OUTCOMES);
}

void account_deinit(struct account *account)
{
	pthread_mutex_destroy(&account->lock);
}

static struct account_entry *find_entry(struct account *account, enum profcol_outcome outcome,
					const char *cause)
{
	size_t count = atomic_load_explicit(&account->count, memory_order_acquire);

	for (size_t i = ACCOUNT_OUTCOMES; i < count; i++)
		if (account->entries[i].outcome == outcome &&
		    strcmp(account->entries[i].cause, cause) == 0)
			return &account->entries[i];
	return NULL;
}

static struct account_entry *append_entry(struct account *account, enum profcol_outcome outcome,
					  const char *cause)
{
	struct account_entry *entry;
	size_t count;

	pthread_mutex_lock(&account->lock);
	entry = find_entry(account, outcome, cause); // another thread may have been faster
	count = atomic_load_explicit(&account->count, memory_order_relaxed);
	if (!entry && count < ACCOUNT_ENTRIES) {
		entry = &account->entries[count];
		entry->outcome = outcome;
		entry->cause = cause;
		atomic_store_explicit(&account->count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&account->lock);
	return entry ? entry : &account->entries[outcome];
}

void account_book(struct account *account, enum profcol_outcome outcome, const char *cause,
		  uint64_t samples)
{
	struct account_entry *entry;

	// A plugin built for a newer host may know outcomes that this one does not.
	if ((unsigned int)outcome >= ACCOUNT_OUTCOMES || samples == 0)
		return;
	entry = &account->entries[outcome];
	if (fixed_causes[outcome] && cause && strcmp(cause, fixed_causes[outcome]) != 0) {
		entry = find_entry(account, outcome, cause);
		if (!entry)
			entry = append_entry(account, outcome, cause);
	}
	// Who sees it sees what was booked before it, by this thread or by who handed it on.
	atomic_fetch_add_explicit(&entry->samples, samples, memory_order_release);
}

uint64_t account_samples(const struct account *account, enum profcol_outcome outcome,
			 const char *cause)
{
	size_t count = atomic_load_explicit(&account->count, memory_order_acquire);
	uint64_t samples = 0;

	for (size_t i = 0; i < count; i++) {
		const struct account_entry *entry = &account->entries[i];

		if (entry->outcome != outcome)
			continue;
		if (!cause || (entry->cause && strcmp(entry->cause, cause) == 0))
			samples += atomic_load_explicit(&entry->samples, memory_order_acquire);
	}
	return samples;
}

void account_visit(const struct account *account,
		   void (*visit)(const struct account_entry *entry, void *context), void *context)
{
	size_t count = atomic_load_explicit(&account->count, memory_order_acquire);

	for (size_t i = 0; i < count; i++)
		visit(&account->entries[i], context);
}

static void add_cause(struct balance *balance, enum profcol_outcome outcome, const char *cause,
		      uint64_t samples)
{
	size_t room = sizeof(balance->causes) / sizeof(balance->causes[0]);

	for (size_t i = 0; i < balance->cause_count; i++) {
		struct balance_cause *row = &balance->causes[i];

		if (row->outcome == outcome && strcmp(row->cause, cause) == 0) {
			row->samples += samples;
			return;
		}
	}
	if (balance->cause_count < room)
		balance->causes[balance->cause_count++] = (struct balance_cause){
			.outcome = outcome,
			.cause = cause,
			.samples = samples,
		};
}

void balance_add(struct balance *balance, const struct account *account)
{
	size_t count = atomic_load_explicit(&account->count, memory_order_acquire);

	for (size_t i = 0; i < count; i++) {
		const struct account_entry *entry = &account->entries[i];
		uint64_t samples = atomic_load_explicit(&entry->samples, memory_order_relaxed);

		if (samples == 0)
			continue;
		balance->totals[entry->outcome] += samples;
		if (entry->cause)
			add_cause(balance, entry->outcome, entry->cause, samples);
	}
}

static uint64_t cause_samples(const struct balance *balance, const struct balance_cause *wanted)
{
	for (size_t i = 0; i < balance->cause_count; i++)
		if (balance->causes[i].outcome == wanted->outcome &&
		    strcmp(balance->causes[i].cause, wanted->cause) == 0)
			return balance->causes[i].samples;
	return 0;
}

void balance_add_difference(struct balance *to, const struct balance *plus,
			    const struct balance *minus)
{
	for (size_t i = 0; i < ACCOUNT_OUTCOMES; i++)
		to->totals[i] += plus->totals[i] - (minus ? minus->totals[i] : 0);
	for (size_t i = 0; i < plus->cause_count; i++) {
		const struct balance_cause *row = &plus->causes[i];
		uint64_t samples = row->samples - (minus ? cause_samples(minus, row) : 0);

		if (samples)
			add_cause(to, row->outcome, row->cause, samples);
	}
}

int64_t balance_unaccounted(const struct balance *balance)
{
	const uint64_t *totals = balance->totals;

	return (int64_t)(totals[PROFCOL_TAKEN] - totals[PROFCOL_EXPORTED] -
			 totals[PROFCOL_FILTERED] - totals[PROFCOL_LOST] - totals[PROFCOL_STORED]);
}

void balance_lose_rest(struct balance *balance, const char *cause)
{
	int64_t rest = balance_unaccounted(balance);

	if (rest <= 0)
		return;
	balance->totals[PROFCOL_LOST] += (uint64_t)rest;
	add_cause(balance, PROFCOL_LOST, cause, (uint64_t)rest);
}

struct clause {
	char *to;
	size_t size, length;
};

/* Appends what fits: a cut line of figures is still worth reading. */
__attribute__((format(printf, 2, 3))) static void clause_add(struct clause *clause,
							     const char *format, ...)
{
	size_t room = clause->size - clause->length;
	va_list arguments;
	int wanted;

	va_start(arguments, format);
	wanted = vsnprintf(clause->to + clause->length, room, format, arguments);
	va_end(arguments);
	if (wanted > 0)
		clause->length += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

/* @separator stands before the first; returns what has to before the next. */
static const char *clause_add_causes(struct clause *clause, const struct balance *balance,
				     enum profcol_outcome outcome, const char *separator)
{
	for (size_t i = 0; i < balance->cause_count; i++) {
		const struct balance_cause *row = &balance->causes[i];

		if (row->outcome != outcome)
			continue;
		clause_add(clause, "%s%s=%" PRIu64, separator, row->cause, row->samples);
		separator = " ";
	}
	return separator;
}

void balance_format_causes(const struct balance *balance, enum profcol_outcome outcome, char *to,
			   size_t size)
{
	struct clause clause = { .to = to, .size = size };

	*to = '\0';
	clause_add_causes(&clause, balance, outcome, "");
}

size_t balance_format(const struct balance *balance, char *to, size_t size)
{
	static const char opening[] = " (";
	struct clause clause = { .to = to, .size = size };
	const char *separator = opening;
	int64_t unaccounted = balance_unaccounted(balance);
	const uint64_t *totals = balance->totals;

	if (size == 0)
		return 0;
	clause_add(&clause,
		   "taken=%" PRIu64 " exported=%" PRIu64 " filtered=%" PRIu64 " lost=%" PRIu64,
		   totals[PROFCOL_TAKEN], totals[PROFCOL_EXPORTED], totals[PROFCOL_FILTERED],
		   totals[PROFCOL_LOST]);
	if (totals[PROFCOL_STORED])
		clause_add(&clause, " stored=%" PRIu64, totals[PROFCOL_STORED]);
	if (unaccounted != 0)
		clause_add(&clause, " unaccounted=%" PRId64, unaccounted);
	separator = clause_add_causes(&clause, balance, PROFCOL_FILTERED, separator);
	separator = clause_add_causes(&clause, balance, PROFCOL_LOST, separator);
	if (separator != opening)
		clause_add(&clause, ")");
	return clause.length;
}
