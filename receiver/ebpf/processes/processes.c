// SPDX-License-Identifier: Apache-2.0
#include "processes_parts.h"

#include "prompt.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
	NOTES_MAX = 4096,
	/*
	 * Records are looked at so often while anything is sampled, and at once when a program
	 * starts. Then its libraries follow, of which nothing wakes us: the next look comes soon,
	 * those after it in times that double. What is told of processes that are not sampled can
	 * wait.
	 */
	PASS_NS = 100000000,
	PASS_SOON_NS = 20000000,
	/*
	 * After each look: a ninth of a CPU, as long as one takes no more than 2.5 ms. And so long
	 * that the programs of a storm are taken in together: each look costs some 50 us for
	 * itself, while a sample that comes before it is finished later anyway.
	 */
	REST_FACTOR = 8,
	REST_LEAST_NS = 10000000,
	REST_MOST_NS = 20000000,
};

static const uint64_t PASS_IDLE_NS = 5000000000;

struct processes *processes_create(const struct profcol_host *host,
				   const struct profcol_list *variables, size_t max_bytes)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return NULL;
	pthread_mutex_init(&processes->queue_lock, NULL);
	pthread_mutex_init(&processes->progress_lock, NULL);
	pthread_cond_init(&processes->progress, NULL);
	processes->notes_dropped = host->metric(host, PROFCOL_COUNTER, "processes_notes_dropped",
						"", "Samples whose process was not looked at");
	processes->notes = calloc(NOTES_MAX, sizeof(*processes->notes));
	processes->taken = calloc(NOTES_MAX, sizeof(*processes->taken));
	if (!watch_init(&processes->watch, host, variables, max_bytes) || !processes->notes ||
	    !processes->taken) {
		processes_destroy(processes);
		return NULL;
	}
	return processes;
}

void processes_on_change(struct processes *processes,
			 void (*changed)(void *context, const struct process_key *key, bool alive),
			 void *context)
{
	processes->watch.changed = changed;
	processes->watch.changed_context = context;
}

void processes_destroy(struct processes *processes)
{
	if (!processes)
		return;
	processes_stop(processes);
	watch_deinit(&processes->watch);
	pthread_cond_destroy(&processes->progress);
	pthread_mutex_destroy(&processes->progress_lock);
	pthread_mutex_destroy(&processes->queue_lock);
	free(processes->notes);
	free(processes->taken);
	free(processes);
}

static size_t take_notes(struct processes *processes)
{
	struct note *full = processes->notes;
	size_t count;

	pthread_mutex_lock(&processes->queue_lock);
	count = processes->note_count;
	processes->notes = processes->taken;
	processes->note_count = 0;
	processes->woken = false;
	pthread_mutex_unlock(&processes->queue_lock);
	processes->taken = full;
	return count;
}

/* True when it is time to stop. */
static bool show_progress(struct processes *processes, uint64_t known_ns)
{
	bool stopping;

	pthread_mutex_lock(&processes->progress_lock);
	processes->known_ns = known_ns;
	stopping = processes->stopping;
	pthread_cond_broadcast(&processes->progress);
	pthread_mutex_unlock(&processes->progress_lock);
	return stopping;
}

/* When the next look may come that nobody calls for: in proportion to what was worked since
 * @used_ns, so that execs are taken in together. */
static uint64_t rested_ns(uint64_t used_ns)
{
	uint64_t rest_ns = REST_FACTOR * (clock_thread_ns() - used_ns);

	if (rest_ns < REST_LEAST_NS)
		rest_ns = REST_LEAST_NS;
	return clock_monotonic_ns() + (rest_ns < REST_MOST_NS ? rest_ns : REST_MOST_NS);
}

/* After a wait of @wait_ns. */
static uint64_t next_wait(const struct watch *watch, uint64_t wait_ns)
{
	uint64_t most_ns = watch->unfinished ? PASS_NS : PASS_IDLE_NS;

	wait_ns = watch->news ? PASS_SOON_NS : 2 * wait_ns;
	return wait_ns < most_ns ? wait_ns : most_ns;
}

/* Wait until the next look is due, which is @wait_ns away at most. Who calls is not left to wait,
 * the rest is until @rested_ns. */
static void wait_look(struct processes *processes, uint64_t wait_ns, uint64_t rested_ns)
{
	struct side_band *side_band = processes->watch.side_band;
	bool called;
	uint64_t now;

	pthread_mutex_lock(&processes->queue_lock);
	processes->sleeps = wait_ns > PASS_NS;
	pthread_mutex_unlock(&processes->queue_lock);
	called = side_band_wait(side_band, wait_ns);
	now = clock_monotonic_ns();
	if (!called && now < rested_ns)
		side_band_rest(side_band, rested_ns - now);
}

static void *processes_run(void *context)
{
	struct processes *processes = context;
	uint64_t housekeeping = clock_monotonic_ns() + HOUSEKEEPING_NS, began;
	uint64_t wait_ns = PASS_NS, rest_ns = 0, used_ns;
	size_t count;

	pthread_setname_np(pthread_self(), "processes");
	prompt_thread();
	do {
		wait_look(processes, wait_ns, rest_ns);
		used_ns = clock_thread_ns();
		began = clock_monotonic_ns();
		// Notes first: what the kernel told before a sample is in the rings by then.
		count = take_notes(processes);
		watch_pass(&processes->watch, processes->taken, count);
		if (began >= housekeeping || watch_wants_repair(&processes->watch, began)) {
			watch_keep_house(&processes->watch);
			housekeeping = began + HOUSEKEEPING_NS;
		}
		wait_ns = next_wait(&processes->watch, wait_ns);
		rest_ns = rested_ns(used_ns);
	} while (!show_progress(processes, began));
	return NULL;
}

struct profcol_error *processes_start(struct processes *processes)
{
	struct profcol_error *error = watch_start(&processes->watch);
	int status;

	if (error)
		return error;
	status = pthread_create(&processes->thread, NULL, processes_run, processes);
	if (status)
		return profcol_error_errno(status, "start the thread that follows processes");
	processes->running = true;
	return NULL;
}

struct profcol_error *processes_follow_execs(struct processes *processes)
{
	int status = watch_follow_execs(&processes->watch);

	return status ? profcol_error_errno(-status, "listen to execs") : NULL;
}

uint64_t processes_map_bytes(struct processes *processes)
{
	struct execs *execs = atomic_load_explicit(&processes->watch.execs, memory_order_acquire);
	struct code_ends *ends =
		atomic_load_explicit(&processes->watch.code_ends, memory_order_acquire);

	return (execs ? execs_map_bytes(execs) : 0) + (ends ? code_ends_map_bytes(ends) : 0);
}

void processes_stop(struct processes *processes)
{
	if (!processes->running)
		return;
	pthread_mutex_lock(&processes->progress_lock);
	processes->stopping = true;
	atomic_store(&processes->watch.ending, true);
	pthread_mutex_unlock(&processes->progress_lock);
	side_band_wake(processes->watch.side_band);
	pthread_join(processes->thread, NULL);
	processes->running = false;
}

/* True when the thread is to be woken for it, since that is @urgent and it has not been yet. */
static bool add_note(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		     bool urgent)
{
	bool wake, full;

	pthread_mutex_lock(&processes->queue_lock);
	full = processes->note_count >= NOTES_MAX;
	if (!full)
		processes->notes[processes->note_count++] =
			(struct note){ .key = *key, .time_ns = time_ns };
	wake = urgent && !full && !processes->woken;
	processes->woken |= wake;
	pthread_mutex_unlock(&processes->queue_lock);
	if (full)
		profcol_metric_add(processes->notes_dropped, 1);
	return wake;
}

void processes_note_sample(struct processes *processes, const struct process_key *key,
			   uint64_t time_ns)
{
	if (!key->pid)
		return; // the idle task of a CPU
	// At once: the process may end at any time, and be gone from /proc.
	if (add_note(processes, key, time_ns, true) && processes->watch.side_band)
		side_band_wake(processes->watch.side_band);
}

void processes_note_again(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns)
{
	add_note(processes, key, time_ns, false);
}

void processes_note_sampling(struct processes *processes)
{
	bool wake;

	// Else it looks in time.
	pthread_mutex_lock(&processes->queue_lock);
	wake = processes->sleeps && !processes->woken;
	processes->woken |= wake;
	pthread_mutex_unlock(&processes->queue_lock);
	if (wake && processes->watch.side_band)
		side_band_wake(processes->watch.side_band);
}

bool processes_catch_up(struct processes *processes, uint64_t deadline_ns)
{
	bool known;
	uint64_t wanted = clock_monotonic_ns();
	struct timespec deadline = clock_timespec(deadline_ns);

	if (!processes->running)
		return false;
	side_band_wake(processes->watch.side_band);
	pthread_mutex_lock(&processes->progress_lock);
	while (processes->known_ns < wanted &&
	       !pthread_cond_clockwait(&processes->progress, &processes->progress_lock,
				       CLOCK_MONOTONIC, &deadline))
		;
	known = processes->known_ns >= wanted;
	pthread_mutex_unlock(&processes->progress_lock);
	return known;
}

void processes_account(struct processes *processes, int64_t bytes)
{
	atomic_fetch_add_explicit(&processes->watch.other_memory, bytes, memory_order_relaxed);
}

static void mark_told(void *context, struct process *process)
{
	if (process->told)
		table_mark_changed(context, process);
}

void processes_tell_again(struct processes *processes)
{
	struct watch *watch = &processes->watch;

	pthread_mutex_lock(&watch->table_lock);
	table_each(&watch->table, mark_told, &watch->table);
	pthread_mutex_unlock(&watch->table_lock);
	if (watch->side_band)
		side_band_wake(watch->side_band);
}

void processes_forget(struct processes *processes, uint64_t time_ns)
{
	struct watch *watch = &processes->watch;

	pthread_mutex_lock(&watch->table_lock);
	table_forget(&watch->table, time_ns);
	pthread_mutex_unlock(&watch->table_lock);
}
