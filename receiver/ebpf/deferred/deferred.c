// SPDX-License-Identifier: Apache-2.0
#include "deferred.h"

#include "walk.h"

#include "base/base.h"

#include <inttypes.h>
#include <string.h>

/* A second of first samples on some sixteen CPUs, with stacks of usual depth; and of one process.
 */
enum { MOST_BYTES = 4 << 20, MOST_BYTES_OF_PROCESS = MOST_BYTES / 8 };

/* What is missing comes in some milliseconds, or is slow. */
static const uint64_t FIRST_PAUSE_NS = 10000000, LONGEST_PAUSE_NS = 320000000;

enum outcome { FINISHED, CUT, LATE, NO_ROOM, OUTCOMES };
enum comparison { EQUAL, DIFFERENT, UNKNOWN, COMPARISONS };
enum walked { AT_ONCE, LATER, WALKED };

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

static const char *const walked[WALKED] = {
	[AT_ONCE] = "walked=at_once", [LATER] = "walked=later", /* more had to be known of the code:
								   counted as deferred, too */
};

/* A record that waits. */
struct item {
	struct sample_head *record; /* owned */
	size_t length;
	uint64_t added_ns;
	uint64_t due_ns;   /* when to look again */
	uint64_t pause_ns; /* after the next look */
};

struct deferred {
	const struct profcol_host *host;
	struct tables *tables;
	struct deferred_options options;
	struct profcol_metric *results[OUTCOMES], *waiting_now, *copied[WALKED];
	struct profcol_metric *verified[COMPARISONS]; /* only if that is asked for */
	VECTOR(struct item) items;                    /* in the order they came */
	size_t bytes;                                 /* of their records */

	/* Of one round: */
	uint64_t now_ns; /* UINT64_MAX: nobody waits any longer */
	deferred_function take;
	void *context;
	const struct sample_head *head; /* of the walk under way */
	struct {
		struct sample_head head;
		uint64_t frames[SAMPLE_MAX_WORDS + SAMPLE_MAX_LABEL_BYTES / sizeof(uint64_t)];
	} record;           /* as it goes on */
	const void *labels; /* at the end of the one that came; its head says how many bytes */
	bool is_copied;     /* by a copy of the whole stack */
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
	for (size_t i = 0; i < OUTCOMES; i++)
		deferred->results[i] =
			host->metric(host, PROFCOL_COUNTER, "unwind_deferred_stacks", outcomes[i],
				     "Stacks whose code was unknown when they were sampled, by "
				     "what became of them");
	for (size_t i = 0; i < WALKED; i++)
		deferred->copied[i] =
			host->metric(host, PROFCOL_COUNTER, "unwind_copied_stacks", walked[i],
				     "Stacks that were copied whole when they were sampled, to be "
				     "walked in user space");
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
	for (size_t i = 0; i < deferred->items.count; i++)
		free(deferred->items.items[i].record);
	VECTOR_DEINIT(&deferred->items);
	free(deferred);
}

/* ---- one walk ---- */

static struct process_key key_of(const struct sample_head *head)
{
	return (struct process_key){ head->pid, head->exec_id, head->start_boottime_ns };
}

static enum tables_found find_code(void *context, uint64_t address, struct tables_code *ret)
{
	struct deferred *deferred = context;
	const struct sample_head *head = deferred->head;
	struct process_key key = key_of(head);

	return tables_find_code(deferred->tables, &key, head->time_ns, address, ret);
}

static const struct unwind_rule *find_rule(void *context, uint32_t number)
{
	struct deferred *deferred = context;

	return tables_rule(deferred->tables, number);
}

/* What follows the frames of @head, a record of @length bytes; NULL when they do not add up. */
static const struct sample_deferred *deferred_of(const struct sample_head *head, size_t length,
						 size_t *stack_bytes_ret)
{
	size_t frames = (size_t)head->kernel_count + head->user_words;
	size_t begin = sizeof(*head) + frames * sizeof(uint64_t);
	const struct sample_deferred *ret = (const void *)((const uint8_t *)head + begin);

	if (head->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    head->user_words > SAMPLE_MAX_USER_WORDS ||
	    head->label_bytes > SAMPLE_MAX_LABEL_BYTES || length < begin + sizeof(*ret) ||
	    head->deferred_bytes < sizeof(*ret) ||
	    begin + head->deferred_bytes + head->label_bytes != length ||
	    ret->user_words > head->user_words)
		return NULL;
	*stack_bytes_ret = head->deferred_bytes - sizeof(*ret);
	return ret;
}

/* Was there no more to be copied? Then it is not for that when a walk cannot read on. Where nobody
 * tried, there may be more. */
static bool has_all(const struct deferred *deferred, const struct sample_deferred *from,
		    size_t stack_bytes)
{
	return !(from->flags & SAMPLE_DEFERRED_WHOLE) &&
	       stack_bytes + SAMPLE_STACK_PIECE_BYTES <= deferred->options.stack_bytes;
}

/* How many frames the first @words of the user's are. */
static uint32_t count_frames(const struct sample_head *head, uint32_t words)
{
	const uint64_t *user = (const uint64_t *)(head + 1) + head->kernel_count;
	uint32_t count = 0;

	for (uint32_t at = 0; at < words; count++)
		at += unwind_frame_is_wide(user[at]) ? 2 : 1;
	return count;
}

/* The record that goes on begins as @head, whose labels it will have. */
static void begin_record(struct deferred *deferred, const struct sample_head *head)
{
	const uint64_t *frames = (const uint64_t *)(head + 1);

	deferred->record.head = *head;
	deferred->record.head.deferred_bytes = 0;
	deferred->labels = (const uint8_t *)(frames + head->kernel_count + head->user_words) +
			   head->deferred_bytes;
}

/* By @tables into the record that goes on; returns how the walk has ended. */
static struct walk_result finish_by(struct deferred *deferred, const struct walk_tables *tables,
				    const struct sample_head *head,
				    const struct sample_deferred *from, size_t stack_bytes)
{
	uint32_t known = head->kernel_count + from->user_words;
	uint32_t before = count_frames(head, from->user_words);
	uint32_t most = deferred->options.depth > before ? deferred->options.depth - before : 0;
	struct walk_result result;

	result = walk_finish(from, stack_bytes, has_all(deferred, from, stack_bytes), tables,
			     deferred->record.frames + known, most);
	begin_record(deferred, head);
	memcpy(deferred->record.frames, head + 1, known * sizeof(uint64_t));
	deferred->record.head.user_words = (uint16_t)(from->user_words + result.count);
	deferred->record.head.end = (uint16_t)result.end;
	deferred->is_copied = from->flags & SAMPLE_DEFERRED_WHOLE;
	return result;
}

static struct walk_result finish(struct deferred *deferred, const struct sample_head *head,
				 const struct sample_deferred *from, size_t stack_bytes)
{
	struct walk_tables tables = { find_code, find_rule, deferred };

	deferred->head = head;
	return finish_by(deferred, &tables, head, from, stack_bytes);
}

/* The record as it came, but for the deferred walk. */
static void restore(struct deferred *deferred, const struct sample_head *head)
{
	begin_record(deferred, head);
	deferred->is_copied = false;
	memcpy(deferred->record.frames, head + 1,
	       ((size_t)head->kernel_count + head->user_words) * sizeof(uint64_t));
}

static void hand_over(struct deferred *deferred)
{
	const struct sample_head *head = &deferred->record.head;
	size_t words = (size_t)head->kernel_count + head->user_words;
	struct process_key key = key_of(head);

	// On another stack than the thread began with, or where code had to be looked at: the
	// kernel side will do better.
	if (deferred->is_copied &&
	    (head->end == UNWIND_END_NOT_COPIED || head->end == UNWIND_END_GUESSED ||
	     head->end == UNWIND_END_BAD_POINTER))
		tables_copy_no_more(deferred->tables, &key);
	memcpy(deferred->record.frames + words, deferred->labels, head->label_bytes);
	deferred->take(deferred->context, &deferred->record,
		       sizeof(*head) + words * sizeof(uint64_t) + head->label_bytes);
}

static void pass_on(struct deferred *deferred, enum outcome outcome)
{
	profcol_metric_add(deferred->results[outcome], 1);
	hand_over(deferred);
}

/* ---- those that wait ---- */

/*
 * Is there nothing to wait for? What the program is not known to have had, when all is known of
 * that time, it did not have; and what has not come in so long does not come.
 */
static bool is_over(const struct deferred *deferred, const struct walk_result *result)
{
	return result->found == TABLES_FOUND || result->found == TABLES_NO_CODE ||
	       result->found == TABLES_IN_PROCESS ||
	       deferred->now_ns > deferred->head->time_ns + DEFERRED_WAIT_NS;
}

static enum outcome outcome_of(const struct walk_result *result)
{
	if (result->found == TABLES_FOUND)
		return result->end == UNWIND_END_ENTRY ? FINISHED : CUT;
	return result->found == TABLES_NO_CODE || result->found == TABLES_IN_PROCESS ? CUT : LATE;
}

/* The number of the user's frame from which on the two walks differ. */
static size_t first_difference(const struct deferred *deferred, const struct sample_head *head)
{
	const uint64_t *theirs = (const uint64_t *)(head + 1) + head->kernel_count;
	const uint64_t *ours = deferred->record.frames + head->kernel_count;
	size_t i = 0;

	while (i < head->user_words && i < deferred->record.head.user_words && ours[i] == theirs[i])
		i++;
	return i;
}

/* Did the kernel side have the process's present ranges when it took @head's sample? Else it may
 * have missed code. */
static bool was_told(const struct deferred *deferred, const struct sample_head *head)
{
	struct process_key key = key_of(head);
	struct tables_walk walk;

	if (!tables_begin_walk(deferred->tables, &key, head->time_ns, &walk))
		return false;
	tables_end_walk(&walk);
	return true;
}

/* @head, whose walk was not deferred, was walked here, too, as the record that goes on has it. */
static void verify(struct deferred *deferred, const struct sample_head *head,
		   const struct walk_result *result)
{
	size_t bytes = ((size_t)head->kernel_count + head->user_words) * sizeof(uint64_t);
	enum comparison comparison = DIFFERENT;

	if ((result->found != TABLES_FOUND && !result->guessed) ||
	    result->found == TABLES_IN_PROCESS || result->end == UNWIND_END_NOT_COPIED ||
	    result->end == UNWIND_END_BAD_POINTER || result->marked ||
	    (head->end == UNWIND_END_NO_MAPPING && !was_told(deferred, head)))
		comparison = UNKNOWN;
	else if (result->count == head->user_words && result->end == head->end &&
		 !memcmp(deferred->record.frames, head + 1, bytes))
		comparison = EQUAL;
	profcol_metric_add(deferred->verified[comparison], 1);
	if (comparison == DIFFERENT)
		profcol_log_debug(deferred->host->logger,
				  "a stack of '%.16s' (process %" PRIu32 ") has %u frames and ends "
				  "by reason %u, walked in user space %" PRIu32 " and %d; first "
				  "different: %zu",
				  head->comm, head->pid, head->user_words, head->end, result->count,
				  result->end, first_difference(deferred, head));
}

/* True when it has gone on. */
static bool review(struct deferred *deferred, const struct item *item)
{
	const struct sample_head *head = item->record;
	size_t stack_bytes;
	const struct sample_deferred *from = deferred_of(head, item->length, &stack_bytes);
	struct walk_result result = finish(deferred, head, from, stack_bytes);

	if (from->flags & SAMPLE_DEFERRED_VERIFY) {
		verify(deferred, head, &result);
		restore(deferred, head);
		hand_over(deferred);
		return true;
	}
	if (!is_over(deferred, &result))
		return false;
	// What the kernel side has found may be more, if it has looked.
	if (!deferred->is_copied && result.found != TABLES_FOUND &&
	    deferred->record.head.user_words <= head->user_words)
		restore(deferred, head);
	pass_on(deferred, outcome_of(&result));
	return true;
}

static size_t bytes_of_process(const struct deferred *deferred, const struct sample_head *head)
{
	size_t bytes = 0;

	for (size_t i = 0; i < deferred->items.count; i++)
		if (deferred->items.items[i].record->pid == head->pid)
			bytes += deferred->items.items[i].length;
	return bytes;
}

static bool keep(struct deferred *deferred, const struct sample_head *head, size_t length,
		 uint64_t now_ns)
{
	struct item item = {
		.length = length,
		.added_ns = now_ns,
		.due_ns = now_ns,
		.pause_ns = FIRST_PAUSE_NS,
	};

	if (deferred->bytes + length > MOST_BYTES ||
	    bytes_of_process(deferred, head) + length > MOST_BYTES_OF_PROCESS ||
	    !VECTOR_RESERVE(&deferred->items, 1))
		return false;
	item.record = malloc(length);
	if (!item.record)
		return false;
	memcpy(item.record, head, length);
	deferred->items.items[deferred->items.count++] = item;
	deferred->bytes += length;
	return true;
}

/* ---- those that need not wait ---- */

static enum tables_found find_at_once(void *context, uint64_t address, struct tables_code *ret)
{
	struct tables_walk *walk = context;

	return tables_walk_find(walk, address, ret);
}

static const struct unwind_rule *rule_at_once(void *context, uint32_t number)
{
	const struct tables_walk *walk = context;

	return tables_rule(walk->tables, number);
}

/* As finish(), by what the kernel side would have gone by. False: something is missing. */
static bool finish_at_once(struct deferred *deferred, const struct sample_head *head,
			   const struct sample_deferred *from, size_t stack_bytes,
			   struct walk_result *result)
{
	struct tables_walk walk;
	struct walk_tables tables = { find_at_once, rule_at_once, &walk };
	struct process_key key = key_of(head);

	if (!tables_begin_walk(deferred->tables, &key, head->time_ns, &walk))
		return false;
	*result = finish_by(deferred, &tables, head, from, stack_bytes);
	tables_end_walk(&walk);
	// A frame pointer may lead anywhere.
	return result->found == TABLES_FOUND ||
	       (result->found == TABLES_NO_CODE && result->guessed);
}

/* Has nobody looked how the stack goes on? */
static bool is_unwalked(const struct sample_deferred *from)
{
	return from->flags & (SAMPLE_DEFERRED_WHOLE | SAMPLE_DEFERRED_READ);
}

/* True when it has gone on. */
static bool take_at_once(struct deferred *deferred, const struct sample_head *head,
			 const struct sample_deferred *from, size_t stack_bytes)
{
	bool is_copied = from->flags & SAMPLE_DEFERRED_WHOLE, done;
	struct walk_result result;

	if (!is_unwalked(from) && !(from->flags & SAMPLE_DEFERRED_VERIFY))
		return false;
	done = finish_at_once(deferred, head, from, stack_bytes, &result);
	if (is_copied)
		profcol_metric_add(deferred->copied[done ? AT_ONCE : LATER], 1);
	else if (done && from->flags & SAMPLE_DEFERRED_VERIFY)
		verify(deferred, head, &result);
	if (!done || !is_unwalked(from))
		return false;
	hand_over(deferred);
	return true;
}

static void take_without_room(struct deferred *deferred, const struct sample_head *head,
			      const struct sample_deferred *from, size_t stack_bytes)
{
	if (is_unwalked(from))
		(void)finish(deferred, head, from, stack_bytes);
	else
		restore(deferred, head);
	pass_on(deferred, NO_ROOM);
}

bool deferred_take(struct deferred *deferred, const void *record, size_t length, uint64_t now_ns,
		   deferred_function take, void *context)
{
	const struct sample_head *head = record;
	const struct sample_deferred *from = NULL;
	size_t stack_bytes;

	deferred->take = take;
	deferred->context = context;
	if (length >= sizeof(*head))
		from = deferred_of(head, length, &stack_bytes);
	if (!from) {
		take(context, record, length);
		return false;
	}
	if (take_at_once(deferred, head, from, stack_bytes))
		return false;
	if (keep(deferred, head, length, now_ns))
		return true;
	take_without_room(deferred, head, from, stack_bytes);
	return false;
}

/* All that was told before it came must be known: else an older program's code answers. */
static bool is_due(const struct deferred *deferred, const struct item *item, uint64_t known_ns)
{
	if (deferred->now_ns > item->record->time_ns + DEFERRED_WAIT_NS)
		return true;
	return known_ns > item->added_ns && known_ns > item->record->time_ns &&
	       deferred->now_ns >= item->due_ns;
}

void deferred_release(struct deferred *deferred, uint64_t now_ns, uint64_t known_ns,
		      deferred_function take, void *context)
{
	size_t kept = 0;

	deferred->now_ns = now_ns;
	deferred->take = take;
	deferred->context = context;
	for (size_t i = 0; i < deferred->items.count; i++) {
		struct item item = deferred->items.items[i];

		if (is_due(deferred, &item, known_ns)) {
			if (review(deferred, &item)) {
				deferred->bytes -= item.length;
				free(item.record);
				continue;
			}
			item.due_ns = now_ns + item.pause_ns;
			if (item.pause_ns < LONGEST_PAUSE_NS)
				item.pause_ns *= 2;
		}
		deferred->items.items[kept++] = item;
	}
	deferred->items.count = kept;
	profcol_metric_set(deferred->waiting_now, (int64_t)kept);
}

void deferred_flush(struct deferred *deferred, deferred_function take, void *context)
{
	deferred_release(deferred, UINT64_MAX, UINT64_MAX, take, context);
}

size_t deferred_count(const struct deferred *deferred)
{
	return deferred->items.count;
}
