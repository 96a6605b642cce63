// SPDX-License-Identifier: Apache-2.0
#include "deferred.h"

#include "waiting.h"
#include "walk.h"

#include "base/base.h"

#include <inttypes.h>
#include <string.h>

/* A second of first samples on some sixteen CPUs, with stacks of usual depth. */
enum { MOST_BYTES = 4 << 20 };

/* How long code may take to be known: a worker may have to read a large file, on a busy machine. */
static const uint64_t WAIT_NS = 2000000000;

enum outcome { FINISHED, CUT, LATE, NO_ROOM, OUTCOMES };
enum comparison { EQUAL, DIFFERENT, UNKNOWN, COMPARISONS };

static const char *const outcomes[OUTCOMES] = {
	[FINISHED] = "result=finished",
	[CUT] = "result=cut",
	[LATE] = "result=late",
	[NO_ROOM] = "result=no_room",
};

static const char *const comparisons[COMPARISONS] = {
	[EQUAL] = "result=equal",
	[DIFFERENT] = "result=different",
	[UNKNOWN] = "result=unknown", /* not all of the code is here any more */
};

struct deferred {
	const struct profcol_host *host;
	struct tables *tables;
	struct deferred_options options;
	struct profcol_metric *results[OUTCOMES], *waiting_now;
	struct profcol_metric *verified[COMPARISONS]; /* only if that is asked for */
	struct waiting waiting;

	/* Of one round: */
	uint64_t now_ns; /* UINT64_MAX: nobody waits any longer */
	deferred_function take;
	void *context;
	const struct sample_head *head; /* of the walk under way */
	struct {
		struct sample_head head;
		uint64_t frames[SAMPLE_MAX_FRAMES];
	} record; /* as it goes on */
};

/* ---- life ---- */

struct deferred *deferred_create(const struct profcol_host *host, struct tables *tables,
				 const struct deferred_options *options)
{
	struct deferred *deferred = calloc(1, sizeof(*deferred));

	if (!deferred)
		return NULL;
	deferred->host = host;
	deferred->tables = tables;
	deferred->options = *options;
	deferred->waiting.max_bytes = MOST_BYTES;
	for (size_t i = 0; i < OUTCOMES; i++)
		deferred->results[i] =
			host->metric(host, PROFCOL_COUNTER, "unwind_deferred_stacks", outcomes[i],
				     "Stacks whose code was unknown when they were sampled, by "
				     "what became of them");
	for (size_t i = 0; options->verify && i < COMPARISONS; i++)
		deferred->verified[i] = host->metric(
			host, PROFCOL_COUNTER, "unwind_verified_stacks", comparisons[i],
			"Stacks that were walked in the kernel and in user space");
	deferred->waiting_now =
		host->metric(host, PROFCOL_GAUGE, "unwind_deferred_waiting", "",
			     "Samples that wait for the unwind rules of their code");
	return deferred;
}

void deferred_destroy(struct deferred *deferred)
{
	if (!deferred)
		return;
	waiting_deinit(&deferred->waiting);
	free(deferred);
}

/* ---- one walk ---- */

static enum tables_found find_code(void *context, uint64_t address, struct tables_code *ret)
{
	struct deferred *deferred = context;
	const struct sample_head *head = deferred->head;
	struct process_key key = { head->pid, head->exec_id, head->start_boottime_ns };

	return tables_find_code(deferred->tables, &key, head->time_ns, address, ret);
}

static const struct unwind_rule *find_rule(void *context, uint32_t number)
{
	struct deferred *deferred = context;

	return tables_rule(deferred->tables, number);
}

/* What follows the frames of @head, a record of @length bytes; NULL for anything malformed. */
static const struct sample_deferred *deferred_of(const struct sample_head *head, size_t length,
						 size_t *stack_bytes_ret)
{
	size_t frames = (size_t)head->kernel_count + head->user_count;
	size_t begin = sizeof(*head) + frames * sizeof(uint64_t);
	const struct sample_deferred *ret = (const void *)((const uint8_t *)head + begin);

	if (head->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    head->user_count > SAMPLE_MAX_USER_FRAMES || length < begin + sizeof(*ret) ||
	    head->deferred_bytes != length - begin || ret->user_count > head->user_count)
		return NULL;
	*stack_bytes_ret = length - begin - sizeof(*ret);
	return ret;
}

/* Into the record that goes on; returns how the walk has ended. */
static struct walk_result finish(struct deferred *deferred, const struct sample_head *head,
				 const struct sample_deferred *from, size_t stack_bytes)
{
	struct walk_tables tables = { find_code, find_rule, deferred };
	uint32_t known = head->kernel_count + from->user_count;
	uint32_t most = deferred->options.depth > from->user_count
				? deferred->options.depth - from->user_count
				: 0;
	struct walk_result result;

	deferred->head = head;
	result =
		walk_finish(from, stack_bytes,
			    stack_bytes + SAMPLE_STACK_PIECE_BYTES <= deferred->options.stack_bytes,
			    &tables, deferred->record.frames + known, most);
	deferred->record.head = *head;
	memcpy(deferred->record.frames, head + 1, known * sizeof(uint64_t));
	deferred->record.head.user_count = (uint16_t)(from->user_count + result.count);
	deferred->record.head.end = (uint16_t)result.end;
	deferred->record.head.deferred_bytes = 0;
	return result;
}

/* The record as it came, but for the deferred walk. */
static void restore(struct deferred *deferred, const struct sample_head *head)
{
	deferred->record.head = *head;
	deferred->record.head.deferred_bytes = 0;
	memcpy(deferred->record.frames, head + 1,
	       ((size_t)head->kernel_count + head->user_count) * sizeof(uint64_t));
}

static void hand_over(struct deferred *deferred)
{
	const struct sample_head *head = &deferred->record.head;

	deferred->take(deferred->context, &deferred->record,
		       sizeof(*head) +
			       ((size_t)head->kernel_count + head->user_count) * sizeof(uint64_t));
}

static void pass_on(struct deferred *deferred, enum outcome outcome)
{
	profcol_metric_add(deferred->results[outcome], 1);
	hand_over(deferred);
}

/* ---- those that wait ---- */

/* What has not come in so long does not exist. A frame pointer may lead anywhere: what is not code
 * then will not be. */
static bool is_over(const struct deferred *deferred, const struct walk_result *result)
{
	if (result->found == TABLES_FOUND || (result->found == TABLES_NO_CODE && result->guessed))
		return true;
	return deferred->now_ns > deferred->head->time_ns + WAIT_NS;
}

/* The number of the user's frame from which on the two walks differ. */
static size_t first_difference(const struct deferred *deferred, const struct sample_head *head)
{
	const uint64_t *theirs = (const uint64_t *)(head + 1) + head->kernel_count;
	const uint64_t *ours = deferred->record.frames + head->kernel_count;
	size_t i = 0;

	while (i < head->user_count && i < deferred->record.head.user_count && ours[i] == theirs[i])
		i++;
	return i;
}

/* A record whose walk is not deferred: it has begun where @from says. */
static void verify(struct deferred *deferred, const struct sample_head *head,
		   const struct sample_deferred *from, size_t stack_bytes)
{
	size_t bytes = ((size_t)head->kernel_count + head->user_count) * sizeof(uint64_t);
	struct walk_result result = finish(deferred, head, from, stack_bytes);
	enum comparison comparison = DIFFERENT;

	if ((result.found != TABLES_FOUND && !result.guessed) ||
	    result.end == UNWIND_END_NOT_COPIED)
		comparison = UNKNOWN;
	else if (result.count == head->user_count && result.end == head->end &&
		 !memcmp(deferred->record.frames, head + 1, bytes))
		comparison = EQUAL;
	profcol_metric_add(deferred->verified[comparison], 1);
	if (comparison == DIFFERENT)
		profcol_log_debug(deferred->host->logger,
				  "a stack of '%.16s' (process %" PRIu32 ") has %u frames and ends "
				  "by reason %u, walked in user space %" PRIu32 " and %d; first "
				  "different: %zu",
				  head->comm, head->pid, head->user_count, head->end, result.count,
				  result.end, first_difference(deferred, head));
}

static bool review(void *context, const void *record, size_t length)
{
	struct deferred *deferred = context;
	const struct sample_head *head = record;
	size_t stack_bytes;
	const struct sample_deferred *from = deferred_of(head, length, &stack_bytes);
	struct walk_result result;

	if (!from) {
		restore(deferred, head);
		pass_on(deferred, CUT);
		return true;
	}
	if (from->flags & SAMPLE_DEFERRED_VERIFY) {
		verify(deferred, head, from, stack_bytes);
		restore(deferred, head);
		hand_over(deferred);
		return true;
	}
	result = finish(deferred, head, from, stack_bytes);
	if (!is_over(deferred, &result))
		return false;
	// Then there is more in what the kernel side has found.
	if (result.found != TABLES_FOUND && result.count <= 1)
		restore(deferred, head);
	if (result.found != TABLES_FOUND)
		pass_on(deferred, LATE);
	else
		pass_on(deferred, result.end == UNWIND_END_ENTRY ? FINISHED : CUT);
	return true;
}

bool deferred_add(struct deferred *deferred, const void *record, size_t length)
{
	if (waiting_add(&deferred->waiting, record, length))
		return true;
	profcol_metric_add(deferred->results[NO_ROOM], 1);
	return false;
}

void deferred_release(struct deferred *deferred, uint64_t now_ns, deferred_function take,
		      void *context)
{
	if (!deferred->waiting.count)
		return;
	deferred->now_ns = now_ns;
	deferred->take = take;
	deferred->context = context;
	waiting_review(&deferred->waiting, review, deferred);
	profcol_metric_set(deferred->waiting_now, (int64_t)deferred->waiting.count);
}

void deferred_flush(struct deferred *deferred, deferred_function take, void *context)
{
	deferred_release(deferred, UINT64_MAX, take, context);
}

size_t deferred_count(const struct deferred *deferred)
{
	return deferred->waiting.count;
}

uint64_t deferred_oldest_ns(const struct deferred *deferred)
{
	const struct sample_head *head = waiting_first(&deferred->waiting);

	return head ? head->time_ns : UINT64_MAX;
}
