// SPDX-License-Identifier: Apache-2.0
#include "process_memory_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	REST_FACTOR = 4,   /* a process rests so many times as long as it was read... */
	MAP_REST_NS = 250, /* ...or for each byte of the file that names its code */
};

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

/* Is @flight about threads? They are asked by themselves. */
static bool is_of_threads(const struct flight *flight)
{
	return !flight->is_look && flight->count && flight->frames[0].kind == RUNTIME_THREAD;
}

/* An ending says whether the other frames and threads of a process are still read. */
enum ending {
	END_FRAMES,     /* they are */
	END_THREADS,    /* names of threads are not for a while */
	END_UNANSWERED, /* nothing is for a while: its memory gave no answer */
	END_OWNER,      /* nothing is before processes of its owner are */
	END_PROCESS,    /* nothing is, ever */
};

static void end_others(struct process_memory *memory, const struct flight *flight,
		       struct named_process *process, enum frame_state state, enum ending ending)
{
	uint64_t now = clock_monotonic_ns(), until_ns = UINT64_MAX;

	switch (ending) {
	case END_FRAMES:
		return;
	case END_THREADS:
		frame_names_rest_threads(&memory->names, process, state, now);
		return;
	case END_UNANSWERED:
		frame_names_fall_silent(&memory->names, process, state, now);
		return;
	case END_OWNER:
		until_ns = silent_owners_until_ns(&memory->silent, flight->origin.owner);
		break;
	case END_PROCESS:
		break;
	}
	frame_names_give_up(&memory->names, process, state, until_ns, now);
}

/* Of the frames of @flight: @state, without a name. */
static void end_frames(struct process_memory *memory, const struct flight *flight,
		       enum frame_state state, enum ending ending)
{
	uint64_t now = clock_monotonic_ns();
	struct named_process *process;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	for (size_t i = 0; process && i < flight->count; i++)
		frame_names_learn(&memory->names, process, flight->runtime, &flight->frames[i],
				  state, NULL, now);
	if (process)
		end_others(memory, flight, process, state, ending);
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
	for (size_t i = 0; i < flight->count; i++)
		memory_metrics_count(&memory->metrics, flight->runtime, &flight->frames[i], state);
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
		close_later(fd, flight->origin.payer);
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

static void note_owner(struct process_memory *memory, const struct flight *flight)
{
	struct named_process *process;

	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	if (process)
		frame_names_note_owner(&memory->names, process, flight->origin.owner);
	pthread_mutex_unlock(&memory->lock);
}

bool frame_requests_begin(struct process_memory *memory)
{
	struct flight *flight = process_memory_flight(memory);
	struct runtime_process about;

	if (!flight || !take_frames(memory, flight))
		return false;
	flight->origin = processes_memory_origin(memory->processes, flight->key.pid);
	note_owner(memory, flight);
	if (!worker_pool_has_room(memory->pool, flight->origin.owner))
		postpone_frames(memory, flight);
	else if (flight->runtime == RUNTIME_NONE)
		begin_places(memory, flight);
	else if (memory->tables.find(memory->tables.context, &flight->key, flight->runtime, &about))
		ask_frames(memory, flight, process_memory_open(memory, flight), &about);
	else
		postpone_frames(memory, flight);
	return true;
}

/* ---- answers ---- */

static struct frame_name *make_name(const struct worker_answer *answer,
				    const struct worker_line *lines, size_t count,
				    const struct flight *flight)
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
	*name = (struct frame_name){ .bytes = bytes,
				     .opened_ns = flight->opened_ns,
				     .read_ns = flight->begun_ns,
				     .line_count = count };
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
	case RUNTIME_ENDED:
		return FRAME_ENDED;
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

static bool had_no_memory(const struct worker_answer *answer)
{
	for (size_t i = 0; i < answer->named_count; i++)
		if (answer->named[i].outcome == RUNTIME_ENDED)
			return true;
	return false;
}

/* The answered frames of @flight; the lock is held. If there was no memory to read, and the process
 * @lives all the same, what was opened may have been that of a thread that was about to end, or the
 * process runs another program. */
static void learn_frames(struct process_memory *memory, const struct flight *flight,
			 const struct worker_answer *answer, bool lives,
			 struct named_process *process)
{
	const struct worker_line *lines = answer->lines;
	uint64_t now = clock_monotonic_ns();
	bool told = flight->runtime != RUNTIME_NONE && !is_of_threads(flight), ended = false;
	size_t gone = 0;

	for (size_t i = 0; i < flight->count; i++) {
		const struct worker_named *named = &answer->named[i];
		enum frame_state state = state_of_outcome(named->outcome);
		struct frame_name *name = NULL;

		if (state == FRAME_ENDED && lives)
			state = FRAME_UNREADABLE;
		if (state == FRAME_NAMED && flight->changed[i])
			state = FRAME_GONE;
		if (state == FRAME_NAMED)
			name = make_name(answer, lines, named->line_count, flight);
		if (state == FRAME_NAMED && !name)
			state = FRAME_CROWDED;
		lines += named->line_count;
		ended |= state == FRAME_ENDED;
		gone += state == FRAME_GONE;
		memory_metrics_count(&memory->metrics, flight->runtime, &flight->frames[i], state);
		frame_names_learn(&memory->names, process, flight->runtime, &flight->frames[i],
				  state, name, now);
	}
	if (ended)
		frame_names_give_up(&memory->names, process, FRAME_ENDED, UINT64_MAX, now);
	frame_names_note_answer(process, told ? flight->count : 0, told ? gone : 0,
				now + rest_ns(flight, now));
	if (flight->runtime == RUNTIME_NONE)
		frame_names_note_map(&memory->names, process, flight->frames, flight->count,
				     flight->map);
}

static enum frame_state state_of_failure(enum worker_outcome outcome)
{
	if (outcome == WORKER_MISSING)
		return FRAME_CROWDED;
	return outcome == WORKER_TIMED_OUT ? FRAME_SILENT : FRAME_UNREADABLE;
}

/* There is no answer. A list of many threads may be swapped out, where a frame's method is not:
 * that does not count against its owner. */
static void take_failure(struct process_memory *memory, const struct flight *flight,
			 enum worker_outcome outcome)
{
	enum ending ending = is_of_threads(flight) ? END_THREADS : END_UNANSWERED;

	end_frames(memory, flight, state_of_failure(outcome),
		   process_memory_is_unanswered(outcome) ? ending : END_FRAMES);
	if (ending == END_UNANSWERED && outcome == WORKER_TIMED_OUT &&
	    flight->runtime != RUNTIME_NONE)
		silent_owners_note(&memory->silent, flight->origin.owner, &flight->key,
				   clock_monotonic_ns());
}

void frame_requests_take_answer(struct process_memory *memory, struct flight *flight,
				const struct worker_answer *answer)
{
	struct named_process *process;
	bool lives = false;

	if (answer->outcome != WORKER_ANSWERED) {
		take_failure(memory, flight, answer->outcome);
		return;
	}
	if (flight->runtime != RUNTIME_NONE)
		silent_owners_note_answer(&memory->silent, flight->origin.owner, &flight->key);
	// The name was read between two looks at what the system calls the thread.
	for (size_t i = 0; i < flight->count; i++)
		flight->changed[i] =
			is_of_threads(flight) && is_renamed(flight, &flight->frames[i]);
	if (had_no_memory(answer)) {
		kept_memory_drop(&memory->kept, &flight->key);
		lives = proc_is_alive(flight->key.pid);
	}
	pthread_mutex_lock(&memory->lock);
	process = frame_names_process(&memory->names, &flight->key);
	if (process)
		learn_frames(memory, flight, answer, lives, process);
	frame_names_trim(&memory->names);
	pthread_cond_broadcast(&memory->answered);
	pthread_mutex_unlock(&memory->lock);
}
