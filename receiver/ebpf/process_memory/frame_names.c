// SPDX-License-Identifier: Apache-2.0
#include "frame_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Names of code that may be replaced, and of threads, are read again after that. */
static const uint64_t RENEW_NS = 10000000000;
/* How long a program that names no code, or no threads, is not asked again: at first, and at
 * most. */
static const uint64_t REST_NS = 1000000000, SILENT_MOST_NS = 16000000000,
		      NO_MAP_MOST_NS = 30000000000, NO_THREADS_MOST_NS = 300000000000;

enum {
	/* From the first frame on, others of the process are waited for: at first, and at most
	 * where few come at a time, and how long it is goes by these bounds. Each request costs the
	 * same, for a frame as for twenty. */
	GATHER_NS = 2000000,
	GATHER_MOST_NS = 250000000,
	GATHER_LONGER = 4,
	GATHER_SHORTER = 16,
	RETRY_NS = 1000000000, /* what was being changed, or swapped out, may be there by then */
	PAUSE_NS = 20000000,   /* of a program that is not known yet... */
	THREADS_MOST = 128,    /* of those that are read at once: each takes longer than a frame */
	WAIT_NS = 1000000000,  /* ...and how long it is waited for */
};

void frame_names_init(struct frame_names *names, size_t most_bytes)
{
	*names = (struct frame_names){ .most_bytes = most_bytes };
	TAILQ_INIT(&names->open);
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(&names->seed, sizeof(names->seed), GRND_NONBLOCK) < 0)
		names->seed = (uintptr_t)names;
}

static struct named_process **chain_of(struct frame_names *names, uint32_t pid)
{
	return &names->chains[pid & (FRAME_NAMES_CHAINS - 1)];
}

static void set_open(struct frame_names *names, struct named_process *process)
{
	bool is_open = process->rows.wanted.count || process->asked;

	if (is_open && !process->is_open)
		TAILQ_INSERT_TAIL(&names->open, process, open);
	else if (!is_open && process->is_open)
		TAILQ_REMOVE(&names->open, process, open);
	process->is_open = is_open;
}

/* What it has, and itself. */
static void destroy(struct frame_names *names, struct named_process *process)
{
	for (size_t i = 0; i < process->rows.frames.count; i++)
		free(process->rows.frames.items[i].name);
	process->rows.wanted.count = process->asked = 0;
	set_open(names, process);
	names->bytes -= process->bytes;
	shares_take(&names->shares, process->owner, process->bytes);
	names->count--;
	frame_rows_deinit(&process->rows);
	free(process);
}

void frame_names_deinit(struct frame_names *names)
{
	for (size_t i = 0; i < FRAME_NAMES_CHAINS; i++)
		while (names->chains[i]) {
			struct named_process *process = names->chains[i];

			names->chains[i] = process->next;
			destroy(names, process);
		}
	shares_deinit(&names->shares);
}

struct named_process *frame_names_process(struct frame_names *names, const struct process_key *key)
{
	struct named_process *process = *chain_of(names, key->pid);

	while (process && !process_key_equal(&process->key, key))
		process = process->next;
	return process;
}

static void account(struct frame_names *names, struct named_process *process, size_t bytes)
{
	process->bytes += bytes;
	names->bytes += bytes;
	shares_add(&names->shares, process->owner, bytes);
}

static void account_less(struct frame_names *names, struct named_process *process, size_t bytes)
{
	process->bytes -= bytes;
	names->bytes -= bytes;
	shares_take(&names->shares, process->owner, bytes);
}

void frame_names_note_owner(struct frame_names *names, struct named_process *process,
			    struct owner owner)
{
	if (owner_is(process->owner, owner))
		return;
	shares_move(&names->shares, process->owner, owner, process->bytes);
	process->owner = owner;
}

static struct named_process *add_process(struct frame_names *names, const struct process_key *key)
{
	struct named_process **chain = chain_of(names, key->pid);
	struct named_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->key = *key;
	process->owner = OWNER_UNKNOWN;
	process->next = *chain;
	*chain = process;
	names->count++;
	account(names, process, sizeof(*process));
	return process;
}

static void drop(struct frame_names *names, struct named_process *process)
{
	struct named_process **at = chain_of(names, process->key.pid);

	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	destroy(names, process);
}

static uint32_t find_row(const struct frame_names *names, const struct named_process *process,
			 uint32_t runtime, const struct runtime_frame *frame)
{
	return frame_rows_find(&process->rows, names->seed, runtime, frame);
}

/* INTERN_MISSING without memory. */
static uint32_t add_row(struct frame_names *names, struct named_process *process, uint32_t runtime,
			const struct runtime_frame *frame)
{
	uint32_t row = frame_rows_add(&process->rows, names->seed, runtime, frame);

	if (row != INTERN_MISSING)
		account(names, process, FRAME_ROW_BYTES);
	return row;
}

/* ---- what makes room ---- */

/* The largest of @owner's, or of all when none is. */
static struct named_process *largest_of(const struct frame_names *names, struct owner owner)
{
	struct named_process *found = NULL;
	bool is_owners = false;

	for (size_t i = 0; i < FRAME_NAMES_CHAINS; i++)
		for (struct named_process *at = names->chains[i]; at; at = at->next) {
			bool own = owner_pays_with(at->owner, owner);

			if (!found || own > is_owners ||
			    (own == is_owners && at->bytes > found->bytes)) {
				found = at;
				is_owners = own;
			}
		}
	return found;
}

/* The program that loses names: the largest of the owner who has most, so that many programs of one
 * owner cost no other's. */
static struct named_process *largest(const struct frame_names *names)
{
	struct owner owner = OWNER_UNKNOWN;

	(void)shares_largest(&names->shares, 0, &owner);
	return largest_of(names, owner);
}

/* Forget the frames of @process that were not asked for lately. False: it has all still. */
static bool thin_out(struct frame_names *names, struct named_process *process)
{
	size_t bytes, count = frame_rows_thin(&process->rows, names->seed, &bytes);

	if (!count)
		return false;
	names->evicted += count;
	account_less(names, process, bytes);
	return true;
}

void frame_names_trim(struct frame_names *names)
{
	// Room for more is made, too, so that it is not made for each.
	const size_t enough = names->most_bytes - names->most_bytes / 8;

	if (names->bytes <= names->most_bytes)
		return;
	while (names->bytes > enough) {
		struct named_process *process = largest(names);

		if (thin_out(names, process))
			continue;
		names->evicted += process->rows.frames.count;
		drop(names, process);
	}
}

/* ---- what is asked ---- */

/* Another name may take the place of one that is known. */
static bool may_change(uint32_t runtime, const struct runtime_frame *frame)
{
	return runtime == RUNTIME_NONE || frame->kind == RUNTIME_THREAD;
}

static bool may_be_read(const struct named_process *process, const struct named_frame *frame,
			uint64_t now_ns)
{
	switch (frame->state) {
	case FRAME_WANTED:
	case FRAME_ASKED:
	case FRAME_ENDED:
		return false;
	case FRAME_NAMED:
		if (!may_change(frame->runtime, &frame->frame))
			return false;
		break;
	default:
		// What is gone may be made again, the same at the same place.
		break;
	}
	return now_ns >= frame->retry_ns && now_ns >= process->silent.until_ns;
}

/* The row of what is asked, which is new perhaps; INTERN_MISSING: it is not to be answered now, or
 * there is no memory, which is counted. */
static uint32_t asked_row(struct frame_names *names, struct named_process *process,
			  const struct frame_question *question, uint64_t now_ns)
{
	uint32_t row;

	if (question->runtime == RUNTIME_NONE && now_ns < process->no_map.until_ns)
		return INTERN_MISSING;
	if (question->frame.kind == RUNTIME_THREAD && now_ns < process->no_threads.until_ns)
		return INTERN_MISSING;
	row = find_row(names, process, question->runtime, &question->frame);
	if (row == INTERN_MISSING)
		row = add_row(names, process, question->runtime, &question->frame);
	names->dropped += row == INTERN_MISSING;
	return row;
}

static uint64_t later(uint64_t first_ns, uint64_t second_ns)
{
	return first_ns > second_ns ? first_ns : second_ns;
}

static uint64_t gather_ns(const struct named_process *process)
{
	return later(process->gather_ns, GATHER_NS);
}

/* Have @row read. True: of its process nothing was wanted before. */
static bool want(struct frame_names *names, struct named_process *process, uint32_t row,
		 uint64_t now_ns)
{
	if (process->rows.wanted.count >= FRAME_NAMES_WANTED ||
	    !VECTOR_PUSH(&process->rows.wanted, row)) {
		names->dropped++;
		return false;
	}
	process->rows.frames.items[row].state = FRAME_WANTED;
	set_open(names, process);
	if (process->rows.wanted.count > 1)
		return false;
	process->wanted_ns = now_ns;
	process->due_ns = later(process->rest_ns, now_ns + gather_ns(process));
	return true;
}

bool frame_names_ask(struct frame_names *names, const struct frame_question *question,
		     uint64_t now_ns)
{
	struct named_process *process = frame_names_process(names, &question->key);
	struct named_frame *frame;
	bool wanted = false;
	uint32_t row;

	if (!process)
		process = add_process(names, &question->key);
	if (!process) {
		names->dropped++;
		return false;
	}
	process->last_ns = now_ns;
	row = asked_row(names, process, question, now_ns);
	if (row == INTERN_MISSING)
		return false;
	frame = &process->rows.frames.items[row];
	if (!frame->last_ns && now_ns < process->silent.until_ns)
		frame->state = process->silent_as;
	frame->last_ns = now_ns;
	if (may_be_read(process, frame, now_ns))
		wanted = want(names, process, row, now_ns);
	return wanted || names->bytes > names->most_bytes;
}

struct named_process *frame_names_next(struct frame_names *names, uint64_t now_ns)
{
	struct named_process *process;

	TAILQ_FOREACH(process, &names->open, open)
	if (process->rows.wanted.count && !process->asked && process->due_ns <= now_ns)
		return process;
	return NULL;
}

uint64_t frame_names_due_ns(const struct frame_names *names)
{
	const struct named_process *process;
	uint64_t due_ns = UINT64_MAX;

	TAILQ_FOREACH(process, &names->open, open)
	if (process->rows.wanted.count && !process->asked && process->due_ns < due_ns)
		due_ns = process->due_ns;
	return due_ns;
}

bool frame_names_hurry(struct frame_names *names)
{
	struct named_process *process;
	bool earlier = false;

	TAILQ_FOREACH(process, &names->open, open)
	if (process->rows.wanted.count && process->due_ns > process->rest_ns) {
		process->due_ns = process->rest_ns;
		earlier |= !process->asked;
	}
	return earlier;
}

static int compare_objects(const void *left, const void *right)
{
	const struct runtime_frame *a = left, *b = right;

	return a->object < b->object ? -1 : a->object > b->object;
}

static bool is_thread(const struct named_process *process, size_t wanted)
{
	uint32_t row = process->rows.wanted.items[wanted];

	return process->rows.frames.items[row].frame.kind == RUNTIME_THREAD;
}

/* The first one that is to be read: a frame, or else a thread, which takes longer. */
static size_t first_wanted(const struct named_process *process)
{
	for (size_t i = 0; i < process->rows.wanted.count; i++)
		if (!is_thread(process, i))
			return i;
	return 0;
}

size_t frame_names_take(struct named_process *process, uint32_t *runtime_ret,
			struct runtime_frame *frames, size_t most)
{
	size_t first = first_wanted(process), taken = 0, kept = 0;
	bool threads = is_thread(process, first);
	uint32_t runtime = process->rows.frames.items[process->rows.wanted.items[first]].runtime;

	if (threads && most > THREADS_MOST)
		most = THREADS_MOST;
	for (size_t i = 0; i < process->rows.wanted.count; i++) {
		uint32_t row = process->rows.wanted.items[i];
		struct named_frame *frame = &process->rows.frames.items[row];

		if (frame->runtime != runtime || is_thread(process, i) != threads ||
		    taken == most) {
			process->rows.wanted.items[kept++] = row;
			continue;
		}
		frame->state = FRAME_ASKED;
		frames[taken++] = frame->frame;
	}
	process->rows.wanted.count = kept;
	process->asked = taken;
	process->asked_ns = process->wanted_ns;
	qsort(frames, taken, sizeof(*frames), compare_objects);
	*runtime_ret = runtime;
	return taken;
}

bool frame_names_postpone(struct frame_names *names, struct named_process *process,
			  uint32_t runtime, const struct runtime_frame *frames, size_t count,
			  uint64_t now_ns)
{
	if (now_ns > process->asked_ns + WAIT_NS || !VECTOR_RESERVE(&process->rows.wanted, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t row = find_row(names, process, runtime, &frames[i]);

		if (row == INTERN_MISSING || process->rows.frames.items[row].state != FRAME_ASKED)
			continue;
		process->rows.frames.items[row].state = FRAME_WANTED;
		process->rows.wanted.items[process->rows.wanted.count++] = row;
		process->asked--;
	}
	process->wanted_ns = process->asked_ns;
	process->due_ns = process->rest_ns = now_ns + PAUSE_NS;
	set_open(names, process);
	return true;
}

/* From @now_ns on, twice as long as the last time, up to @most_ns. */
static void rest_longer(struct names_rest *rest, uint64_t now_ns, uint64_t most_ns)
{
	uint64_t length_ns = rest->length_ns ? 2 * rest->length_ns : REST_NS;

	rest->length_ns = length_ns < most_ns ? length_ns : most_ns;
	rest->until_ns = now_ns + rest->length_ns;
}

/* A program whose threads have no names that can be read, as with collectors that are not known, is
 * asked less and less often. Where one was read, those that are malformed are about to end. */
static void note_thread(struct named_process *process, enum frame_state state, uint64_t now_ns)
{
	if (state == FRAME_NAMED) {
		process->no_threads.length_ns = 0;
		process->has_thread_names = true;
	} else if (state == FRAME_MALFORMED && now_ns >= process->no_threads.until_ns) {
		// Several are read at once: that is one time.
		rest_longer(&process->no_threads, now_ns,
			    process->has_thread_names ? REST_NS : NO_THREADS_MOST_NS);
	}
}

void frame_names_learn(struct frame_names *names, struct named_process *process, uint32_t runtime,
		       const struct runtime_frame *frame, enum frame_state state,
		       struct frame_name *name, uint64_t now_ns)
{
	uint32_t row = find_row(names, process, runtime, frame);
	struct named_frame *learned =
		row == INTERN_MISSING ? NULL : &process->rows.frames.items[row];

	// After the process was forgotten, and met again, it may be another one that is asked for.
	if (!learned || learned->state != FRAME_ASKED) {
		free(name);
		return;
	}
	learned->retry_ns = now_ns + (name && may_change(runtime, frame) ? RENEW_NS : RETRY_NS);
	// What had a name keeps it where nothing else has taken its place.
	learned->state = name || !learned->name ? state : FRAME_NAMED;
	if (name) {
		account(names, process, name->bytes);
		if (learned->name)
			account_less(names, process, learned->name->bytes);
		free(learned->name);
		learned->name = name;
	}
	if (frame->kind == RUNTIME_THREAD)
		note_thread(process, state, now_ns);
	process->asked--;
	set_open(names, process);
}

/* Objects move, and end: who waits longer finds fewer of them. */
static void fit_gathering(struct named_process *process, size_t count, size_t gone)
{
	uint64_t most = process->gather_most_ns ? process->gather_most_ns : GATHER_MOST_NS;
	uint64_t length = gather_ns(process);

	if (gone) {
		if (length > GATHER_NS)
			process->gather_most_ns = length / 2;
		length = GATHER_NS;
	} else if (count && count <= GATHER_LONGER) {
		length = 2 * length < most ? 2 * length : most;
	} else if (count > GATHER_SHORTER) {
		length /= 2;
	}
	process->gather_ns = length;
}

void frame_names_note_answer(struct named_process *process, size_t count, size_t gone,
			     uint64_t rest_ns)
{
	process->silent.length_ns = 0;
	fit_gathering(process, count, gone);
	process->rest_ns = rest_ns;
	process->due_ns = later(process->due_ns, rest_ns);
}

void frame_names_note_map(const struct frame_names *names, struct named_process *process,
			  const struct runtime_frame *frames, size_t count,
			  struct code_map_state state)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t row = find_row(names, process, RUNTIME_NONE, &frames[i]);

		if (row != INTERN_MISSING)
			process->rows.frames.items[row].map = state;
	}
}

void frame_names_note_no_map(struct named_process *process, uint64_t now_ns)
{
	rest_longer(&process->no_map, now_ns, NO_MAP_MOST_NS);
}

bool frame_names_know_map(const struct frame_names *names, const struct named_process *process,
			  const struct runtime_frame *frames, size_t count,
			  struct code_map_state state)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t row = find_row(names, process, RUNTIME_NONE, &frames[i]);

		if (row == INTERN_MISSING ||
		    !code_map_state_equal(process->rows.frames.items[row].map, state))
			return false;
	}
	return true;
}

static void give_up(struct named_process *process, uint32_t row, enum frame_state state,
		    uint64_t now_ns)
{
	struct named_frame *frame = &process->rows.frames.items[row];

	frame->state = frame->name ? FRAME_NAMED : state;
	frame->retry_ns = now_ns + RETRY_NS;
}

void frame_names_give_up(struct frame_names *names, struct named_process *process,
			 enum frame_state state, uint64_t until_ns, uint64_t now_ns)
{
	process->silent.until_ns = until_ns;
	process->silent_as = state;
	for (size_t i = 0; i < process->rows.wanted.count; i++)
		give_up(process, process->rows.wanted.items[i], state, now_ns);
	process->rows.wanted.count = 0;
	set_open(names, process);
}

void frame_names_fall_silent(struct frame_names *names, struct named_process *process,
			     enum frame_state state, uint64_t now_ns)
{
	struct names_rest *silent = &process->silent;
	bool for_good = silent->length_ns >= SILENT_MOST_NS;

	rest_longer(silent, now_ns, SILENT_MOST_NS);
	frame_names_give_up(names, process, state, for_good ? UINT64_MAX : silent->until_ns,
			    now_ns);
}

void frame_names_rest_threads(struct frame_names *names, struct named_process *process,
			      enum frame_state state, uint64_t now_ns)
{
	size_t kept = 0;

	rest_longer(&process->no_threads, now_ns, NO_THREADS_MOST_NS);
	for (size_t i = 0; i < process->rows.wanted.count; i++) {
		uint32_t row = process->rows.wanted.items[i];

		if (is_thread(process, i))
			give_up(process, row, state, now_ns);
		else
			process->rows.wanted.items[kept++] = row;
	}
	process->rows.wanted.count = kept;
	set_open(names, process);
}

bool frame_names_are_settled(const struct frame_names *names, uint64_t time_ns, uint64_t until_ns)
{
	const struct named_process *process;

	TAILQ_FOREACH(process, &names->open, open)
	if ((process->asked && process->asked_ns <= time_ns) ||
	    (process->rows.wanted.count && process->wanted_ns <= time_ns &&
	     (process->asked || process->due_ns <= until_ns)))
		return false;
	return true;
}

enum frame_state frame_names_find(const struct frame_names *names,
				  const struct frame_question *question,
				  const struct frame_name **name_ret)
{
	const struct named_process *process =
		names->chains[question->key.pid & (FRAME_NAMES_CHAINS - 1)];
	uint32_t row;

	while (process && !process_key_equal(&process->key, &question->key))
		process = process->next;
	row = process ? find_row(names, process, question->runtime, &question->frame)
		      : INTERN_MISSING;
	if (row == INTERN_MISSING)
		return FRAME_CROWDED;
	*name_ret = process->rows.frames.items[row].name;
	return *name_ret ? FRAME_NAMED : process->rows.frames.items[row].state;
}

void frame_names_forget(struct frame_names *names, uint64_t time_ns)
{
	for (size_t i = 0; i < FRAME_NAMES_CHAINS; i++)
		for (struct named_process *at = names->chains[i], *next; at; at = next) {
			next = at->next;
			if (at->last_ns < time_ns && !at->asked)
				drop(names, at);
		}
}
