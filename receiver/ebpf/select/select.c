// SPDX-License-Identifier: Apache-2.0
#include "select.h"

#include "facts.h"
#include "verdicts.h"
#include "waiting.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	QUEUE_MAX = 4096,
	LATE_MAX = 4, /* in a row, before samples are lost: being slow is not being gone */
};

static const uint64_t CATCH_UP_NS = 500000000;       /* for `processes` to know what there is */
static const uint64_t RETRY_NS = 1000000000;         /* of what could not be decided */
static const uint64_t SWEEP_NS = 30000000000;        /* how often ended programs are dropped... */
static const uint64_t IDLE_NS = 60000000000;         /* ...that have not been seen for so long */
static const uint64_t CROWDED_SWEEP_NS = 5000000000; /* the same when there are very many, all */

/* An executable changes only by an exec, which is another program: in case one went untold. */
static const uint64_t EXECUTABLE_REFRESH_NS = 60000000000;

struct select {
	const struct profcol_host *host;
	struct processes *processes;
	struct select_maps maps;
	struct profcol_metric *decisions, *displaced, *clears, *waiting_now, *selected,
		*unselected_now;
	struct waiting waiting; /* of select_takes and its like */
	atomic_bool active;     /* there are rules */

	pthread_mutex_t rules_lock; /* over `rules`; held while one process is decided */
	struct select_rules *rules; /* owned; NULL before select_configure */

	pthread_mutex_t lock; /* over what follows; inside of rules_lock; never held over I/O */
	struct verdicts verdicts;
	struct unselected unselected;
	VECTOR(struct select_subject) queue;
	bool deciding; /* what was in the queue */
	bool stopping;
	pthread_cond_t wake;            /* there is something in the queue, or it is time to stop */
	pthread_cond_t settled;         /* the queue has been dealt with */
	void (*decided)(void *context); /* NULL: nobody wants to know */
	void *decided_context;

	pthread_t thread;
	bool running;
	VECTOR(struct select_subject) taken; /* of the thread: what it decides */
	uint64_t housekeeping_ns, sweep_ns;  /* of the thread: when they are due */
};

/* ---- making one ---- */

static void register_metrics(struct select *select)
{
	const struct profcol_host *host = select->host;
	static const char programs[] = "Programs whose samples have come, by what was decided";

	select->decisions = host->metric(host, PROFCOL_COUNTER, "select_decisions", "",
					 "Times it was decided whether a program is profiled");
	select->displaced =
		host->metric(host, PROFCOL_COUNTER, "select_displaced", "",
			     "Unselected processes that the kernel side had to forget for others");
	select->clears = host->metric(host, PROFCOL_COUNTER, "select_clears", "",
				      "Times that verdicts were dropped for there being too many");
	select->waiting_now = host->metric(host, PROFCOL_GAUGE, "select_waiting_samples", "",
					   "Samples of programs that are not decided yet");
	select->selected =
		host->metric(host, PROFCOL_GAUGE, "select_programs", "verdict=selected", programs);
	select->unselected_now = host->metric(host, PROFCOL_GAUGE, "select_programs",
					      "verdict=unselected", programs);
}

struct select *select_create(const struct profcol_host *host, struct processes *processes)
{
	struct select *select = calloc(1, sizeof(*select));

	if (!select)
		return NULL;
	select->host = host;
	select->processes = processes;
	pthread_mutex_init(&select->rules_lock, NULL);
	pthread_mutex_init(&select->lock, NULL);
	pthread_cond_init(&select->wake, NULL);
	pthread_cond_init(&select->settled, NULL);
	verdicts_init(&select->verdicts);
	register_metrics(select);
	return select;
}

void select_destroy(struct select *select)
{
	if (!select)
		return;
	select_stop(select);
	select_rules_destroy(select->rules);
	verdicts_deinit(&select->verdicts);
	unselected_deinit(&select->unselected);
	waiting_deinit(&select->waiting);
	VECTOR_DEINIT(&select->queue);
	VECTOR_DEINIT(&select->taken);
	pthread_cond_destroy(&select->settled);
	pthread_cond_destroy(&select->wake);
	pthread_mutex_destroy(&select->lock);
	pthread_mutex_destroy(&select->rules_lock);
	free(select);
}

struct profcol_error *select_validate(const struct select_config *config)
{
	struct select_rules *rules = NULL;
	struct profcol_error *error = select_rules_create(config, &rules);

	select_rules_destroy(rules);
	return error;
}

void select_on_decided(struct select *select, void (*decided)(void *context), void *context)
{
	pthread_mutex_lock(&select->lock);
	select->decided = decided;
	select->decided_context = context;
	pthread_mutex_unlock(&select->lock);
}

/* From @before, which may be NULL, to other rules. Who descends from whom is kept. Under the lock.
 */
static void forget_verdicts(struct select *select, const struct select_rules *before)
{
	for (size_t i = 0; before && i < select->verdicts.rows.count; i++) {
		struct verdict *row = &select->verdicts.rows.items[i];

		row->verdict = SELECT_UNDECIDED;
		row->decided_ns = 0;
		row->late = 0;
		row->queued = row->in_kernel = false;
		row->lineage = select_rules_translate(before, row->lineage, select->rules);
	}
	unselected_clear(&select->unselected);
	select->queue.count = 0;
}

/* Tell the kernel side whether to look. Under the lock. */
static void show_active(struct select *select)
{
	if (select->maps.active)
		*select->maps.active = atomic_load_explicit(&select->active, memory_order_relaxed);
}

struct profcol_error *select_configure(struct select *select, const struct select_config *config)
{
	struct select_rules *rules, *before;
	struct profcol_error *error = select_rules_create(config, &rules);

	if (error)
		return error;
	pthread_mutex_lock(&select->rules_lock);
	pthread_mutex_lock(&select->lock);
	before = select->rules;
	select->rules = rules;
	forget_verdicts(select, before);
	atomic_store_explicit(&select->active, !select_rules_are_empty(rules),
			      memory_order_release);
	show_active(select);
	pthread_mutex_unlock(&select->lock);
	pthread_mutex_unlock(&select->rules_lock);
	select_rules_destroy(before);
	return NULL;
}

/* ---- deciding ---- */

static uint64_t lineage_of(void *context, uint32_t pid, uint64_t earliest_ns, uint64_t latest_ns)
{
	struct select *select = context;
	uint64_t lineage;

	pthread_mutex_lock(&select->lock);
	lineage = verdicts_lineage(&select->verdicts, pid, earliest_ns, latest_ns);
	pthread_mutex_unlock(&select->lock);
	return lineage;
}

/* Who once descends does so for good, even when the process between them has ended. */
static void recall_lineage(struct select *select, struct select_subject *subject)
{
	uint64_t start_ns = subject->key.start_boottime_ns;

	subject->lineage = lineage_of(select, subject->key.pid, start_ns, start_ns);
}

/* Samples wait for another decision where the last one lacked an answer that was only late. */
static enum select_verdict be_patient(struct verdict *row, enum select_verdict verdict, bool late)
{
	if (verdict == SELECT_UNDECIDABLE && late && ++row->late < LATE_MAX)
		return SELECT_UNDECIDED;
	row->late = 0;
	return verdict;
}

/* Returns what holds now. */
static enum select_verdict publish(struct select *select, const struct select_subject *subject,
				   enum select_verdict verdict, const struct facts *facts)
{
	struct verdict *row;

	pthread_mutex_lock(&select->lock);
	row = verdicts_find_or_add(&select->verdicts, &subject->key);
	if (row) {
		verdict = be_patient(row, verdict, facts->late);
		profcol_metric_add(select->selected, (verdict == SELECT_SELECTED) -
							     (row->verdict == SELECT_SELECTED));
		profcol_metric_add(select->unselected_now,
				   (verdict == SELECT_UNSELECTED) -
					   (row->verdict == SELECT_UNSELECTED));
		row->verdict = verdict;
		row->lineage = facts->view.lineage;
		row->decided_ns = verdict == SELECT_UNDECIDED ? 0 : clock_monotonic_ns();
		row->queued = false;
		if (verdict == SELECT_UNSELECTED)
			unselected_add(&select->unselected, &subject->key);
		else if (row->in_kernel)
			unselected_remove(&select->unselected, &subject->key);
		row->in_kernel = verdict == SELECT_UNSELECTED;
	}
	profcol_metric_set(select->displaced, (int64_t)select->unselected.displaced);
	pthread_mutex_unlock(&select->lock);
	return verdict;
}

static void decide(struct select *select, struct select_subject *subject)
{
	enum select_verdict verdict;
	struct facts facts;

	pthread_mutex_lock(&select->rules_lock);
	recall_lineage(select, subject);
	facts_gather(&facts, select->processes, select->rules, subject, lineage_of, select);
	verdict = publish(select, subject, select_rules_judge(select->rules, &facts.view), &facts);
	facts_deinit(&facts);
	pthread_mutex_unlock(&select->rules_lock);
	profcol_metric_add(select->decisions, 1);
	// At once, not when the sample has waited: the process may end at any time.
	if (verdict == SELECT_SELECTED)
		processes_note_sample(select->processes, &subject->key, subject->time_ns);
}

/* ---- keeping house ---- */

/* Have programs that were decided long ago sampled once, so that they are decided anew. */
static void refresh(struct select *select, uint64_t now_ns)
{
	int64_t selected = 0, unselected = 0;
	bool changes = select_rules_needs(select->rules) & ~(unsigned int)SELECT_EXECUTABLE;
	uint64_t lasts = changes ? SELECT_REFRESH_NS : EXECUTABLE_REFRESH_NS;

	for (size_t i = 0; i < select->verdicts.rows.count; i++) {
		struct verdict *row = &select->verdicts.rows.items[i];

		selected += row->verdict == SELECT_SELECTED;
		unselected += row->verdict == SELECT_UNSELECTED;
		if (!row->in_kernel || row->decided_ns + lasts > now_ns)
			continue;
		unselected_remove(&select->unselected, &row->key);
		row->in_kernel = false;
	}
	profcol_metric_set(select->selected, selected);
	profcol_metric_set(select->unselected_now, unselected);
}

struct idlers {
	VECTOR(struct process_key) keys;
};

static bool is_crowded(const struct select *select)
{
	return select->verdicts.rows.count > VERDICTS_MAX / 4 * 3;
}

static void find_idlers(struct select *select, uint64_t now_ns, struct idlers *idlers)
{
	bool crowded = is_crowded(select);

	for (size_t i = 0; i < select->verdicts.rows.count; i++) {
		struct verdict *row = &select->verdicts.rows.items[i];

		bool idle = row->seen_ns + IDLE_NS <= now_ns;

		// Children that have not been seen may yet ask for the lineage.
		if (row->queued || (!idle && (!crowded || row->lineage)))
			continue;
		row->gone = verdicts_is_superseded(&select->verdicts, row);
		// Without memory it is the turn of the rest next time.
		if (!row->gone)
			(void)VECTOR_PUSH(&idlers->keys, row->key);
	}
}

static bool drop_gone(void *context, const struct verdict *verdict)
{
	struct select *select = context;

	if (verdict->gone && verdict->in_kernel)
		unselected_remove(&select->unselected, &verdict->key);
	return verdict->gone;
}

static void sweep(struct select *select, uint64_t now_ns)
{
	struct idlers idlers = { 0 };
	struct verdict *row;

	pthread_mutex_lock(&select->lock);
	find_idlers(select, now_ns, &idlers);
	pthread_mutex_unlock(&select->lock);
	for (size_t i = 0; i < idlers.keys.count; i++) {
		if (facts_is_alive(select->processes, &idlers.keys.items[i]))
			continue;
		pthread_mutex_lock(&select->lock);
		row = verdicts_find(&select->verdicts, &idlers.keys.items[i]);
		if (row)
			row->gone = !row->queued;
		pthread_mutex_unlock(&select->lock);
	}
	pthread_mutex_lock(&select->lock);
	verdicts_sweep(&select->verdicts, drop_gone, select);
	pthread_mutex_unlock(&select->lock);
	VECTOR_DEINIT(&idlers.keys);
}

static void keep_house(struct select *select)
{
	uint64_t now = clock_monotonic_ns();
	bool crowded;

	if (now < select->housekeeping_ns)
		return;
	select->housekeeping_ns = now + HOUSEKEEPING_NS;
	pthread_mutex_lock(&select->rules_lock);
	pthread_mutex_lock(&select->lock);
	refresh(select, now);
	crowded = is_crowded(select);
	pthread_mutex_unlock(&select->lock);
	pthread_mutex_unlock(&select->rules_lock);
	if (now >= select->sweep_ns ||
	    (crowded && now + SWEEP_NS >= select->sweep_ns + CROWDED_SWEEP_NS)) {
		select->sweep_ns = now + SWEEP_NS;
		sweep(select, now);
	}
}

/* ---- the thread ---- */

/* Wait for something to decide, for a second at most where anything was decided before. False when
 * it is time to stop. */
static bool take_queue(struct select *select)
{
	struct timespec until = clock_timespec(clock_monotonic_ns() + HOUSEKEEPING_NS);
	bool stopping;

	pthread_mutex_lock(&select->lock);
	// Without rules that is never.
	while (!select->stopping && !select->queue.count && !select->verdicts.rows.count)
		pthread_cond_wait(&select->wake, &select->lock);
	while (!select->stopping && !select->queue.count &&
	       !pthread_cond_clockwait(&select->wake, &select->lock, CLOCK_MONOTONIC, &until))
		;
	stopping = select->stopping;
	select->taken.count = 0;
	if (VECTOR_RESERVE(&select->taken, select->queue.count)) {
		if (select->queue.count)
			memcpy(select->taken.items, select->queue.items,
			       select->queue.count * sizeof(*select->queue.items));
		select->taken.count = select->queue.count;
		select->queue.count = 0;
	}
	select->deciding = select->taken.count;
	pthread_mutex_unlock(&select->lock);
	return !stopping;
}

static void decide_taken(struct select *select)
{
	// What the kernel told before the samples were taken is known from here on.
	bool caught_up = select->taken.count &&
			 processes_catch_up(select->processes, clock_monotonic_ns() + CATCH_UP_NS);

	for (size_t i = 0; i < select->taken.count; i++) {
		select->taken.items[i].caught_up = caught_up;
		decide(select, &select->taken.items[i]);
	}
	pthread_mutex_lock(&select->lock);
	select->deciding = false;
	pthread_cond_broadcast(&select->settled);
	if (select->decided && select->taken.count)
		select->decided(select->decided_context);
	pthread_mutex_unlock(&select->lock);
}

static void *select_run(void *context)
{
	struct select *select = context;

	pthread_setname_np(pthread_self(), "select");
	while (take_queue(select)) {
		decide_taken(select);
		keep_house(select);
	}
	return NULL;
}

struct profcol_error *select_start(struct select *select, const struct select_maps *maps)
{
	int status;

	pthread_mutex_lock(&select->lock);
	status = unselected_init(&select->unselected, maps->unselected);
	if (!status) {
		select->maps = *maps;
		show_active(select);
	}
	pthread_mutex_unlock(&select->lock);
	if (status)
		return profcol_error_errno(-status, "map the table of unselected processes");
	status = pthread_create(&select->thread, NULL, select_run, select);
	if (status)
		return profcol_error_errno(status, "start the thread that selects processes");
	select->running = true;
	return NULL;
}

void select_stop(struct select *select)
{
	if (!select->running)
		return;
	pthread_mutex_lock(&select->lock);
	select->stopping = true;
	pthread_cond_signal(&select->wake);
	pthread_mutex_unlock(&select->lock);
	pthread_join(select->thread, NULL);
	select->running = false;
}

void select_settle(struct select *select, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);

	pthread_mutex_lock(&select->lock);
	while (select->running && (select->queue.count || select->deciding) &&
	       !pthread_cond_clockwait(&select->settled, &select->lock, CLOCK_MONOTONIC, &deadline))
		;
	pthread_mutex_unlock(&select->lock);
}

/* ---- samples ---- */

static bool is_due(const struct verdict *row, uint64_t now_ns)
{
	uint64_t lasts = row->verdict == SELECT_UNDECIDABLE ? RETRY_NS : SELECT_REFRESH_NS;

	return !row->decided_ns || now_ns > row->decided_ns + lasts;
}

/* Have it decided, unless too much is to be decided already: then a later sample asks again. */
static void enqueue(struct select *select, struct verdict *row, const struct sample_head *head)
{
	struct select_subject subject = { .key = row->key,
					  .time_ns = head->time_ns,
					  .uid = head->uid };

	if (select->queue.count >= QUEUE_MAX || !VECTOR_PUSH(&select->queue, subject))
		return;
	row->queued = true;
	pthread_cond_signal(&select->wake);
}

/* A selected process that has not been sampled for long may have become another one. */
static bool is_stale(const struct verdict *row, uint64_t now_ns)
{
	return row->verdict == SELECT_SELECTED && now_ns > row->decided_ns + 2 * SELECT_REFRESH_NS;
}

static bool drop_replaceable(void *context, const struct verdict *verdict)
{
	struct select *select = context;

	if (verdict->queued || verdict->lineage)
		return false;
	if (verdict->in_kernel)
		unselected_remove(&select->unselected, &verdict->key);
	return true;
}

/* NULL when there is no room, or no memory. Under the lock. */
static struct verdict *find_or_add(struct select *select, const struct process_key *key)
{
	struct verdict *found = verdicts_find(&select->verdicts, key);

	if (found)
		return found;
	if (select->verdicts.rows.count >= VERDICTS_MAX) {
		verdicts_sweep(&select->verdicts, drop_replaceable, select);
		profcol_metric_add(select->clears, 1);
	}
	return select->verdicts.rows.count < VERDICTS_MAX
		       ? verdicts_find_or_add(&select->verdicts, key)
		       : NULL;
}

static enum select_verdict look_up(struct select *select, const struct sample_head *head)
{
	struct process_key key = {
		.pid = head->pid,
		.exec_id = head->exec_id,
		.start_boottime_ns = head->start_boottime_ns,
	};
	enum select_verdict verdict = SELECT_UNDECIDABLE;
	struct verdict *row;

	// Samples of idle CPUs have an option of their own.
	if (!head->pid || !atomic_load_explicit(&select->active, memory_order_acquire))
		return SELECT_SELECTED;
	pthread_mutex_lock(&select->lock);
	row = find_or_add(select, &key);
	if (row) {
		row->seen_ns = head->time_ns;
		if (!row->queued && is_due(row, head->time_ns))
			enqueue(select, row, head);
		verdict = is_stale(row, head->time_ns) ? SELECT_UNDECIDED : row->verdict;
	}
	pthread_mutex_unlock(&select->lock);
	return verdict;
}

static void book_unwanted(struct select *select, enum select_verdict verdict)
{
	const struct profcol_host *host = select->host;

	host->account(host, PROFCOL_TAKEN, NULL, 1);
	if (verdict == SELECT_UNSELECTED)
		host->account(host, PROFCOL_FILTERED, "select", 1);
	else
		host->account(host, PROFCOL_LOST, "undecidable", 1);
}

bool select_takes(struct select *select, const void *record, size_t length)
{
	enum select_verdict verdict;

	// What is too short to be a record is not to be judged here.
	if (length < sizeof(struct sample_head))
		return true;
	verdict = look_up(select, record);
	if (verdict == SELECT_SELECTED)
		return true;
	if (verdict != SELECT_UNDECIDED) {
		book_unwanted(select, verdict);
	} else if (!waiting_add(&select->waiting, record, length)) {
		select->host->account(select->host, PROFCOL_TAKEN, NULL, 1);
		select->host->account(select->host, PROFCOL_LOST, "waiting_full", 1);
	}
	return false;
}

struct release {
	struct select *select;
	void (*take)(void *context, const void *record, size_t length);
	void *context;
};

static bool release_one(void *context, const void *record, size_t length)
{
	struct release *release = context;
	enum select_verdict verdict = look_up(release->select, record);

	if (verdict == SELECT_UNDECIDED)
		return false;
	if (verdict == SELECT_SELECTED)
		release->take(release->context, record, length);
	else
		book_unwanted(release->select, verdict);
	return true;
}

void select_release(struct select *select,
		    void (*take)(void *context, const void *record, size_t length), void *context)
{
	struct release release = { select, take, context };

	waiting_review(&select->waiting, release_one, &release);
	profcol_metric_set(select->waiting_now, (int64_t)select->waiting.count);
}

static bool lose_one(void *context, const void *record, size_t length)
{
	(void)record;
	(void)length;
	book_unwanted(context, SELECT_UNDECIDABLE);
	return true;
}

void select_lose(struct select *select)
{
	waiting_review(&select->waiting, lose_one, select);
	profcol_metric_set(select->waiting_now, 0);
}
