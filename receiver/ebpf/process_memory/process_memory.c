// SPDX-License-Identifier: Apache-2.0
#include "process_memory.h"

#include "memory_metrics.h"
#include "silent_owners.h"

#include "worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
	LOOKS_MOST = 64,        /* that wait */
	QUESTIONS_MOST = 32768, /* the same */
	FLIGHTS = 40,           /* requests that workers have, and that wait for them */
	FRAMES_MOST = 512,      /* in one request: some milliseconds */
	REST_FACTOR = 4,        /* a process rests so many times as long as it was read... */
	MAP_REST_NS = 250,      /* ...or for each byte of the file that names its code */
	PASS_NS = 10000000,     /* while a worker reads, how long something new may have to wait */
	SOON_NS = 50000000,     /* whoever waits for names waits for those that are read by then */
	/* After a program was opened, until it is known whether it had executed another one. */
	OPENED_NS = 10000000,
};

/* A request that a worker has. */
struct flight {
	bool used;
	bool is_look;
	uint64_t begun_ns;  /* when its memory was to be opened */
	uint64_t opened_ns; /* when it was */
	struct process_look look;
	struct process_key key; /* of frames: */
	uint32_t runtime;
	struct runtime_frame frames[FRAMES_MOST];
	bool changed[FRAMES_MOST]; /* threads with another name than when they were sampled */
	size_t count;
	struct origin origin;      /* as of when they were taken, or it was looked at */
	struct code_map_state map; /* of the file that names code in memory of no file */
};

/* With room for LOOKS_MOST looks. */
struct memory_queue {
	VECTOR(struct process_look) looks;
	VECTOR(struct frame_question) questions;
};

struct process_memory {
	const struct profcol_host *host;
	struct processes *processes;
	struct process_memory_tables tables;
	struct worker_pool *pool; /* owned; of the thread */
	struct silent_owners silent;
	struct memory_metrics metrics;
	struct flight flights[FLIGHTS];           /* by tag */
	struct runtime_frame frames[FRAMES_MOST]; /* of threads that are being asked for */

	pthread_t thread;
	bool running;
	pthread_mutex_t queue_lock; /* over the next; held for moments */
	pthread_cond_t wake;
	struct memory_queue told;
	bool stopping;
	uint64_t asked;   /* questions so far */
	uint64_t dropped; /* those there was no room for */

	struct memory_queue taken; /* of the thread */

	pthread_mutex_t lock; /* over the next; held while texts are copied at most */
	pthread_cond_t answered;
	struct frame_names names;
	uint64_t known;   /* questions that have come to `names` */
	size_t accounted; /* bytes, with processes */
};

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
	if (!memory->pool || !VECTOR_RESERVE(&memory->told.looks, LOOKS_MOST) ||
	    !VECTOR_RESERVE(&memory->taken.looks, LOOKS_MOST)) {
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
	frame_names_deinit(&memory->names);
	VECTOR_DEINIT(&memory->told.looks);
	VECTOR_DEINIT(&memory->told.questions);
	VECTOR_DEINIT(&memory->taken.looks);
	VECTOR_DEINIT(&memory->taken.questions);
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
	room = memory->told.looks.count < LOOKS_MOST && !memory->stopping;
	if (room) {
		memory->told.looks.items[memory->told.looks.count++] = *look;
		pthread_cond_signal(&memory->wake);
	}
	pthread_mutex_unlock(&memory->queue_lock);
	return room;
}

void process_memory_ask(struct process_memory *memory, const struct frame_question *question)
{
	pthread_mutex_lock(&memory->queue_lock);
	if (memory->told.questions.count >= QUESTIONS_MOST ||
	    !VECTOR_PUSH(&memory->told.questions, *question))
		memory->dropped++;
	else if (++memory->asked && memory->told.questions.count == 1)
		pthread_cond_signal(&memory->wake);
	pthread_mutex_unlock(&memory->queue_lock);
}

void process_memory_settle(struct process_memory *memory, uint64_t deadline_ns)
{
	const struct timespec deadline = clock_timespec(deadline_ns);
	uint64_t now = clock_monotonic_ns(), asked;

	pthread_mutex_lock(&memory->queue_lock);
	asked = memory->asked;
	pthread_mutex_unlock(&memory->queue_lock);
	pthread_mutex_lock(&memory->lock);
	while (memory->running && (memory->known < asked ||
				   !frame_names_are_settled(&memory->names, now, now + SOON_NS)))
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
	if (processes_ran(memory->processes, &question->key, (*name_ret)->read_ns + OPENED_NS))
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

static struct flight *free_flight(struct process_memory *memory)
{
	for (size_t i = 0; i < FLIGHTS; i++)
		if (!memory->flights[i].used)
			return &memory->flights[i];
	return NULL;
}

/* Why a process is not read, by the negative errno of the try. */
static enum frame_state state_of_errno(int status)
{
	switch (-status) {
	case ENOENT:
	case ESRCH:
		return FRAME_ENDED;
	case ETIMEDOUT:
	case EAGAIN:
		return FRAME_SILENT;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return FRAME_CROWDED;
	default:
		return FRAME_UNREADABLE;
	}
}

/* A descriptor of the memory of @pid, or a negative errno: -EAGAIN while its owner is not read. */
static int open_for(struct process_memory *memory, uint32_t pid, struct flight *flight)
{
	int fd;

	flight->begun_ns = clock_monotonic_ns();
	fd = processes_open_memory(memory->processes, pid);
	flight->opened_ns = clock_monotonic_ns();
	if (fd == -EACCES || fd == -EPERM)
		memory_metrics_denied(&memory->metrics, memory->host);
	if (fd < 0 ||
	    flight->opened_ns >= silent_owners_until_ns(&memory->silent, flight->origin.owner))
		return fd;
	close(fd);
	return -EAGAIN;
}

static void tell_look(struct process_memory *memory, const struct process_look *look,
		      const struct process_looked *looked)
{
	memory->tables.looked(memory->tables.context, look, looked);
}

/* How the look of @flight ends that no worker was asked for, by the negative errno of the try. */
static struct process_looked looked_in_vain(const struct process_memory *memory,
					    const struct flight *flight, int status)
{
	struct process_looked looked = { .spent_ns = clock_monotonic_ns() - flight->begun_ns };

	switch (-status) {
	case EACCES:
	case EPERM:
		looked.refused = RUNTIME_REFUSED_MEMORY;
		break;
	case EAGAIN:
		looked.again_ns = silent_owners_until_ns(&memory->silent, flight->origin.owner);
		break;
	case ENOENT: // it has ended
	case ESRCH:
	case ENOMEM: // there was no room
	case EMFILE:
	case ENFILE:
		break;
	default:
		looked.unanswered = true;
	}
	return looked;
}

static void begin_look(struct process_memory *memory, const struct process_look *look)
{
	struct flight *flight = free_flight(memory);
	struct process_looked looked = { 0 };
	int fd;

	if (!flight) {
		tell_look(memory, look, &looked);
		return;
	}
	*flight = (struct flight){
		.is_look = true,
		.look = *look,
		.origin = processes_memory_origin(memory->processes, look->key.pid),
	};
	fd = open_for(memory, look->key.pid, flight);
	flight->used = true;
	if (fd >= 0 && worker_pool_ask_attach(memory->pool, (uint32_t)(flight - memory->flights),
					      flight->origin, fd, &look->process))
		return;
	flight->used = false;
	looked = looked_in_vain(memory, flight, fd < 0 ? fd : -ENOMEM);
	tell_look(memory, look, &looked);
}

/* Is @flight about threads? They are asked by themselves. */
static bool is_of_threads(const struct flight *flight)
{
	return !flight->is_look && flight->count && flight->frames[0].kind == RUNTIME_THREAD;
}

/* What becomes of the rest of what is wanted of a process. */
enum ending {
	END_FRAMES,     /* it is read */
	END_THREADS,    /* names of threads are not, ever */
	END_UNANSWERED, /* nothing is for a while: its memory gave no answer */
	END_OWNER,      /* nothing is before processes of its owner are */
	END_PROCESS,    /* nothing is, ever */
};

/* True when that is the first time that it gave no answer, or has given some meanwhile. */
static bool end_others(struct process_memory *memory, const struct flight *flight,
		       struct named_process *process, enum frame_state state, enum ending ending)
{
	uint64_t now = clock_monotonic_ns(), until_ns = UINT64_MAX;

	switch (ending) {
	case END_FRAMES:
		return false;
	case END_THREADS:
		frame_names_end_threads(&memory->names, process, state, now);
		return false;
	case END_UNANSWERED:
		return frame_names_fall_silent(&memory->names, process, state, now);
	case END_OWNER:
		until_ns = silent_owners_until_ns(&memory->silent, flight->origin.owner);
		break;
	case END_PROCESS:
		break;
	}
	frame_names_give_up(&memory->names, process, state, until_ns, now);
	return false;
}

/* Of the frames of @flight: @state, without a name. Returns what end_others does. */
static bool end_frames(struct process_memory *memory, const struct flight *flight,
		       enum frame_state state, enum ending ending)
{
	uint64_t now = clock_monotonic_ns();
	struct named_process *process;
	bool result = false;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	for (size_t i = 0; process && i < flight->count; i++)
		frame_names_learn(&memory->names, process, flight->runtime, &flight->frames[i],
				  state, NULL, now);
	if (process)
		result = end_others(memory, flight, process, state, ending);
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
	for (size_t i = 0; i < flight->count; i++)
		memory_metrics_count(&memory->metrics, flight->runtime, &flight->frames[i], state);
	return result;
}

/* The frames of @flight could not be asked for, since opening what they are read in has failed with
 * a negative errno. */
static void end_unopened(struct process_memory *memory, const struct flight *flight, int status)
{
	enum frame_state state = state_of_errno(status);
	enum ending ending = END_FRAMES;

	if (status == -EAGAIN)
		ending = END_OWNER;
	else if (state == FRAME_SILENT)
		ending = END_UNANSWERED;
	else if (state == FRAME_ENDED)
		ending = END_PROCESS;
	end_frames(memory, flight, state, ending);
}

/* The next frames to read, into @flight. */
static bool take_frames(struct process_memory *memory, struct flight *flight)
{
	struct named_process *process;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_next(&memory->names, clock_monotonic_ns());
	if (process) {
		flight->is_look = false;
		flight->key = process->key;
		flight->count =
			frame_names_take(process, &flight->runtime, flight->frames, FRAMES_MOST);
	}
	pthread_mutex_unlock(&memory->lock);
	return process;
}

/* Has the thread of @frame ended, or another name than when it was sampled? */
static bool is_renamed(const struct flight *flight, const struct runtime_frame *frame)
{
	return proc_thread_check_now(flight->key.pid, (uint32_t)frame->object) != frame->check;
}

/* The frames that the worker is asked for: threads by their own numbers. One that has ended, or is
 * called otherwise by now, has number 0, which no thread has. */
static const struct runtime_frame *asked_frames(struct process_memory *memory,
						const struct flight *flight)
{
	if (!is_of_threads(flight))
		return flight->frames;
	memcpy(memory->frames, flight->frames, flight->count * sizeof(*flight->frames));
	for (size_t i = 0; i < flight->count; i++) {
		struct runtime_frame *frame = &memory->frames[i];

		if (!is_renamed(flight, frame))
			proc_thread_number(flight->key.pid, (uint32_t)frame->object,
					   &frame->position);
	}
	return memory->frames;
}

/* Have the frames of @flight read by way of @fd, a descriptor or a negative errno. */
static void ask_frames(struct process_memory *memory, struct flight *flight, int fd,
		       const struct runtime_process *about)
{
	uint32_t tag = (uint32_t)(flight - memory->flights);

	flight->used = true;
	if (fd >= 0 && about &&
	    worker_pool_ask_names(memory->pool, tag, flight->origin, fd, about,
				  asked_frames(memory, flight), flight->count))
		return;
	if (fd >= 0 && !about &&
	    worker_pool_ask_map(memory->pool, tag, flight->origin, fd, flight->frames,
				flight->count))
		return;
	flight->used = false;
	end_unopened(memory, flight, fd < 0 ? fd : -ENOMEM);
}

/* The process of @flight has no map, or it has not grown: what is not named in it has no name. */
static void end_places(struct process_memory *memory, const struct flight *flight, bool has_map)
{
	struct named_process *process;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	if (process && !has_map)
		frame_names_note_no_map(process, clock_monotonic_ns());
	pthread_mutex_unlock(&memory->lock);
	end_frames(memory, flight, has_map ? FRAME_GONE : FRAME_UNKNOWN, END_FRAMES);
}

/* Were all places of @flight looked for when the file was as long as it is? */
static bool is_map_known(struct process_memory *memory, const struct flight *flight)
{
	const struct named_process *process;
	bool known;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	known = process && frame_names_know_map(&memory->names, process, flight->frames,
						flight->count, flight->map);
	pthread_mutex_unlock(&memory->lock);
	return known;
}

/* Code in memory of no file, by what the process itself calls it. */
static void begin_places(struct process_memory *memory, struct flight *flight)
{
	int fd;

	flight->begun_ns = clock_monotonic_ns();
	fd = processes_open_code_map(memory->processes, &flight->key, &flight->map);
	flight->opened_ns = clock_monotonic_ns();
	if (fd == -ENOENT || fd == -EPERM || fd == -ELOOP || fd == -ENXIO || fd == -EXDEV ||
	    fd == -ENOTDIR) {
		end_places(memory, flight, false);
	} else if (fd >= 0 && is_map_known(memory, flight)) {
		close(fd);
		end_places(memory, flight, true);
	} else {
		ask_frames(memory, flight, fd, NULL);
	}
}

/* The frames of @flight cannot be read yet: the runtime of their program is not known, or workers
 * have no room. */
static void postpone_frames(struct process_memory *memory, const struct flight *flight)
{
	uint64_t now = clock_monotonic_ns();
	struct named_process *process;
	bool postponed;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	postponed = process && frame_names_postpone(&memory->names, process, flight->runtime,
						    flight->frames, flight->count, now);
	pthread_mutex_unlock(&memory->lock);
	if (!postponed)
		end_frames(memory, flight, FRAME_UNKNOWN, END_FRAMES);
}

/* True when there may be more to begin. */
static bool begin_frames(struct process_memory *memory)
{
	struct flight *flight = free_flight(memory);
	struct runtime_process about;

	if (!flight || !take_frames(memory, flight))
		return false;
	flight->origin = processes_memory_origin(memory->processes, flight->key.pid);
	if (!worker_pool_has_room(memory->pool, flight->origin.owner))
		postpone_frames(memory, flight);
	else if (flight->runtime == RUNTIME_NONE)
		begin_places(memory, flight);
	else if (memory->tables.find(memory->tables.context, &flight->key, flight->runtime, &about))
		ask_frames(memory, flight, open_for(memory, flight->key.pid, flight), &about);
	else
		postpone_frames(memory, flight);
	return true;
}

/* ---- answers ---- */

static struct frame_name *make_name(const struct worker_answer *answer,
				    const struct worker_line *lines, size_t count, uint64_t read_ns)
{
	size_t bytes = sizeof(struct frame_name) + count * sizeof(struct frame_line);
	struct frame_name *name;
	size_t texts = bytes;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(answer->text + lines[i].function) +
			 strlen(answer->text + lines[i].file) +
			 strlen(answer->text + lines[i].system_name) + 3;
	name = malloc(bytes);
	if (!name)
		return NULL;
	*name = (struct frame_name){ .bytes = bytes, .read_ns = read_ns, .line_count = count };
	for (size_t i = 0; i < count; i++) {
		char *function = (char *)name + texts, *file, *system_name;

		file = stpcpy(function, answer->text + lines[i].function) + 1;
		system_name = stpcpy(file, answer->text + lines[i].file) + 1;
		texts = (size_t)(stpcpy(system_name, answer->text + lines[i].system_name) + 1 -
				 (char *)name);
		name->lines[i] = (struct frame_line){
			.function = function,
			.file = file,
			.system_name = system_name,
			.line = lines[i].line,
			.start_line = lines[i].start_line,
			.column = lines[i].column,
			.is_gap = lines[i].is_gap,
		};
	}
	return name;
}

static enum frame_state state_of_outcome(uint32_t outcome)
{
	switch (outcome) {
	case RUNTIME_NAMED:
		return FRAME_NAMED;
	case RUNTIME_GONE:
		return FRAME_GONE;
	case RUNTIME_UNREADABLE:
		return FRAME_UNREADABLE;
	default:
		return FRAME_MALFORMED;
	}
}

/*
 * How long its process is not read again. A file is read in some 5 ns a byte: it goes by its
 * length, since time also passes while others have the CPU, and so the fiftieth of one CPU is not
 * exceeded.
 */
static uint64_t rest_ns(const struct flight *flight, uint64_t now_ns)
{
	if (flight->runtime != RUNTIME_NONE)
		return REST_FACTOR * (now_ns - flight->begun_ns);
	return MAP_REST_NS *
	       (flight->map.bytes < WORKER_MAP_MOST ? flight->map.bytes : WORKER_MAP_MOST);
}

/* The answered frames of @flight; the lock is held. */
static void learn_frames(struct process_memory *memory, const struct flight *flight,
			 const struct worker_answer *answer, struct named_process *process)
{
	const struct worker_line *lines = answer->lines;
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < flight->count; i++) {
		const struct worker_named *named = &answer->named[i];
		enum frame_state state = state_of_outcome(named->outcome);
		struct frame_name *name = NULL;

		if (state == FRAME_NAMED && flight->changed[i])
			state = FRAME_GONE;
		if (state == FRAME_NAMED)
			name = make_name(answer, lines, named->line_count, flight->opened_ns);
		if (state == FRAME_NAMED && !name)
			state = FRAME_CROWDED;
		lines += named->line_count;
		memory_metrics_count(&memory->metrics, flight->runtime, &flight->frames[i], state);
		frame_names_learn(&memory->names, process, flight->runtime, &flight->frames[i],
				  state, name, now);
	}
	process->due_ns = now + rest_ns(flight, now);
	if (flight->runtime == RUNTIME_NONE)
		frame_names_note_map(&memory->names, process, flight->frames, flight->count,
				     flight->map);
}

/* Was there a worker that gave no answer? That may be the process's own fault. */
static bool is_fault(enum worker_outcome outcome)
{
	return outcome == WORKER_TIMED_OUT || outcome == WORKER_CRASHED ||
	       outcome == WORKER_MISBEHAVED;
}

static enum frame_state state_of_failure(enum worker_outcome outcome)
{
	if (outcome == WORKER_MISSING)
		return FRAME_CROWDED;
	return outcome == WORKER_TIMED_OUT ? FRAME_SILENT : FRAME_UNREADABLE;
}

/* There is no answer. One process counts once against its owner, until something of it has been
 * read. A list of many threads may be swapped out, where a frame's method is not. */
static void take_failure(struct process_memory *memory, const struct flight *flight,
			 enum worker_outcome outcome)
{
	enum ending ending = is_of_threads(flight) ? END_THREADS : END_UNANSWERED;
	bool counts = end_frames(memory, flight, state_of_failure(outcome),
				 is_fault(outcome) ? ending : END_FRAMES);

	if (counts && outcome == WORKER_TIMED_OUT && flight->runtime != RUNTIME_NONE)
		silent_owners_note(&memory->silent, flight->origin.owner, clock_monotonic_ns());
}

static void take_frames_answer(struct process_memory *memory, struct flight *flight,
			       const struct worker_answer *answer)
{
	struct named_process *process;

	if (answer->outcome != WORKER_ANSWERED) {
		take_failure(memory, flight, answer->outcome);
		return;
	}
	// The name was read between two looks at what the system calls the thread.
	for (size_t i = 0; i < flight->count; i++)
		flight->changed[i] =
			is_of_threads(flight) && is_renamed(flight, &flight->frames[i]);
	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	if (process)
		learn_frames(memory, flight, answer, process);
	frame_names_trim(&memory->names);
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
}

static void take_look_answer(struct process_memory *memory, struct flight *flight,
			     const struct worker_answer *answer)
{
	uint64_t now = clock_monotonic_ns();
	const struct process_looked looked = {
		.found = answer->found,
		.unanswered = is_fault(answer->outcome),
		.spent_ns = now - flight->begun_ns,
	};

	// One process counts once.
	if (answer->outcome == WORKER_TIMED_OUT && !flight->look.unanswered)
		silent_owners_note(&memory->silent, flight->origin.owner, now);
	tell_look(memory, &flight->look, &looked);
}

/* A worker_answered_function. */
static void take_answer(void *context, const struct worker_answer *answer)
{
	struct process_memory *memory = context;
	struct flight *flight = &memory->flights[answer->file];

	flight->used = false;
	if (flight->is_look)
		take_look_answer(memory, flight, answer);
	else
		take_frames_answer(memory, flight, answer);
}

/* ---- the thread ---- */

/* Wait until @deadline_ns for something to do, and take it. False: it is the end. */
static bool take_queue(struct process_memory *memory, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	struct memory_queue empty = memory->taken;
	bool stopping;

	empty.looks.count = empty.questions.count = 0;
	pthread_mutex_lock(&memory->queue_lock);
	while (!memory->told.looks.count && !memory->told.questions.count && !memory->stopping &&
	       !pthread_cond_clockwait(&memory->wake, &memory->queue_lock, CLOCK_MONOTONIC,
				       &deadline))
		;
	memory->taken = memory->told;
	memory->told = empty;
	stopping = memory->stopping;
	pthread_mutex_unlock(&memory->queue_lock);
	return !stopping;
}

static void take_questions(struct process_memory *memory)
{
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&memory->lock);
	for (size_t i = 0; i < memory->taken.questions.count; i++)
		frame_names_ask(&memory->names, &memory->taken.questions.items[i], now);
	frame_names_trim(&memory->names);
	memory->known += memory->taken.questions.count;
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
}

static void keep_house(struct process_memory *memory)
{
	size_t bytes;

	pthread_mutex_lock(&memory->lock);
	bytes = memory->names.bytes;
	memory_metrics_show(&memory->metrics, bytes, memory->names.evicted);
	pthread_mutex_unlock(&memory->lock);
	pthread_mutex_lock(&memory->queue_lock);
	memory_metrics_dropped(&memory->metrics, memory->dropped);
	pthread_mutex_unlock(&memory->queue_lock);
	processes_account(memory->processes, (int64_t)(bytes - memory->accounted));
	memory->accounted = bytes;
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
		if (!take_queue(memory, next_deadline(memory, housekeeping.due_ns)))
			return NULL;
		// Else nobody has called.
		if (clock_monotonic_ns() < housekeeping.due_ns)
			housekeeping_note_work(&housekeeping, clock_monotonic_ns());
		take_questions(memory);
		for (size_t i = 0; i < memory->taken.looks.count; i++)
			begin_look(memory, &memory->taken.looks.items[i]);
		while (begin_frames(memory))
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
