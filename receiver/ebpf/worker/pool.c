// SPDX-License-Identifier: Apache-2.0
#include "pool_parts.h"

#include "answer.h"
#include "memory_answer.h"
#include "usage.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>

enum { SWITCHES = 4 }; /* starts for another owner that count as one */

static const uint64_t request_limit_ns = 5000 * MS;  /* a large program takes 0.1 s */
static const uint64_t late_limit_ns = 500 * MS;      /* more: the machine may have stood still */
static const uint64_t start_limit_ns = 30000 * MS;   /* a machine may be busy with much else */
static const uint64_t idle_limit_ns = 30000 * MS;    /* after which a worker ends, */
static const uint64_t spare_limit_ns = 10000 * MS;   /* and one beyond the first */
static const uint64_t longest_pause_ns = 30000 * MS; /* between starts that fail */

struct worker_pool *worker_pool_create(const struct profcol_host *host, const char *label,
				       uint32_t uid, worker_answered_function answered,
				       void *context)
{
	struct worker_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->host = host;
	pool->answered = answered;
	pool->context = context;
	pool->uid = uid;
	requests_init(&pool->requests);
	requests_init(&pool->refused);
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		pool->processes[i].socket = -1;
	pool->asked = host->metric(host, PROFCOL_COUNTER, "worker_requests", label,
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
	pool->put_off = host->metric(
		host, PROFCOL_COUNTER, "worker_put_off", label,
		"requests put off: processes hang on that file system or for that owner, or "
		"another owner had none");
	pool->alive = host->metric(host, PROFCOL_GAUGE, "workers", label,
				   "processes that read files of profiled programs");
	return pool;
}

void pool_kill(struct worker_pool *pool, struct worker_process *process)
{
	const struct origin origin = process->origin;
	pid_t pid;

	// Before it is reaped, after which the number may be another's.
	atomic_store(&pool->pids[process - pool->processes], 0);
	pid = worker_kill(process);
	profcol_metric_add(pool->alive, -1);
	if (pid)
		stuck_add(&pool->stuck, pid, origin, clock_monotonic_ns());
}

void worker_pool_destroy(struct worker_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (pool->processes[i].state != WORKER_NONE)
			pool_kill(pool, &pool->processes[i]);
	// A second is plenty unless the kernel itself hangs in a file system.
	for (unsigned int i = 0; pool->stuck.workers.count && i < 500; i++) {
		stuck_reap(&pool->stuck);
		if (pool->stuck.workers.count)
			poll(NULL, 0, 2);
	}
	stuck_deinit(&pool->stuck);
	requests_deinit(&pool->requests);
	requests_deinit(&pool->refused);
	free(pool);
}

bool worker_pool_is_busy(const struct worker_pool *pool)
{
	for (size_t i = 0; i < POOL_PROCESSES; i++)
		if (pool->processes[i].state == WORKER_BUSY)
			return true;
	return pool->requests.first || pool->refused.first;
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

void pool_report_outcome(struct worker_pool *pool, const struct worker_request *request,
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
	pool->bad_ends++;
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

void pool_start_process(struct worker_pool *pool, struct worker_process *process,
			struct owner owner, uint64_t now_ns)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (pool->start_allowance_ns < now_ns)
		pool->start_allowance_ns = now_ns;
	// The first, and those in the place of bad ones, count in full.
	pool->start_allowance_ns += owner_is(owner, OWNER_NOBODY) || pool->bad_ends
					    ? POOL_START_INTERVAL_NS
					    : POOL_START_INTERVAL_NS / SWITCHES;
	pool->bad_ends -= pool->bad_ends > 0;
	error = worker_start(process, pool->host, pool->uid, now_ns);
	if (error) {
		const char *why = profcol_error_message(error);

		pool_start_failed(pool, why, strlen(why));
		return;
	}
	process->origin.owner = owner;
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
		pool->bad_ends++;
		if (process->request)
			requests_add_first(&pool->requests, TAKE(process->request));
		pool_kill(pool, process);
	}
}

void pool_advance(struct worker_pool *pool, struct worker_process *process)
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

size_t pool_count_alive(const struct worker_pool *pool)
{
	size_t alive = 0;

	for (size_t i = 0; i < POOL_PROCESSES; i++)
		alive += pool->processes[i].state != WORKER_NONE;
	return alive;
}

static bool is_late(const struct worker_process *process)
{
	return process->late_ns > process->since_ns;
}

/* When a BUSY worker has had its time, or its moment if it has been late. */
static uint64_t limit_ns(const struct worker_process *process)
{
	return is_late(process) ? process->late_ns + late_limit_ns
				: process->since_ns + request_limit_ns;
}

/*
 * A worker is given up only after a moment in which we saw that it was late: where the whole
 * machine stood still, its answer comes in that moment, and its file is not at fault.
 */
static void pool_expire_busy(struct worker_pool *pool, struct worker_process *process,
			     uint64_t now_ns)
{
	if (now_ns < limit_ns(process))
		return;
	if (is_late(process))
		pool_give_up(pool, process, WORKER_TIMED_OUT);
	else
		process->late_ns = now_ns;
}

static void pool_expire(struct worker_pool *pool, uint64_t now_ns)
{
	static const char slow[] = "it did not start in time";
	size_t alive = pool_count_alive(pool);

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_BUSY) {
			pool_expire_busy(pool, process, now_ns);
		} else if (process->state == WORKER_STARTING &&
			   now_ns >= process->since_ns + start_limit_ns) {
			pool_start_failed(pool, slow, sizeof(slow) - 1);
			pool_kill(pool, process);
		} else if (process->state == WORKER_IDLE &&
			   now_ns >= process->since_ns +
					     (alive > 1 ? spare_limit_ns : idle_limit_ns)) {
			pool_kill(pool, process);
			alive--;
		}
	}
}

static uint64_t pool_wake_ns(const struct worker_pool *pool, uint64_t deadline_ns)
{
	uint64_t wake_ns = pool_next_start_ns(pool);

	if (deadline_ns < wake_ns)
		wake_ns = deadline_ns;
	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		const struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_BUSY && limit_ns(process) < wake_ns)
			wake_ns = limit_ns(process);
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
	stuck_reap(&pool->stuck);
	pool_report_refused(pool);
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

	pool_start_process(pool, process, OWNER_NOBODY, clock_monotonic_ns());
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
