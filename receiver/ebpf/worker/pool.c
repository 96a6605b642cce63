// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include "answer.h"
#include "base/base.h"
#include "memory_answer.h"
#include "process.h"
#include "usage.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

enum {
	POOL_PROCESSES = 4,
	POOL_MAX_QUEUED = 32, /* each holds a descriptor */
	START_BURST = 8,
};

#define MS 1000000ull

static const uint64_t request_limit_ns = 5000 * MS; /* a large program takes 0.1 s */
static const uint64_t start_limit_ns = 5000 * MS;
/*
 * Before a second worker helps those who wait; four times as long before each further one, for on a
 * machine that is overloaded all are slow, and more of them do not help.
 */
static const uint64_t patience_ns = 100 * MS;
static const uint64_t idle_limit_ns = 30000 * MS;    /* after which a worker ends, */
static const uint64_t spare_limit_ns = 10000 * MS;   /* and one beyond the first */
static const uint64_t start_interval_ns = 500 * MS;  /* sustained, after START_BURST at once */
static const uint64_t longest_pause_ns = 30000 * MS; /* between starts that fail */

struct worker_pool {
	const struct profcol_host *host; /* borrowed */
	worker_answered_function answered;
	void *context;
	struct worker_process processes[POOL_PROCESSES];
	_Atomic pid_t pids[POOL_PROCESSES]; /* of these, for other threads; 0: none */
	struct worker_request *first;       /* owned; waiting for a process */
	struct worker_request **last;
	size_t queued;
	size_t answers; /* since worker_pool_run was called */
	uint32_t last_id;
	uint64_t start_allowance_ns; /* when the starts so far would be even with the rate */
	unsigned int failed_starts;  /* in a row */
	uint64_t no_start_before_ns;
	char complaint[PROTOCOL_MAX_COMPLAINT + 1]; /* of the last start that failed */
	struct worker_page pages[WORKER_MAX_PAGES]; /* of the answer that is being reported */
	VECTOR(pid_t) dying; /* killed, not reaped yet: stuck in the kernel */
	struct profcol_metric *requests, *starts, *crashes, *timeouts, *bad_answers, *alive;
};

struct worker_pool *worker_pool_create(const struct profcol_host *host, const char *label,
				       worker_answered_function answered, void *context)
{
	struct worker_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->host = host;
	pool->answered = answered;
	pool->context = context;
	pool->last = &pool->first;
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		pool->processes[i].socket = -1;
	pool->requests = host->metric(host, PROFCOL_COUNTER, "worker_requests", label,
				      "times such processes were asked about a file, or a process");
	pool->starts = host->metric(host, PROFCOL_COUNTER, "worker_starts", label,
				    "processes started to read files of profiled programs");
	pool->crashes = host->metric(host, PROFCOL_COUNTER, "worker_crashes", label,
				     "such processes that died of a file");
	pool->timeouts = host->metric(host, PROFCOL_COUNTER, "worker_timeouts", label,
				      "such processes ended for working too long on a file");
	pool->bad_answers =
		host->metric(host, PROFCOL_COUNTER, "worker_bad_answers", label,
			     "such processes ended for an answer that failed the checks");
	pool->alive = host->metric(host, PROFCOL_GAUGE, "workers", label,
				   "processes that read files of profiled programs");
	return pool;
}

static void pool_reap(struct worker_pool *pool)
{
	for (size_t i = 0; i < pool->dying.count;) {
		if (waitpid(pool->dying.items[i], NULL, WNOHANG))
			pool->dying.items[i] = pool->dying.items[--pool->dying.count];
		else
			i++;
	}
}

static void pool_kill(struct worker_pool *pool, struct worker_process *process)
{
	pid_t pid;

	// Before it is reaped, after which the number may be another's.
	atomic_store(&pool->pids[process - pool->processes], 0);
	pid = worker_kill(process);
	profcol_metric_add(pool->alive, -1);
	if (pid && !VECTOR_PUSH(&pool->dying, pid))
		waitpid(pid, NULL, 0);
}

void worker_pool_destroy(struct worker_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (pool->processes[i].state != WORKER_NONE)
			pool_kill(pool, &pool->processes[i]);
	// A second is plenty unless the kernel itself hangs in a file system.
	for (unsigned int i = 0; pool->dying.count && i < 500; i++) {
		pool_reap(pool);
		if (pool->dying.count)
			poll(NULL, 0, 2);
	}
	VECTOR_DEINIT(&pool->dying);
	for (struct worker_request *request = pool->first, *next; request; request = next) {
		next = request->next;
		worker_request_destroy(request);
	}
	free(pool);
}

bool worker_pool_has_room(const struct worker_pool *pool)
{
	return pool->queued < POOL_MAX_QUEUED;
}

/* Queue a request with @head; what it asks for is still to be filled in. Takes @fds, which is
 * followed by -1s. NULL: no room or no memory. */
static struct worker_request *pool_add(struct worker_pool *pool, uint32_t file,
				       const int fds[PROTOCOL_MAX_FILES],
				       const struct protocol_request *head)
{
	struct worker_request *request = NULL;

	if (worker_pool_has_room(pool))
		request = malloc(sizeof(*request) + head->asked_count * sizeof(*request->asked));
	if (!request) {
		for (size_t i = 0; i < PROTOCOL_MAX_FILES; i++)
			if (fds[i] >= 0)
				close_later(fds[i]);
		return NULL;
	}
	*request = (struct worker_request){ .file = file, .head = *head };
	memcpy(request->fds, fds, sizeof(request->fds));
	if (!++pool->last_id) // 0 is the worker's first word
		pool->last_id++;
	request->head.magic = PROTOCOL_MAGIC;
	request->head.id = pool->last_id;
	*pool->last = request;
	pool->last = &request->next;
	pool->queued++;
	profcol_metric_add(pool->requests, 1);
	return request;
}

bool worker_pool_ask(struct worker_pool *pool, uint32_t file, int fd, const uint64_t *offsets,
		     size_t count)
{
	const struct protocol_request head = {
		.asked_count = (uint32_t)count,
		.kind = PROTOCOL_FUNCTIONS,
	};
	const int fds[PROTOCOL_MAX_FILES] = { fd, -1, -1 };
	struct worker_request *request;

	if (!count || count > WORKER_MAX_OFFSETS) {
		close_later(fd);
		return false;
	}
	request = pool_add(pool, file, fds, &head);
	if (request)
		memcpy(request->asked, offsets, count * sizeof(*offsets));
	return request;
}

bool worker_pool_ask_index(struct worker_pool *pool, uint32_t file,
			   const struct worker_index_files *files)
{
	const struct protocol_request head = {
		.asked_count = files->debug >= 0,
		.kind = PROTOCOL_INDEX,
	};
	const int fds[PROTOCOL_MAX_FILES] = { files->file, files->index, files->debug };
	struct worker_request *request = pool_add(pool, file, fds, &head);

	if (request && head.asked_count)
		request->asked[0] = files->debug_found_by;
	return request;
}

bool worker_pool_ask_lines(struct worker_pool *pool, uint32_t file, uint64_t content, int fd,
			   const uint64_t *addresses, size_t count)
{
	const struct protocol_request head = {
		.content = content,
		.asked_count = (uint32_t)count,
		.kind = PROTOCOL_LINES,
	};
	const int fds[PROTOCOL_MAX_FILES] = { fd, -1, -1 };
	struct worker_request *request;

	if (!count || count > WORKER_MAX_PLACES) {
		close_later(fd);
		return false;
	}
	request = pool_add(pool, file, fds, &head);
	if (request)
		memcpy(request->asked, addresses, count * sizeof(*addresses));
	return request;
}

bool worker_pool_ask_pages(struct worker_pool *pool, uint32_t file, uint64_t content, int fd,
			   const uint32_t *pages, size_t count)
{
	const struct protocol_request head = {
		.content = content,
		.asked_count = (uint32_t)count,
		.kind = PROTOCOL_PAGES,
	};
	const int fds[PROTOCOL_MAX_FILES] = { fd, -1, -1 };
	struct worker_request *request;

	if (count > WORKER_MAX_PAGES) {
		close_later(fd);
		return false;
	}
	request = pool_add(pool, file, fds, &head);
	for (size_t i = 0; request && i < count; i++)
		request->asked[i] = pages[i];
	return request;
}

static void *append(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return (char *)to + bytes;
}

/* A request of @kind about @process, with @frames. Takes @fd. */
static bool pool_ask_memory(struct worker_pool *pool, enum protocol_kind kind, uint32_t tag, int fd,
			    const struct runtime_process *process,
			    const struct runtime_frame *frames, size_t count)
{
	const struct protocol_process about = {
		.base = process->base,
		.number = process->runtime->number,
		.layout_bytes = (uint16_t)process->runtime->layout_bytes,
		.data_bytes = (uint16_t)process->data_bytes,
	};
	size_t bytes =
		sizeof(about) + about.layout_bytes + about.data_bytes + count * sizeof(*frames);
	const struct protocol_request head = {
		.asked_count = (uint32_t)(bytes / sizeof(uint64_t)),
		.kind = kind,
	};
	const int fds[PROTOCOL_MAX_FILES] = { fd, -1, -1 };
	struct worker_request *request = pool_add(pool, tag, fds, &head);
	void *to;

	if (!request)
		return false;
	to = append(request->asked, &about, sizeof(about));
	to = append(to, process->layout, about.layout_bytes);
	to = append(to, process->data, about.data_bytes);
	append(to, frames, count * sizeof(*frames));
	return true;
}

bool worker_pool_ask_attach(struct worker_pool *pool, uint32_t tag, int fd,
			    const struct runtime_process *process)
{
	return pool_ask_memory(pool, PROTOCOL_ATTACH, tag, fd, process, NULL, 0);
}

bool worker_pool_ask_names(struct worker_pool *pool, uint32_t tag, int fd,
			   const struct runtime_process *process,
			   const struct runtime_frame *frames, size_t count)
{
	if (count && count <= WORKER_MAX_FRAMES)
		return pool_ask_memory(pool, PROTOCOL_NAMES, tag, fd, process, frames, count);
	close_later(fd);
	return false;
}

bool worker_pool_ask_map(struct worker_pool *pool, uint32_t tag, int fd,
			 const struct runtime_frame *frames, size_t count)
{
	const struct protocol_request head = {
		.asked_count = (uint32_t)(count * sizeof(*frames) / sizeof(uint64_t)),
		.kind = PROTOCOL_MAP,
	};
	const int fds[PROTOCOL_MAX_FILES] = { fd, -1, -1 };
	struct worker_request *request;

	if (!count || count > WORKER_MAX_FRAMES) {
		close_later(fd);
		return false;
	}
	request = pool_add(pool, tag, fds, &head);
	if (request)
		memcpy(request->asked, frames, count * sizeof(*frames));
	return request;
}

static struct worker_request *pool_take_first(struct worker_pool *pool)
{
	struct worker_request *request = pool->first;

	pool->first = request->next;
	if (!pool->first)
		pool->last = &pool->first;
	request->next = NULL;
	pool->queued--;
	return request;
}

static void pool_put_first(struct worker_pool *pool, struct worker_request *request)
{
	request->next = pool->first;
	if (!pool->first)
		pool->last = &request->next;
	pool->first = request;
	pool->queued++;
}

bool worker_pool_is_busy(const struct worker_pool *pool)
{
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (pool->processes[i].state == WORKER_BUSY)
			return true;
	return pool->first;
}

/* Tell the asker what became of @request, with @answer filled in as far as there is one. */
static void pool_report(struct worker_pool *pool, const struct worker_request *request,
			struct worker_answer *answer)
{
	answer->file = request->file;
	answer->offsets = request->asked;
	answer->offset_count = request->head.asked_count;
	pool->answers++;
	pool->answered(pool->context, answer);
}

static void pool_report_outcome(struct worker_pool *pool, const struct worker_request *request,
				enum worker_outcome outcome)
{
	struct worker_answer answer = { .outcome = outcome };

	pool_report(pool, request, &answer);
}

/* End @process because of what it did with its request, and report that. */
static void pool_give_up(struct worker_pool *pool, struct worker_process *process,
			 enum worker_outcome outcome)
{
	struct worker_request *request = TAKE(process->request);

	profcol_metric_add(outcome == WORKER_CRASHED     ? pool->crashes
			   : outcome == WORKER_TIMED_OUT ? pool->timeouts
							 : pool->bad_answers,
			   1);
	pool_kill(pool, process);
	if (!request)
		return;
	pool_report_outcome(pool, request, outcome);
	worker_request_destroy(request);
}

static void pool_start_failed(struct worker_pool *pool, const char *why, size_t length)
{
	uint64_t pause_ns = 1000 * MS << (pool->failed_starts < 5 ? pool->failed_starts : 5);

	if (length > PROTOCOL_MAX_COMPLAINT)
		length = PROTOCOL_MAX_COMPLAINT;
	strings_sanitize_utf8(pool->complaint, why, length);
	pool->failed_starts++;
	if (pause_ns > longest_pause_ns)
		pause_ns = longest_pause_ns;
	pool->no_start_before_ns = clock_monotonic_ns() + pause_ns;
	if (pool->failed_starts == 2) // the first is worker_pool_start's to tell, or was a mishap
		profcol_log_warn(
			pool->host->logger,
			"cannot start the process that reads files of programs: %s; their "
			"names and unwind tables are missing until it starts, trying again every "
			"%llu s",
			pool->complaint, (unsigned long long)(longest_pause_ns / 1000 / MS));
}

static void pool_start_process(struct worker_pool *pool, struct worker_process *process,
			       uint64_t now_ns)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (pool->start_allowance_ns < now_ns)
		pool->start_allowance_ns = now_ns;
	pool->start_allowance_ns += start_interval_ns;
	error = worker_start(process, pool->host, now_ns);
	if (error) {
		const char *why = profcol_error_message(error);

		pool_start_failed(pool, why, strlen(why));
		return;
	}
	atomic_store(&pool->pids[process - pool->processes], process->pid);
	profcol_metric_add(pool->starts, 1);
	profcol_metric_add(pool->alive, 1);
}

static bool pool_read(struct worker_pool *pool, const struct worker_process *process,
		      struct worker_answer *ret)
{
	const struct worker_request *request = process->request;
	size_t bytes = process->header.body_bytes;

	switch (request->head.kind) {
	case PROTOCOL_INDEX:
		return answer_read_index(process->body, bytes, ret);
	case PROTOCOL_PAGES:
		return answer_read_pages(process->body, bytes, request->asked,
					 request->head.asked_count, pool->pages, ret);
	case PROTOCOL_LINES:
		return answer_read_lines(process->body, bytes, request->head.asked_count, ret);
	case PROTOCOL_ATTACH:
		return memory_answer_read_found(process->body, bytes, ret);
	case PROTOCOL_NAMES:
	case PROTOCOL_MAP:
		return memory_answer_read_names((enum protocol_kind)request->head.kind,
						process->body, bytes, request->asked,
						request->head.asked_count, ret);
	default:
		return answer_read(process->body, bytes, request->asked, request->head.asked_count,
				   ret);
	}
}

/* @process has said all of a message. */
static void pool_hear(struct worker_pool *pool, struct worker_process *process, uint64_t now_ns)
{
	const struct protocol_header *header = &process->header;
	struct worker_answer answer = { .outcome = WORKER_UNREADABLE };

	if (process->state == WORKER_STARTING) {
		if (header->status) {
			pool_start_failed(pool, process->body, header->body_bytes);
			pool_kill(pool, process);
			return;
		}
		pool->failed_starts = 0;
		worker_rest(process, now_ns);
		return;
	}
	if (!header->status && !pool_read(pool, process, &answer)) {
		pool_give_up(pool, process, WORKER_MISBEHAVED);
		return;
	}
	pool_report(pool, process->request, &answer);
	worker_rest(process, now_ns);
}

/* @process has closed its socket. */
static void pool_lose(struct worker_pool *pool, struct worker_process *process)
{
	char end[128];

	if (process->state == WORKER_STARTING) {
		worker_tell_end(process, end, sizeof(end));
		pool_start_failed(pool, end, strlen(end));
		pool_kill(pool, process);
	} else if (process->state == WORKER_BUSY && process->sent) {
		pool_give_up(pool, process, WORKER_CRASHED);
	} else {
		// It was dead before it saw the file.
		if (process->request)
			pool_put_first(pool, TAKE(process->request));
		pool_kill(pool, process);
	}
}

static void pool_advance(struct worker_pool *pool, struct worker_process *process)
{
	static const char babble[] = "its first words make no sense";
	uint64_t now_ns = clock_monotonic_ns();

	switch (worker_advance(process, now_ns)) {
	case WORKER_WAITS:
		break;
	case WORKER_SPOKE:
		pool_hear(pool, process, now_ns);
		break;
	case WORKER_ENDED:
		pool_lose(pool, process);
		break;
	case WORKER_BABBLED:
		if (process->state == WORKER_STARTING) {
			pool_start_failed(pool, babble, sizeof(babble) - 1);
			pool_kill(pool, process);
		} else {
			pool_give_up(pool, process, WORKER_MISBEHAVED);
		}
		break;
	}
}

static void pool_poll(struct worker_pool *pool, uint64_t timeout_ns)
{
	const struct timespec timeout = clock_timespec(timeout_ns);
	struct pollfd polled[POOL_PROCESSES];

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		const struct worker_process *process = &pool->processes[i];

		polled[i] = (struct pollfd){ .fd = process->socket, .events = POLLIN };
		if (worker_is_sending(process))
			polled[i].events |= POLLOUT;
	}
	if (ppoll(polled, POOL_PROCESSES, &timeout, NULL) <= 0)
		return;
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (polled[i].revents)
			pool_advance(pool, &pool->processes[i]);
}

static void pool_expire(struct worker_pool *pool, uint64_t now_ns)
{
	static const char slow[] = "it did not start in time";

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_BUSY &&
		    now_ns >= process->since_ns + request_limit_ns) {
			pool_give_up(pool, process, WORKER_TIMED_OUT);
		} else if (process->state == WORKER_STARTING &&
			   now_ns >= process->since_ns + start_limit_ns) {
			pool_start_failed(pool, slow, sizeof(slow) - 1);
			pool_kill(pool, process);
		} else if (process->state == WORKER_IDLE &&
			   now_ns >= process->since_ns + (i ? spare_limit_ns : idle_limit_ns)) {
			pool_kill(pool, process);
		}
	}
}

/*
 * When a process may be started for those who wait: at once if there is none, else when all have
 * been busy for a while. UINT64_MAX: not before something else happens.
 */
static uint64_t pool_next_start_ns(const struct worker_pool *pool)
{
	uint64_t burst_ns = START_BURST * start_interval_ns, start_ns = 0;
	size_t alive = 0;

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		const struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_NONE)
			continue;
		if (process->state != WORKER_BUSY)
			return UINT64_MAX; // it will be of use before a new one is
		alive++;
		if (process->since_ns > start_ns)
			start_ns = process->since_ns;
	}
	if (alive)
		start_ns += patience_ns << 2 * (alive - 1);
	if (!pool->first || alive == POOL_PROCESSES)
		return UINT64_MAX;
	if (pool->start_allowance_ns > start_ns + burst_ns)
		start_ns = pool->start_allowance_ns - burst_ns;
	if (pool->no_start_before_ns > start_ns)
		start_ns = pool->no_start_before_ns;
	return start_ns;
}

static bool pool_has_process(const struct worker_pool *pool)
{
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (pool->processes[i].state != WORKER_NONE)
			return true;
	return false;
}

/* Bring requests and processes together. */
static void pool_assign(struct worker_pool *pool, uint64_t now_ns)
{
	for (size_t i = 0; pool->first && i < POOL_PROCESSES; i++) {
		if (pool->processes[i].state != WORKER_IDLE)
			continue;
		worker_give(&pool->processes[i], pool_take_first(pool), now_ns);
		pool_advance(pool, &pool->processes[i]);
	}
	for (size_t i = 0; now_ns >= pool_next_start_ns(pool) && i < POOL_PROCESSES; i++)
		if (pool->processes[i].state == WORKER_NONE)
			pool_start_process(pool, &pool->processes[i], now_ns);
	// While none can be started, nobody should sit out a deadline for it.
	while (pool->first && pool->failed_starts && !pool_has_process(pool)) {
		struct worker_request *request = pool_take_first(pool);

		pool_report_outcome(pool, request, WORKER_MISSING);
		worker_request_destroy(request);
	}
}

static uint64_t pool_wake_ns(const struct worker_pool *pool, uint64_t deadline_ns)
{
	uint64_t wake_ns = pool_next_start_ns(pool);

	if (deadline_ns < wake_ns)
		wake_ns = deadline_ns;
	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		const struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_BUSY && process->since_ns + request_limit_ns < wake_ns)
			wake_ns = process->since_ns + request_limit_ns;
		if (process->state == WORKER_STARTING &&
		    process->since_ns + start_limit_ns < wake_ns)
			wake_ns = process->since_ns + start_limit_ns;
	}
	return wake_ns;
}

void worker_pool_use(const struct worker_pool *pool, struct worker_use *use)
{
	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		pid_t pid = atomic_load(&pool->pids[i]);

		if (pid)
			worker_usage_add(pid, use);
	}
}

size_t worker_pool_run(struct worker_pool *pool, uint64_t deadline_ns)
{
	pool->answers = 0;
	pool_reap(pool);
	for (uint64_t timeout_ns = 0;;) {
		uint64_t now_ns, wake_ns;

		pool_poll(pool, timeout_ns);
		now_ns = clock_monotonic_ns();
		pool_expire(pool, now_ns);
		pool_assign(pool, now_ns);
		if (pool->answers || !worker_pool_is_busy(pool) || now_ns >= deadline_ns)
			return pool->answers;
		wake_ns = pool_wake_ns(pool, deadline_ns);
		timeout_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
	}
}

struct profcol_error *worker_pool_start(struct worker_pool *pool)
{
	struct worker_process *process = &pool->processes[0];
	uint64_t deadline_ns = clock_monotonic_ns() + start_limit_ns;

	pool_start_process(pool, process, clock_monotonic_ns());
	while (process->state == WORKER_STARTING) {
		uint64_t now_ns = clock_monotonic_ns();

		pool_poll(pool, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
		pool_expire(pool, clock_monotonic_ns());
	}
	if (process->state == WORKER_IDLE)
		return NULL;
	return profcol_error_create(PROFCOL_SYSTEM,
				    "cannot start the process that reads files of programs: %s",
				    pool->complaint);
}
