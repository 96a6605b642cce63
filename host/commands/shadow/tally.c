// SPDX-License-Identifier: Apache-2.0
#include "tally.h"

#include "profile/profile.h"

#include <errno.h>
#include <string.h>

enum {
	PROCESSES_MAX = 1 << 16,
	ROWS_MAX = 1 << 20,
	WAITING_MAX = 1 << 21, /* of 16 bytes */
};

/* However often batches come, what waits is gone through once for so much time of theirs. */
static const uint64_t settle_step_ns = 1000000000;

struct waiting {
	uint64_t time_ns;
	uint32_t row;
	uint32_t count;
};

struct tally_table {
	VECTOR(struct tally_row) rows;
	struct intern index;
	VECTOR(struct waiting) waiting;
};

/* ---- processes ---- */

struct process_key {
	int64_t pid;
	uint32_t label; /* the executable; of one without a number, whatever it has */
	uint32_t zero;
};

struct process_lookup {
	const struct tally *tally;
	struct process_key key;
};

static uint32_t process_label(const struct tally_process *process)
{
	return process->service      ? process->service
	       : process->executable ? process->executable
				     : process->container;
}

static struct process_key process_key(const struct tally_process *process)
{
	return (struct process_key){
		.pid = process->pid,
		.label = process->pid < 0 ? process_label(process) : process->executable,
	};
}

static uint32_t process_hash(const struct tally *tally, const struct process_key *key)
{
	return intern_hash_seeded(key, sizeof(*key), tally->places.seed);
}

static bool process_equal(uint32_t id, const void *context)
{
	const struct process_lookup *lookup = context;
	struct process_key key = process_key(&lookup->tally->processes.items[id]);

	return !memcmp(&key, &lookup->key, sizeof(key));
}

static bool newest_equal(uint32_t slot, const void *context)
{
	const struct process_lookup *lookup = context;
	const struct tally *tally = lookup->tally;

	return tally->processes.items[tally->newest.items[slot]].pid == lookup->key.pid;
}

/* The last that has got @pid, to be set; NULL when none has. */
static uint32_t *find_newest(struct tally *tally, int64_t pid)
{
	struct process_lookup lookup = { .tally = tally, .key = { .pid = pid } };
	uint32_t slot = intern_find(&tally->newest_index, process_hash(tally, &lookup.key),
				    newest_equal, &lookup);

	return slot == INTERN_MISSING ? NULL : &tally->newest.items[slot];
}

static bool set_newest(struct tally *tally, int64_t pid, uint32_t process)
{
	const struct process_key key = { .pid = pid };
	uint32_t *newest = find_newest(tally, pid);

	if (newest) {
		*newest = process;
		return true;
	}
	return VECTOR_PUSH(&tally->newest, process) &&
	       intern_insert(&tally->newest_index, process_hash(tally, &key),
			     (uint32_t)tally->newest.count - 1);
}

static uint32_t attribute_text(struct tally *tally, const struct profcol_batch *batch,
			       uint32_t list, const char *key, bool *refused)
{
	struct profcol_value value = stacks_attribute(batch, list, key);
	struct profcol_text text = { .bytes = "" };
	uint32_t id;

	if (value.type == PROFCOL_VALUE_STRING)
		text = profcol_batch_string(batch, value.string);
	id = places_add_text(&tally->places, text.bytes, text.length);
	*refused = *refused || (text.length && !id);
	return id;
}

static struct tally_process read_process(struct tally *tally, const struct profcol_batch *batch,
					 uint32_t list)
{
	struct profcol_value pid = stacks_attribute(batch, list, "process.pid");
	struct tally_process process = { .pid = -1 };
	bool *refused = &process.refused;

	if (pid.type == PROFCOL_VALUE_INT && pid.integer >= 0)
		process.pid = pid.integer;
	process.service = attribute_text(tally, batch, list, "service.name", refused);
	process.executable = attribute_text(tally, batch, list, "process.executable.name", refused);
	process.container = attribute_text(tally, batch, list, "container.id", refused);
	return process;
}

/* INTERN_MISSING without room. */
static uint32_t new_process(struct tally *tally, const struct tally_process *process,
			    const struct process_key *key)
{
	uint32_t id = (uint32_t)tally->processes.count;

	if (id >= PROCESSES_MAX || !VECTOR_PUSH(&tally->processes, *process))
		return INTERN_MISSING;
	if (intern_insert(&tally->process_index, process_hash(tally, key), id) &&
	    (process->pid < 0 || set_newest(tally, process->pid, id)))
		return id;
	return INTERN_MISSING;
}

/* Whom @process is to join, which has no equal yet; INTERN_MISSING when it is another one. */
static uint32_t find_nameless(struct tally *tally, const struct tally_process *process,
			      const struct process_key *key)
{
	const uint32_t *newest = process->pid >= 0 ? find_newest(tally, process->pid) : NULL;

	if (!newest)
		return INTERN_MISSING;
	if (!process->executable)
		return *newest;
	// It gets its name now, and is to be found by it.
	if (tally->processes.items[*newest].executable ||
	    !intern_insert(&tally->process_index, process_hash(tally, key), *newest))
		return INTERN_MISSING;
	return *newest;
}

/* What one side does not say the other may: 0 is nothing. INTERN_MISSING without room. */
static uint32_t add_process(struct tally *tally, const struct profcol_batch *batch, uint32_t list)
{
	struct tally_process process = read_process(tally, batch, list), *known;
	struct process_lookup lookup = { .tally = tally, .key = process_key(&process) };
	uint32_t id = INTERN_MISSING;

	if (process.pid < 0 || process.executable)
		id = intern_find(&tally->process_index, process_hash(tally, &lookup.key),
				 process_equal, &lookup);
	if (id == INTERN_MISSING)
		id = find_nameless(tally, &process, &lookup.key);
	if (id == INTERN_MISSING)
		return new_process(tally, &process, &lookup.key);
	known = &tally->processes.items[id];
	// The key of one without a number is made of these.
	if (known->pid >= 0) {
		known->service = known->service ? known->service : process.service;
		known->executable = known->executable ? known->executable : process.executable;
		known->container = known->container ? known->container : process.container;
	}
	return id;
}

/* ---- rows ---- */

struct row_lookup {
	const struct tally_table *table;
	const struct tally_row *row;
};

static bool row_equal(uint32_t id, const void *context)
{
	const struct row_lookup *lookup = context;
	const struct tally_row *known = &lookup->table->rows.items[id], *row = lookup->row;

	return known->process == row->process && known->leaf == row->leaf &&
	       known->end == row->end && known->how == row->how;
}

/* INTERN_MISSING without room. */
static uint32_t add_row(struct tally_table *table, const struct tally_row *row, uint64_t seed)
{
	const uint32_t key[] = { row->process, row->leaf, row->end, row->how };
	struct row_lookup lookup = { .table = table, .row = row };
	uint32_t hash = intern_hash_seeded(key, sizeof(key), seed);
	uint32_t id = intern_find(&table->index, hash, row_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)table->rows.count;
	if (id >= ROWS_MAX || !VECTOR_RESERVE(&table->rows, 1) ||
	    !intern_insert(&table->index, hash, id))
		return INTERN_MISSING;
	table->rows.items[table->rows.count++] = *row;
	return id;
}

/* ---- the time that both have covered ---- */

/* Count what lies before @until_ns; the rest goes on waiting. */
static void settle(struct tally *tally, enum tally_side side, uint64_t until_ns)
{
	struct tally_table *table = &tally->tables[side];
	size_t kept = 0;

	for (size_t i = 0; i < table->waiting.count; i++) {
		struct waiting *waiting = &table->waiting.items[i];

		if (waiting->time_ns >= until_ns) {
			table->waiting.items[kept++] = *waiting;
			continue;
		}
		table->rows.items[waiting->row].count += waiting->count;
		tally->figures[side].inside += waiting->count;
	}
	table->waiting.count = kept;
}

static uint64_t covered_by_both(const struct tally *tally)
{
	uint64_t until_ns = tally->to_ns;

	for (int side = 0; side < TALLY_SIDES; side++)
		if (tally->figures[side].covered_ns < until_ns)
			until_ns = tally->figures[side].covered_ns;
	return until_ns;
}

/* ---- one batch ---- */

struct adding {
	struct tally *tally;
	enum tally_side side;
	const struct profcol_batch *batch;
	struct stacks stacks;
	uint32_t process;
	bool counts_samples; /* the resource: CPU time beside it says the same once more */
	uint64_t now_ns;
	uint64_t last_ns;  /* the latest time that it tells of */
	uint64_t observed; /* of samples of CPU time */
	uint64_t others;   /* events of which nothing is observed */
};

static void observe(struct adding *adding, const struct tally_row *row, uint64_t time_ns,
		    uint64_t count)
{
	struct tally *tally = adding->tally;
	struct tally_side_figures *figures = &tally->figures[adding->side];
	struct tally_table *table = &tally->tables[adding->side];
	struct waiting waiting = { .time_ns = time_ns, .count = (uint32_t)count };

	adding->observed += count;
	if (time_ns > adding->last_ns)
		adding->last_ns = time_ns;
	if (!tally->from_ns || time_ns < tally->from_ns) {
		figures->before += count;
		return;
	}
	if (time_ns >= tally->to_ns) {
		figures->after += count;
		return;
	}
	waiting.row = row->process == INTERN_MISSING ? INTERN_MISSING
						     : add_row(table, row, tally->places.seed);
	if (waiting.row == INTERN_MISSING || table->waiting.count >= WAITING_MAX ||
	    !VECTOR_PUSH(&table->waiting, waiting))
		figures->unplaced += count;
}

static bool text_is(const struct profcol_batch *batch, uint32_t id, const char *text)
{
	return !strcmp(profcol_batch_string(batch, id).bytes, text);
}

/* The time between two samples of a CPU; 0 = not said in a way that is understood. */
static uint64_t period_ns(const struct profcol_batch *batch, const struct profcol_profile *profile)
{
	return profile->period > 0 && text_is(batch, profile->period_unit, "nanoseconds")
		       ? (uint64_t)profile->period
		       : 0;
}

/* Observations in a sample without time stamps: its value is their count, or their CPU time. */
static uint64_t untimed_count(const struct profcol_sample *sample, bool counts_samples,
			      uint64_t period)
{
	uint64_t value;

	if (counts_samples)
		return profile_sample_events(sample, true);
	value = sample->value_count && sample->values[0] > 0 ? (uint64_t)sample->values[0] : 0;
	value = value / period + (value % period >= period - value % period);
	return value < UINT32_MAX ? value : UINT32_MAX;
}

static void add_sample(struct adding *adding, const struct profcol_profile *profile,
		       const struct profcol_sample *sample, bool counts_samples)
{
	struct tally_side_figures *figures = &adding->tally->figures[adding->side];
	uint64_t period = period_ns(adding->batch, profile), count;
	struct stack_facts facts;
	struct tally_row row;

	if (!sample->timestamp_count && !counts_samples && !period) {
		count = profile_sample_events(sample, false);
		figures->unscaled += count;
		adding->others += count;
		return;
	}
	facts = stacks_facts(&adding->stacks, sample->stack);
	row = (struct tally_row){
		.process = adding->process,
		.leaf = facts.leaf,
		.end = facts.end,
		.how = facts.how,
	};
	for (uint32_t i = 0; i < sample->timestamp_count; i++)
		observe(adding, &row, sample->timestamps_unix_ns[i], 1);
	if (sample->timestamp_count)
		return;
	count = untimed_count(sample, counts_samples, period);
	figures->untimed += count;
	if (count)
		observe(adding, &row, profile->time_unix_ns + profile->duration_ns / 2, count);
}

static bool is_cpu_time(const struct profcol_batch *batch, const struct profcol_profile *profile)
{
	return text_is(batch, profile->sample_type, "cpu") &&
	       text_is(batch, profile->sample_unit, "nanoseconds");
}

static void add_profile(struct adding *adding, uint32_t id)
{
	struct tally_side_figures *figures = &adding->tally->figures[adding->side];
	const struct profcol_batch *batch = adding->batch;
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);
	bool counts_samples = profile_counts_samples(batch, id);
	bool cpu_time = is_cpu_time(batch, &profile);
	uint64_t end_ns = profile.time_unix_ns + profile.duration_ns;

	if (end_ns >= profile.time_unix_ns && end_ns > adding->last_ns)
		adding->last_ns = end_ns;
	if ((counts_samples || cpu_time) && period_ns(batch, &profile))
		figures->period_ns = period_ns(batch, &profile);
	if (cpu_time && adding->counts_samples)
		return;
	for (uint32_t row = samples.begin; row < samples.end; row++) {
		struct profcol_sample sample = profcol_batch_sample(batch, row);
		uint64_t events = profile_sample_events(&sample, false);

		if (counts_samples || cpu_time) {
			add_sample(adding, &profile, &sample, counts_samples);
			continue;
		}
		figures->other_kinds += events;
		adding->others += events;
	}
}

/* Those whose OTLP is made from pprof say the same twice: in samples and in CPU time. */
static bool has_counts(const struct profcol_batch *batch, struct profcol_range scopes)
{
	for (uint32_t scope = scopes.begin; scope < scopes.end; scope++) {
		struct profcol_range profiles, samples;

		profcol_batch_scope(batch, scope, &profiles);
		for (uint32_t row = profiles.begin; row < profiles.end; row++) {
			profcol_batch_profile(batch, row, &samples);
			if (samples.begin < samples.end && profile_counts_samples(batch, row))
				return true;
		}
	}
	return false;
}

static void add_resources(struct adding *adding)
{
	const struct profcol_batch *batch = adding->batch;
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range scopes, profiles;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		adding->process = add_process(adding->tally, batch, resource.attributes);
		adding->counts_samples = has_counts(batch, scopes);
		for (uint32_t scope = scopes.begin; scope < scopes.end; scope++) {
			profcol_batch_scope(batch, scope, &profiles);
			for (uint32_t row = profiles.begin; row < profiles.end; row++)
				add_profile(adding, row);
		}
	}
}

/* What of @bytes is of the observations: the rest is of other events. */
static uint64_t bytes_observed(const struct adding *adding, uint64_t bytes)
{
	double all = (double)adding->observed + (double)adding->others;

	return all > 0 ? (uint64_t)((double)bytes * ((double)adding->observed / all)) : 0;
}

static void add_locked(struct adding *adding, uint64_t bytes)
{
	struct tally *tally = adding->tally;
	struct tally_side_figures *figures = &tally->figures[adding->side];
	bool has_begun = tally->from_ns;
	uint64_t until_ns;

	if (!has_begun && adding->side == TALLY_OTHER) {
		tally->from_ns = adding->now_ns;
		tally->to_ns = adding->now_ns + tally->span_ns;
	}
	add_resources(adding);
	if (has_begun) {
		figures->observed += adding->observed;
		figures->bytes += bytes_observed(adding, bytes);
	}
	// Nobody covers what has not come yet.
	if (adding->last_ns > adding->now_ns)
		adding->last_ns = adding->now_ns;
	if (adding->last_ns > figures->covered_ns)
		figures->covered_ns = adding->last_ns;
	until_ns = covered_by_both(tally);
	if (until_ns < tally->settled_ns + settle_step_ns)
		return;
	tally->settled_ns = until_ns;
	for (int side = 0; side < TALLY_SIDES; side++)
		settle(tally, side, until_ns);
}

struct profcol_error *tally_add(struct tally *tally, enum tally_side side,
				const struct profcol_batch *batch, uint64_t now_ns)
{
	struct adding adding = {
		.tally = tally,
		.side = side,
		.batch = batch,
		.now_ns = now_ns,
	};
	uint64_t begin_ns = clock_thread_ns(), bytes = otlp_encoded_size(batch, NULL);

	if (!stacks_init(&adding.stacks, batch, &tally->places, side == TALLY_OWN))
		return profcol_error_errno(ENOMEM, "compare profiles");
	pthread_mutex_lock(&tally->lock);
	add_locked(&adding, bytes);
	if (side == TALLY_OWN)
		tally->spent_ns += clock_thread_ns() - begin_ns;
	pthread_mutex_unlock(&tally->lock);
	stacks_deinit(&adding.stacks);
	return NULL;
}

struct tally_progress tally_look(struct tally *tally)
{
	struct tally_progress progress;

	pthread_mutex_lock(&tally->lock);
	progress = (struct tally_progress){
		.from_ns = tally->from_ns,
		.to_ns = tally->to_ns,
		.other_covered_ns = tally->figures[TALLY_OTHER].covered_ns,
		.spent_ns = tally->spent_ns,
	};
	for (int side = 0; side < TALLY_SIDES; side++) {
		progress.samples[side] = tally->figures[side].inside;
		for (size_t i = 0; i < tally->tables[side].waiting.count; i++)
			progress.samples[side] += tally->tables[side].waiting.items[i].count;
	}
	pthread_mutex_unlock(&tally->lock);
	return progress;
}

/* ---- from begin to end ---- */

void tally_close(struct tally *tally, uint64_t own_end_ns)
{
	tally->figures[TALLY_OWN].covered_ns = own_end_ns;
	tally->to_ns = covered_by_both(tally);
	if (tally->to_ns < tally->from_ns)
		tally->to_ns = tally->from_ns;
	for (int side = 0; side < TALLY_SIDES; side++) {
		struct tally_table *table = &tally->tables[side];

		settle(tally, side, tally->to_ns);
		for (size_t i = 0; i < table->waiting.count; i++)
			tally->figures[side].after += table->waiting.items[i].count;
		table->waiting.count = 0;
	}
}

const struct tally_row *tally_rows(const struct tally *tally, enum tally_side side,
				   size_t *count_ret)
{
	*count_ret = tally->tables[side].rows.count;
	return tally->tables[side].rows.items;
}

/* While there is room. */
static bool name_nameless(struct tally *tally)
{
	tally->idle = places_add_text(&tally->places, "[idle]", strlen("[idle]"));
	tally->kernel = places_add_text(&tally->places, "[kernel]", strlen("[kernel]"));
	tally->not_named = places_add_text(&tally->places, "(not named)", strlen("(not named)"));
	return tally->idle && tally->kernel && tally->not_named;
}

struct tally *tally_create(uint64_t span_ns)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return NULL;
	pthread_mutex_init(&tally->lock, NULL);
	tally->span_ns = span_ns;
	tally->tables = calloc(TALLY_SIDES, sizeof(*tally->tables));
	if (places_init(&tally->places) && tally->tables && name_nameless(tally))
		return tally;
	tally_destroy(tally);
	return NULL;
}

void tally_destroy(struct tally *tally)
{
	if (!tally)
		return;
	for (int side = 0; tally->tables && side < TALLY_SIDES; side++) {
		VECTOR_DEINIT(&tally->tables[side].rows);
		VECTOR_DEINIT(&tally->tables[side].waiting);
		intern_deinit(&tally->tables[side].index);
	}
	free(tally->tables);
	VECTOR_DEINIT(&tally->processes);
	intern_deinit(&tally->process_index);
	VECTOR_DEINIT(&tally->newest);
	intern_deinit(&tally->newest_index);
	places_deinit(&tally->places);
	pthread_mutex_destroy(&tally->lock);
	free(tally);
}
