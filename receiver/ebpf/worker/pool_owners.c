// SPDX-License-Identifier: Apache-2.0
/*
 * Which process reads whose bytes. Each reads those of one owner. An owner whose requests wait
 * behind slow ones gets more of them, as long as others find a place.
 */
#include "pool_parts.h"

/*
 * Before a second process helps those who wait; four times as long before each further one, for on
 * a machine that is overloaded all are slow, and more of them do not help.
 */
static const uint64_t patience_ns = 100 * MS;

/* Of one owner. */
struct owned {
	size_t busy;
	size_t paid;       /* busy ones of all owners for whom the same one pays */
	bool soon;         /* one is idle, or starts */
	uint64_t since_ns; /* of the busy ones, when the last one began */
};

/* Has it read nobody's bytes yet? */
static bool is_free(const struct worker_process *process)
{
	return owner_is(process->origin.owner, OWNER_NOBODY);
}

static struct owned pool_owned(const struct worker_pool *pool, struct owner owner)
{
	struct owned owned = { 0 };

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		const struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_NONE)
			continue;
		owned.paid += process->state == WORKER_BUSY &&
			      owner_pays_with(process->origin.owner, owner);
		if (!is_free(process) && !owner_is(process->origin.owner, owner))
			continue;
		if (process->state != WORKER_BUSY) {
			owned.soon = true;
			continue;
		}
		owned.busy++;
		if (process->since_ns > owned.since_ns)
			owned.since_ns = process->since_ns;
	}
	return owned;
}

/* A place for a new process: a free one, or that of the one that has been idle for longest. */
static struct worker_process *pool_place(struct worker_pool *pool)
{
	struct worker_process *place = NULL;

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		struct worker_process *process = &pool->processes[i];

		if (process->state == WORKER_NONE)
			return process;
		if (process->state == WORKER_IDLE &&
		    (!place || process->since_ns < place->since_ns))
			place = process;
	}
	return place;
}

/* The busy process that who pays for several can do without: the last that began. */
static struct worker_process *pool_spare(struct worker_pool *pool)
{
	struct worker_process *spare = NULL;
	size_t most = 1;

	for (size_t i = 0; i < POOL_PROCESSES; i++) {
		struct worker_process *process = &pool->processes[i];
		struct owned owned;

		if (process->state != WORKER_BUSY)
			continue;
		owned = pool_owned(pool, process->origin.owner);
		if (owned.paid > most ||
		    (spare && owned.paid == most && process->since_ns > spare->since_ns)) {
			most = owned.paid;
			spare = process;
		}
	}
	return spare;
}

/* When a process may be started for @request, places apart. */
static uint64_t start_for_ns(const struct worker_pool *pool, const struct worker_request *request)
{
	struct owned owned = pool_owned(pool, request->origin.owner);

	if (owned.soon || owned.paid >= POOL_OF_PAYER)
		return UINT64_MAX;
	return owned.busy ? owned.since_ns + (patience_ns << 2 * (owned.busy - 1)) : 0;
}

/* A process that is to be started. */
struct start {
	const struct worker_request *request; /* for which; NULL: none */
	struct worker_process *place;
	uint64_t at_ns;
};

/* The next start for those who wait. What has no place may take one of who has several. */
static struct start pool_next_start(struct worker_pool *pool)
{
	struct worker_process *place = pool_place(pool), *spare = place ? NULL : pool_spare(pool);
	struct start next = { .at_ns = UINT64_MAX };

	for (const struct worker_request *request = pool->requests.first;
	     request && (place || spare); request = request->next) {
		uint64_t at_ns = start_for_ns(pool, request);

		// What is taken from who has several is for who has none.
		if (!place && (at_ns || pool_owned(pool, request->origin.owner).paid))
			continue;
		if (!place)
			at_ns = request->since_ns + patience_ns;
		if (at_ns < next.at_ns)
			next = (struct start){ request, place ? place : spare, at_ns };
	}
	return next;
}

/* When starts are allowed again: seldom if they are many, and after a pause if they fail. */
static uint64_t pool_allowed_ns(const struct worker_pool *pool)
{
	uint64_t burst_ns = POOL_START_BURST * POOL_START_INTERVAL_NS, at_ns = 0;

	if (pool->start_allowance_ns > burst_ns)
		at_ns = pool->start_allowance_ns - burst_ns;
	return pool->no_start_before_ns > at_ns ? pool->no_start_before_ns : at_ns;
}

uint64_t pool_next_start_ns(const struct worker_pool *pool)
{
	uint64_t at_ns = pool_next_start((struct worker_pool *)(uintptr_t)pool).at_ns;
	uint64_t allowed_ns = pool_allowed_ns(pool);

	return at_ns > allowed_ns ? at_ns : allowed_ns;
}

/* Nothing comes of @request (taken) now: it is to be asked again. */
static void pool_put_off(struct worker_pool *pool, struct worker_request *request)
{
	profcol_metric_add(pool->put_off, 1);
	pool_report_outcome(pool, request, WORKER_MISSING);
	worker_request_destroy(request);
}

/* Whatever stands in @place goes. */
static void pool_clear(struct worker_pool *pool, struct worker_process *place)
{
	struct worker_request *request = TAKE(place->request);

	if (place->state == WORKER_NONE)
		return;
	pool_kill(pool, place);
	if (request)
		pool_put_off(pool, request);
}

/* Hand requests to processes that have nothing to do. */
static void pool_hand_out(struct worker_pool *pool, uint64_t now_ns)
{
	for (size_t i = 0; pool->requests.first && i < POOL_PROCESSES; i++) {
		struct worker_process *process = &pool->processes[i];
		struct worker_request *request;

		if (process->state != WORKER_IDLE)
			continue;
		request = is_free(process)
				  ? requests_take(&pool->requests)
				  : requests_take_of(&pool->requests, process->origin.owner);
		if (!request)
			continue;
		worker_give(process, request, now_ns);
		pool_advance(pool, process);
	}
}

void pool_assign(struct worker_pool *pool, uint64_t now_ns)
{
	pool_hand_out(pool, now_ns);
	for (size_t i = 0; i < POOL_PROCESSES && now_ns >= pool_next_start_ns(pool); i++) {
		struct start start = pool_next_start(pool);
		struct owner owner = start.request->origin.owner;

		pool_clear(pool, start.place);
		pool_start_process(pool, start.place, owner, now_ns);
	}
	// While none can be started, nobody should sit out a deadline for it.
	while (pool->requests.first && pool->failed_starts && !pool_count_alive(pool))
		pool_put_off(pool, requests_take(&pool->requests));
}

void pool_report_refused(struct worker_pool *pool)
{
	struct worker_request *request;

	while ((request = requests_take(&pool->refused)))
		pool_put_off(pool, request);
}
