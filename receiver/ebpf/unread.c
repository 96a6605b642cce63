// SPDX-License-Identifier: Apache-2.0
#include "unread.h"

#include <errno.h>
#include <string.h>

/* A pass over all threads tells of some 2,000 at most, with 1.5 KB each. */
enum { MOST_WORDS = (4 << 20) / sizeof(uint64_t) };

/* Threads of one owner whose pages come slowly may take so long before all others have been read.
 */
static const uint64_t TURN_NS = 50000000;

/* In the length of a record. */
static const uint64_t WAS_READ = 1ull << 63;

static const char *const results[UNREAD_RESULTS] = {
	[UNREAD_READ] = "stack=read",
	[UNREAD_ENDED] = "stack=ended",
	[UNREAD_REFUSED] = "stack=refused",
	[UNREAD_NO_TIME] = "stack=no_time",
};

/* A record in parts. What follows the head is copied, since it grows. */
struct reading {
	struct sample_head head;
	uint64_t frames[SAMPLE_MAX_KERNEL_FRAMES];
	struct sample_deferred deferred;
	struct sample_unread unread;
	uint8_t record[sizeof(struct sample_head) + SAMPLE_MAX_KERNEL_FRAMES * sizeof(uint64_t) +
		       SAMPLE_MAX_DEFERRED_BYTES];
	size_t length;
};

void unread_list_deinit(struct unread_list *list)
{
	VECTOR_DEINIT(&list->words);
}

void unread_register(struct unread_metrics *metrics, const struct profcol_host *host)
{
	for (size_t i = 0; i < UNREAD_RESULTS; i++)
		metrics->of[i] = host->metric(host, PROFCOL_COUNTER, "unfinished_waits", results[i],
					      "Samples of waits that had not ended when a batch "
					      "was closed, by what became of the stack");
}

/* Where the deferred walk of such a record is; 0: it is none, or does not add up. */
static size_t deferred_offset(const void *record, size_t length)
{
	const struct sample_head *head = record;
	const struct sample_deferred *deferred;
	size_t offset;

	if (length < sizeof(*head) || head->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    head->user_words || head->label_bytes ||
	    head->deferred_bytes != sizeof(*deferred) + sizeof(struct sample_unread))
		return 0;
	offset = sizeof(*head) + head->kernel_count * sizeof(uint64_t);
	deferred = (const void *)((const uint8_t *)record + offset);
	return length == offset + head->deferred_bytes && deferred->flags & SAMPLE_DEFERRED_UNREAD
		       ? offset
		       : 0;
}

bool unread_is(const void *record, size_t length)
{
	return deferred_offset(record, length) != 0;
}

bool unread_add(struct unread_list *list, const void *record, size_t length)
{
	size_t words = length / sizeof(uint64_t);

	if (list->words.count + 1 + words > MOST_WORDS || !VECTOR_RESERVE(&list->words, 1 + words))
		return false;
	list->words.items[list->words.count++] = length;
	memcpy(list->words.items + list->words.count, record, words * sizeof(uint64_t));
	list->words.count += words;
	return true;
}

static void parts_of(struct reading *reading, const void *record, size_t length)
{
	const uint8_t *bytes = record;
	size_t offset = deferred_offset(record, length);

	memcpy(&reading->head, bytes, sizeof(reading->head));
	memcpy(reading->frames, bytes + sizeof(reading->head), offset - sizeof(reading->head));
	memcpy(&reading->deferred, bytes + offset, sizeof(reading->deferred));
	memcpy(&reading->unread, bytes + offset + sizeof(reading->deferred),
	       sizeof(reading->unread));
	reading->deferred.flags &= ~(uint32_t)SAMPLE_DEFERRED_UNREAD;
	reading->deferred.flags |= SAMPLE_DEFERRED_READ;
}

/* The record, with @stack_bytes of the stack, which are in their place already. */
static void assemble(struct reading *reading, size_t stack_bytes)
{
	size_t frames = reading->head.kernel_count * sizeof(uint64_t);
	uint8_t *to = reading->record;

	reading->head.deferred_bytes = (uint16_t)(sizeof(reading->deferred) + stack_bytes);
	memcpy(to, &reading->head, sizeof(reading->head));
	memcpy(to + sizeof(reading->head), reading->frames, frames);
	memcpy(to + sizeof(reading->head) + frames, &reading->deferred, sizeof(reading->deferred));
	reading->length = sizeof(reading->head) + frames + reading->head.deferred_bytes;
}

/* The record says whose the wait was, and for how long: no more is known to be true. */
static void assemble_without_stack(struct reading *reading)
{
	reading->head.kernel_count = reading->head.deferred_bytes = 0;
	reading->head.end = UNWIND_END_UNREADABLE;
	memcpy(reading->record, &reading->head, sizeof(reading->head));
	reading->length = sizeof(reading->head);
}

/* From deferred.stack on, to where it belongs in the record. As processes_read_stack(). */
static ssize_t read_from(struct reading *reading, struct processes *processes)
{
	size_t frames = reading->head.kernel_count * sizeof(uint64_t);
	struct stack_query query = {
		.pid = reading->head.pid,
		.tid = reading->head.tid,
		.runs = reading->unread.runs,
		.address = reading->deferred.stack,
		.bytes = reading->unread.stack_bytes < SAMPLE_MAX_STACK_BYTES
				 ? reading->unread.stack_bytes
				 : SAMPLE_MAX_STACK_BYTES,
	};

	if (reading->unread.runs == SAMPLE_RUNS_UNKNOWN)
		return -EOPNOTSUPP;
	return processes_read_stack(processes, &query,
				    reading->record + sizeof(reading->head) + frames +
					    sizeof(reading->deferred));
}

/* Is it known by @bytes that the thread still slept? */
static bool is_verified(ssize_t bytes)
{
	return bytes >= 0 || (bytes != -ESTALE && bytes != -ETIMEDOUT && bytes != -EOPNOTSUPP &&
			      bytes != -ENOMEM);
}

static enum unread_result read_one(struct reading *reading, struct processes *processes,
				   uint64_t deadline_ns)
{
	ssize_t bytes = -ETIMEDOUT;

	if (clock_monotonic_ns() < deadline_ns)
		bytes = read_from(reading, processes);
	// Below the stack pointer there need not be any memory.
	if (bytes < 0 && is_verified(bytes) && reading->deferred.stack < reading->deferred.sp) {
		reading->deferred.stack = reading->deferred.sp & ~7ull;
		bytes = -ETIMEDOUT;
		if (clock_monotonic_ns() < deadline_ns)
			bytes = read_from(reading, processes);
	}
	// The kernel's frames may be those of another sleep then.
	if (is_verified(bytes))
		assemble(reading, bytes > 0 ? (size_t)bytes & ~(size_t)7 : 0);
	else
		assemble_without_stack(reading);
	if (bytes > 0)
		return UNREAD_READ;
	if (bytes == -ESTALE)
		return UNREAD_ENDED;
	return bytes == -ETIMEDOUT ? UNREAD_NO_TIME : UNREAD_REFUSED;
}

/* ---- whose turn it is ---- */

/* All that unread_read() was given, and what it knows. */
struct turns {
	struct unread_list *list;
	struct processes *processes;
	uint64_t deadline_ns;
	const struct unread_metrics *metrics;
	void (*take)(void *context, const void *record, size_t length);
	void *context;
	struct shares spent; /* nanoseconds, by owner */
	struct reading reading;
};

static void read_and_take(struct turns *turns, const uint64_t *record, size_t length)
{
	struct reading *reading = &turns->reading;
	enum unread_result result;

	parts_of(reading, record, length);
	result = read_one(reading, turns->processes, turns->deadline_ns);
	profcol_metric_add(turns->metrics->of[result], 1);
	turns->take(turns->context, reading->record, reading->length);
}

/* Each owner's until his time is used up. Those that were read are marked. */
static void read_first_turn(struct turns *turns)
{
	uint64_t now_ns = clock_monotonic_ns(), before_ns;

	for (size_t at = 0; at < turns->list->words.count && now_ns < turns->deadline_ns;) {
		uint64_t *length = &turns->list->words.items[at++];
		const struct sample_head *head = (const void *)(length + 1);
		struct owner owner = processes_memory_owner(turns->processes, head->pid);

		at += *length / sizeof(uint64_t);
		if (shares_of(&turns->spent, owner) >= TURN_NS)
			continue;
		before_ns = clock_monotonic_ns();
		read_and_take(turns, length + 1, *length);
		now_ns = clock_monotonic_ns();
		shares_add(&turns->spent, owner, now_ns - before_ns);
		*length |= WAS_READ;
	}
}

/* The others, as long as there is time. */
static void read_second_turn(struct turns *turns)
{
	for (size_t at = 0; at < turns->list->words.count;) {
		const uint64_t *length = &turns->list->words.items[at++];

		at += (*length & ~WAS_READ) / sizeof(uint64_t);
		if (!(*length & WAS_READ))
			read_and_take(turns, length + 1, *length);
	}
}

void unread_read(struct unread_list *list, struct processes *processes, uint64_t deadline_ns,
		 const struct unread_metrics *metrics,
		 void (*take)(void *context, const void *record, size_t length), void *context)
{
	struct turns turns = {
		.list = list,
		.processes = processes,
		.deadline_ns = deadline_ns,
		.metrics = metrics,
		.take = take,
		.context = context,
	};

	read_first_turn(&turns);
	read_second_turn(&turns);
	shares_deinit(&turns.spent);
	list->words.count = 0;
}
