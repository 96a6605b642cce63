// SPDX-License-Identifier: Apache-2.0
#include "process_memory_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	LOOKS_MOST = 64,    /* that wait */
	PASS_NS = 10000000, /* while a worker reads, how long something new may have to wait */
	SOON_NS = 50000000, /* whoever waits for names waits for those that are read by then */
	/* After a program was opened, until it is known whether it had executed another one. */
	OPENED_NS = 10000000,
};

/* The memory of a program that was not read for so long is closed. */
static const uint64_t KEEP_NS = 30000000000;

static void take_answer(void *context, const struct worker_answer *answer);

struct process_memory *process_memory_create(const struct profcol_host *host,
					     struct processes *processes, uint32_t worker_uid,
					     size_t most_bytes)
{
	struct process_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->host = host;
	memory->processes = processes;
	pthread_mutex_init(&memory->queue_lock, NULL);
	pthread_cond_init(&memory->wake, NULL);
	pthread_mutex_init(&memory->lock, NULL);
	pthread_cond_init(&memory->answered, NULL);
	frame_names_init(&memory->names, most_bytes);
	memory_metrics_init(&memory->metrics, host);
	memory->pool = worker_pool_create(host, "purpose=memory", worker_uid, take_answer, memory);
	if (!memory->pool || !VECTOR_RESERVE(&memory->told.all, LOOKS_MOST) ||
	    !VECTOR_RESERVE(&memory->taken.all, LOOKS_MOST)) {
		process_memory_destroy(memory);
		return NULL;
	}
	return memory;
}

void process_memory_destroy(struct process_memory *memory)
{
	if (!memory)
		return;
	process_memory_stop(memory);
	worker_pool_destroy(memory->pool);
	kept_memory_trim(&memory->kept, UINT64_MAX);
	frame_names_deinit(&memory->names);
	VECTOR_DEINIT(&memory->told.all);
	VECTOR_DEINIT(&memory->taken.all);
	pthread_cond_destroy(&memory->answered);
	pthread_mutex_destroy(&memory->lock);
	pthread_cond_destroy(&memory->wake);
	pthread_mutex_destroy(&memory->queue_lock);
	free(memory);
}

/* ---- what others ask ---- */

bool process_memory_look(struct process_memory *memory, const struct process_look *look)
{
	bool room;

	pthread_mutex_lock(&memory->queue_lock);
	room = memory->told.all.count < LOOKS_MOST && !memory->stopping;
	if (room) {
		memory->told.all.items[memory->told.all.count++] = *look;
		pthread_cond_signal(&memory->wake);
	}
	pthread_mutex_unlock(&memory->queue_lock);
	return room;
}

static void call_thread(struct process_memory *memory)
{
	pthread_mutex_lock(&memory->queue_lock);
	memory->woken = true;
	pthread_cond_signal(&memory->wake);
	pthread_mutex_unlock(&memory->queue_lock);
}

void process_memory_ask(struct process_memory *memory, const struct frame_question *question)
{
	bool wakes;

	pthread_mutex_lock(&memory->lock);
	wakes = frame_names_ask(&memory->names, question, clock_monotonic_ns());
	pthread_mutex_unlock(&memory->lock);
	// Most are known: nobody wakes up for these.
	if (wakes)
		call_thread(memory);
}

void process_memory_settle(struct process_memory *memory, uint64_t deadline_ns)
{
	const struct timespec deadline = clock_timespec(deadline_ns);
	uint64_t now = clock_monotonic_ns();
	bool wakes;

	pthread_mutex_lock(&memory->lock);
	wakes = frame_names_hurry(&memory->names);
	pthread_mutex_unlock(&memory->lock);
	if (wakes)
		call_thread(memory);
	pthread_mutex_lock(&memory->lock);
	while (memory->running && !frame_names_are_settled(&memory->names, now, now + SOON_NS))
		if (pthread_cond_clockwait(&memory->answered, &memory->lock, CLOCK_MONOTONIC,
					   &deadline))
			break;
	pthread_mutex_unlock(&memory->lock);
}

/* NULL without memory. Texts lie behind the lines. */
static struct frame_name *copy_name(const struct frame_name *name)
{
	struct frame_name *copy = malloc(name->bytes);

	if (!copy)
		return NULL;
	memcpy(copy, name, name->bytes);
	for (size_t i = 0; i < copy->line_count; i++) {
		copy->lines[i].function =
			(char *)copy + (name->lines[i].function - (const char *)name);
		copy->lines[i].file = (char *)copy + (name->lines[i].file - (const char *)name);
		copy->lines[i].system_name =
			(char *)copy + (name->lines[i].system_name - (const char *)name);
	}
	return copy;
}

enum frame_state process_memory_find(struct process_memory *memory,
				     const struct frame_question *question,
				     struct frame_name **name_ret)
{
	const struct frame_name *name = NULL;
	enum frame_state state;

	*name_ret = NULL;
	pthread_mutex_lock(&memory->lock);
	state = frame_names_find(&memory->names, question, &name);
	if (state == FRAME_NAMED)
		*name_ret = copy_name(name);
	pthread_mutex_unlock(&memory->lock);
	if (state != FRAME_NAMED)
		return state;
	if (!*name_ret)
		return FRAME_CROWDED;
	if (processes_ran(memory->processes, &question->key, (*name_ret)->opened_ns + OPENED_NS))
		return FRAME_NAMED;
	free(TAKE(*name_ret));
	return FRAME_ENDED;
}

void process_memory_forget(struct process_memory *memory, uint64_t time_ns)
{
	pthread_mutex_lock(&memory->lock);
	frame_names_forget(&memory->names, time_ns);
	pthread_mutex_unlock(&memory->lock);
}

void process_memory_workers(const struct process_memory *memory, struct worker_use *use)
{
	worker_pool_use(memory->pool, use);
}

/* ---- requests ---- */

struct flight *process_memory_flight(struct process_memory *memory)
{
	for (size_t i = 0; i < FLIGHTS; i++)
		if (!memory->flights[i].used)
			return &memory->flights[i];
	return NULL;
}

/* As process_memory_open(), for an owner that is read. */
static int open_program(struct process_memory *memory, struct flight *flight)
{
	int fd =
		kept_memory_copy(&memory->kept, &flight->key, flight->begun_ns, &flight->opened_ns);

	if (fd >= 0)
		return fd;
	fd = processes_open_memory(memory->processes, flight->key.pid);
	flight->opened_ns = clock_monotonic_ns();
	if (fd == -EACCES || fd == -EPERM)
		memory_metrics_denied(&memory->metrics, memory->host);
	if (fd >= 0)
		kept_memory_add(&memory->kept, &flight->key, fd, flight->opened_ns);
	return fd;
}

int process_memory_open(struct process_memory *memory, struct flight *flight)
{
	flight->begun_ns = clock_monotonic_ns();
	if (flight->begun_ns < silent_owners_until_ns(&memory->silent, flight->origin.owner))
		return -EAGAIN;
	return open_program(memory, flight);
}

bool process_memory_is_unanswered(enum worker_outcome outcome)
{
	return outcome == WORKER_TIMED_OUT || outcome == WORKER_CRASHED ||
	       outcome == WORKER_MISBEHAVED;
}

/* A worker_answered_function. */
static void take_answer(void *context, const struct worker_answer *answer)
{
	struct process_memory *memory = context;
	struct flight *flight = &memory->flights[answer->file];

	flight->used = false;
	// Whatever the reason, the memory is opened anew next time. Without a worker nobody read
	// it.
	if (answer->outcome != WORKER_ANSWERED && answer->outcome != WORKER_MISSING)
		kept_memory_drop(&memory->kept, &flight->key);
	if (flight->is_look)
		looks_take_answer(memory, flight, answer);
	else
		frame_requests_take_answer(memory, flight, answer);
}

/* ---- the thread ---- */

/* Wait until @deadline_ns for something to do, and take it. False: it is the end. */
static bool take_looks(struct process_memory *memory, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	struct looks empty = memory->taken;
	bool stopping;

	empty.all.count = 0;
	pthread_mutex_lock(&memory->queue_lock);
	while (!memory->told.all.count && !memory->woken && !memory->stopping &&
	       !pthread_cond_clockwait(&memory->wake, &memory->queue_lock, CLOCK_MONOTONIC,
				       &deadline))
		;
	memory->taken = memory->told;
	memory->told = empty;
	memory->woken = false;
	stopping = memory->stopping;
	pthread_mutex_unlock(&memory->queue_lock);
	return !stopping;
}

static void trim_names(struct process_memory *memory)
{
	pthread_mutex_lock(&memory->lock);
	frame_names_trim(&memory->names);
	pthread_mutex_unlock(&memory->lock);
}

static void keep_house(struct process_memory *memory)
{
	uint64_t now;
	size_t bytes;

	pthread_mutex_lock(&memory->lock);
	bytes = memory->names.bytes;
	memory_metrics_show(&memory->metrics, &memory->names);
	pthread_mutex_unlock(&memory->lock);
	processes_account(memory->processes, (int64_t)(bytes - memory->accounted));
	memory->accounted = bytes;
	now = clock_monotonic_ns();
	kept_memory_trim(&memory->kept, now > KEEP_NS ? now - KEEP_NS : 0);
	worker_pool_run(memory->pool, 0); // ends what has been idle for long
}

static uint64_t next_deadline(struct process_memory *memory, uint64_t housekeeping)
{
	uint64_t due_ns;

	if (worker_pool_is_busy(memory->pool))
		return 0;
	pthread_mutex_lock(&memory->lock);
	due_ns = frame_names_due_ns(&memory->names);
	pthread_mutex_unlock(&memory->lock);
	return due_ns < housekeeping ? due_ns : housekeeping;
}

static void *run(void *context)
{
	struct process_memory *memory = context;
	struct housekeeping housekeeping = { 0 };

	pthread_setname_np(pthread_self(), "memory");
	for (;;) {
		if (!take_looks(memory, next_deadline(memory, housekeeping.due_ns)))
			return NULL;
		// Else nobody has called.
		if (clock_monotonic_ns() < housekeeping.due_ns)
			housekeeping_note_work(&housekeeping, clock_monotonic_ns());
		trim_names(memory);
		for (size_t i = 0; i < memory->taken.all.count; i++)
			looks_begin(memory, &memory->taken.all.items[i]);
		while (frame_requests_begin(memory))
			;
		if (worker_pool_is_busy(memory->pool))
			worker_pool_run(memory->pool, clock_monotonic_ns() + PASS_NS);
		if (housekeeping_is_due(&housekeeping, clock_monotonic_ns()))
			keep_house(memory);
	}
}

struct profcol_error *process_memory_start(struct process_memory *memory,
					   const struct process_memory_tables *tables)
{
	int status;

	memory->tables = *tables;
	status = pthread_create(&memory->thread, NULL, run, memory);
	if (status)
		return profcol_error_errno(status, "start the thread that reads memory");
	pthread_mutex_lock(&memory->lock);
	memory->running = true;
	pthread_mutex_unlock(&memory->lock);
	return NULL;
}

void process_memory_stop(struct process_memory *memory)
{
	if (!memory->running)
		return;
	pthread_mutex_lock(&memory->queue_lock);
	memory->stopping = true;
	pthread_cond_signal(&memory->wake);
	pthread_mutex_unlock(&memory->queue_lock);
	pthread_join(memory->thread, NULL);
	pthread_mutex_lock(&memory->lock);
	memory->running = false;
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
}
