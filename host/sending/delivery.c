// SPDX-License-Identifier: Apache-2.0
#include "delivery.h"

#include "backoff.h"

#include "base/base.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	/* One after the other that are too large: halving from 2^31 bytes takes fewer. */
	REFUSALS_MAX = 64,
	/* What all pieces may have that one request is cut into, for each of its bytes. */
	PIECES_BYTES_PER_BYTE = 4,
};

static const char too_large[] = "too_large";

enum verdict {
	VERDICT_SETTLED, /* delivered, given up, or replaced by its pieces */
	VERDICT_LEFT,    /* the shutdown came first */
};

void delivery_init(struct delivery *delivery, struct delivery_route *route,
		   enum queue_phase last_attempt)
{
	*delivery = (struct delivery){
		.route = route,
		.last_attempt = last_attempt,
		.refused_bytes = SIZE_MAX,
	};
}

void delivery_deinit(struct delivery *delivery)
{
	parcels_deinit(&delivery->pending);
	profcol_error_destroy(delivery->error);
}

struct parcel_limits delivery_limits(struct delivery_route *route)
{
	return (struct parcel_limits){
		.max_bytes = peer_limit_bytes(&route->limit),
		.attribute_references = route->config->attribute_references,
		.is_stopped = &route->queue.is_cut,
	};
}

/* ---- giving up ---- */

/* Takes @error. @cause is a literal. */
static void give_up(struct delivery *delivery, const struct parcel *parcel, const char *cause,
		    struct profcol_error *error, const char *remedy)
{
	notices_drop(&delivery->route->notices, error, cause, parcel->samples, remedy);
	ledger_lose(&delivery->route->ledger, cause, parcel->samples);
	delivery->settled = true;
	if (!delivery->error)
		delivery->error = TAKE(error);
	profcol_error_destroy(error);
}

/* ---- cutting ---- */

enum cut {
	CUT_DONE,    /* its pieces are on the stack, or it was given up */
	CUT_WHOLE,   /* it cannot be cut, or not to any use */
	CUT_STOPPED, /* the shutdown came first */
};

/* Replace @parcel by pieces of @max_bytes on the stack. */
static enum cut cut(struct delivery *delivery, const struct parcel *parcel, size_t max_bytes)
{
	struct parcel_limits limits = delivery_limits(delivery->route);
	size_t before = delivery->pending.count;
	struct profcol_error *error;
	enum profcol_code code;

	limits.max_bytes = max_bytes;
	limits.max_total_bytes = PEER_LIMIT_LEAST + parcel->length * PIECES_BYTES_PER_BYTE;
	error = parcel_cut(parcel, &limits, &delivery->pending);
	if (!error)
		return delivery->pending.count > before ? CUT_DONE : CUT_WHOLE;
	code = profcol_error_code(error);
	if (code != PROFCOL_SHUTDOWN && code != PROFCOL_REJECTED) {
		give_up(delivery, parcel, profcol_code_name(code), error, "");
		return CUT_DONE;
	}
	profcol_error_destroy(error);
	return code == PROFCOL_SHUTDOWN ? CUT_STOPPED : CUT_WHOLE;
}

/*
 * The peer has just called @parcel too large; takes @error. Only a limit that is a limit
 * makes it worth to cut: one that a small piece is beyond is something else.
 */
static enum verdict cut_refused(struct delivery *delivery, const struct parcel *parcel,
				struct profcol_error *error)
{
	enum cut result = CUT_WHOLE;

	if (parcel->length < delivery->refused_bytes)
		delivery->refused_bytes = parcel->length;
	if (++delivery->refusals <= REFUSALS_MAX)
		result = cut(delivery, parcel, parcel->length / 2);
	else
		delivery->hopeless = true;
	if (result == CUT_WHOLE) {
		if (!delivery->taken && parcel->length < PEER_LIMIT_LEAST)
			delivery->hopeless = true;
		give_up(delivery, parcel, too_large, error, "");
		return VERDICT_SETTLED;
	}
	profcol_error_destroy(error);
	return result == CUT_STOPPED ? VERDICT_LEFT : VERDICT_SETTLED;
}

/* Cut what is known to be too large. True when @parcel needs no attempt. */
static bool cut_ahead(struct delivery *delivery, const struct parcel *parcel,
		      enum verdict *verdict_ret)
{
	size_t limit = peer_limit_bytes(&delivery->route->limit);
	bool refused = parcel->length >= delivery->refused_bytes;
	struct profcol_error *error;
	enum cut result;

	*verdict_ret = VERDICT_SETTLED;
	if (refused && limit > delivery->refused_bytes / 2)
		limit = delivery->refused_bytes / 2;
	if (limit < delivery->route->limit.least)
		limit = delivery->route->limit.least;
	if (parcel->length <= limit)
		return false;
	result = cut(delivery, parcel, limit);
	if (result == CUT_STOPPED)
		*verdict_ret = VERDICT_LEFT;
	if (result != CUT_WHOLE)
		return true;
	if (!refused)
		return false;
	error = profcol_error_create(PROFCOL_REJECTED,
				     "%zu bytes cannot be cut, and the peer does not take %zu",
				     parcel->length, delivery->refused_bytes);
	give_up(delivery, parcel, too_large, error, "");
	return true;
}

/* Nothing that is still pending would fare better than what was refused. */
static void give_up_hopeless(struct delivery *delivery, const struct parcel *parcel)
{
	give_up(delivery, parcel, too_large,
		profcol_error_create(PROFCOL_REJECTED,
				     "the peer finds even requests of %zu bytes too large",
				     delivery->refused_bytes),
		"");
}

/* A piece was taken where the whole was not: from now on make no larger ones. */
static void learn_limit(struct delivery *delivery, size_t taken_bytes)
{
	struct delivery_route *route = delivery->route;
	size_t limit;

	if (delivery->refused_bytes == SIZE_MAX) {
		peer_limit_count(&route->limit);
		return;
	}
	if (peer_limit_lower(&route->limit, delivery->refused_bytes, taken_bytes, &limit))
		profcol_log_warn(route->target.host->logger,
				 "the peer does not take requests of %zu bytes, splitting batches "
				 "into requests of %zu from now on; raise its limit, or set "
				 "max_request_bytes",
				 delivery->refused_bytes, limit);
}

/* ---- attempts ---- */

/* Owns the reply's message. */
static struct profcol_error *attempt(struct delivery *delivery, const struct parcel *parcel,
				     struct profcol_reply *reply)
{
	struct delivery_route *route = delivery->route;
	uint64_t end_ns = atomic_load(&route->attempts_end_ns);
	struct profcol_request request = {
		.bytes = parcel->bytes,
		.length = parcel->length,
		.samples = parcel->samples,
		.deadline_ns = UINT64_MAX,
		.profiles = otlp_count_profiles(parcel->bytes, parcel->length),
	};
	struct profcol_error *error;

	if (route->config->timeout_ns)
		request.deadline_ns = clock_monotonic_ns() + route->config->timeout_ns;
	if (request.deadline_ns > end_ns)
		request.deadline_ns = end_ns;
	*reply = (struct profcol_reply){ 0 };
	profcol_metric_add(route->ledger.in_flight, 1);
	error = route->target.type->send(route->target.self, &request, reply);
	profcol_metric_add(route->ledger.in_flight, -1);
	return error;
}

static void book_success(struct delivery *delivery, const struct parcel *parcel,
			 const struct profcol_reply *reply)
{
	struct delivery_route *route = delivery->route;
	uint64_t rejected = reply->rejected;

	if (rejected > parcel->samples)
		rejected = parcel->samples;
	if (rejected || reply->message)
		notices_reject(&route->notices, rejected, reply->message);
	if (rejected)
		ledger_lose(&route->ledger, "rejected_by_peer", rejected);
	ledger_send(&route->ledger, parcel->samples - rejected, parcel->length);
	notices_success(&route->notices);
	learn_limit(delivery, parcel->length);
	delivery->refusals = 0;
	delivery->taken = delivery->settled = true;
}

struct trial {
	const struct parcel *parcel; /* borrowed */
	struct backoff backoff;
	uint64_t give_up_ns; /* UINT64_MAX = never */
	bool last;           /* there will be no further attempt */
};

/* Wait for the next attempt, or settle. Takes @error. True: @verdict_ret is written. */
static bool judge(struct delivery *delivery, struct trial *trial, struct profcol_error *error,
		  const struct profcol_reply *reply, enum verdict *verdict_ret)
{
	struct delivery_route *route = delivery->route;
	enum profcol_code code = profcol_error_code(error);
	const char *cause = reply->cause ? reply->cause : profcol_code_name(code);
	uint64_t wait_ns, now_ns;

	*verdict_ret = VERDICT_SETTLED;
	if (reply->too_large && code != PROFCOL_THROTTLED) {
		*verdict_ret = cut_refused(delivery, trial->parcel, error);
		return true;
	}
	if (trial->last && (profcol_error_is_retryable(error) || code == PROFCOL_SHUTDOWN)) {
		*verdict_ret = VERDICT_LEFT;
		profcol_error_destroy(error);
		return true;
	}
	if (!profcol_error_is_retryable(error)) {
		give_up(delivery, trial->parcel, cause, error, "");
		return true;
	}
	if (!route->config->retry.enabled) {
		give_up(delivery, trial->parcel, cause, error,
			"; try enabling retry_on_failure to keep what may be delivered later");
		return true;
	}
	wait_ns = backoff_next(&trial->backoff);
	if (wait_ns < profcol_error_delay(error))
		wait_ns = profcol_error_delay(error);
	now_ns = clock_monotonic_ns();
	if (wait_ns >= trial->give_up_ns - now_ns || now_ns >= trial->give_up_ns) {
		give_up(delivery, trial->parcel, "retries_exhausted",
			profcol_error_prefix(error, "no more retries left"), "");
		return true;
	}
	notices_retry(&route->notices, error, wait_ns);
	profcol_error_destroy(error);
	queue_sleep(&route->queue, now_ns + wait_ns, delivery->last_attempt);
	profcol_metric_add(route->ledger.retries, 1);
	return false;
}

static enum verdict try_parcel(struct delivery *delivery, const struct parcel *parcel)
{
	const struct sending_retry_config *retry = &delivery->route->config->retry;
	uint64_t now_ns = clock_monotonic_ns();
	struct trial trial = { .parcel = parcel, .give_up_ns = UINT64_MAX };
	enum verdict verdict;

	if (delivery->hopeless) {
		give_up_hopeless(delivery, parcel);
		return VERDICT_SETTLED;
	}
	if (cut_ahead(delivery, parcel, &verdict))
		return verdict;
	if (retry->max_elapsed_ns && retry->max_elapsed_ns < UINT64_MAX - now_ns)
		trial.give_up_ns = now_ns + retry->max_elapsed_ns;
	backoff_init(&trial.backoff, retry, now_ns ^ (uintptr_t)delivery);
	for (;;) {
		enum queue_phase phase = queue_phase(&delivery->route->queue);
		struct profcol_reply reply;
		struct profcol_error *error;
		bool done = true;

		if (phase >= QUEUE_CUT)
			return VERDICT_LEFT;
		trial.last = phase >= delivery->last_attempt;
		error = attempt(delivery, parcel, &reply);
		// An attempt that the shutdown has ended is not worth another one.
		trial.last |= queue_phase(&delivery->route->queue) >= QUEUE_CUT;
		verdict = VERDICT_SETTLED;
		if (error)
			done = judge(delivery, &trial, error, &reply, &verdict);
		else
			book_success(delivery, parcel, &reply);
		free(reply.message);
		if (done)
			return verdict;
	}
}

bool delivery_run(struct delivery *delivery)
{
	while (delivery->pending.count) {
		struct parcel *top = &delivery->pending.items[delivery->pending.count - 1];
		struct parcel parcel = parcel_take(top);
		enum verdict verdict;

		delivery->pending.count--;
		verdict = try_parcel(delivery, &parcel);
		if (verdict == VERDICT_LEFT) {
			// Its place in the vector is still there.
			delivery->pending.items[delivery->pending.count++] = parcel;
			return false;
		}
		parcel_deinit(&parcel);
	}
	return true;
}

void delivery_book_damage(struct delivery_route *route, const struct queue_load *damage)
{
	if (!damage->requests)
		return;
	profcol_metric_add(route->ledger.damaged, (int64_t)damage->requests);
	ledger_lose(&route->ledger, "storage_damaged", damage->samples);
	profcol_log_error(route->target.host->logger,
			  "%" PRIu64 " queued requests are damaged on disk, going on without them; "
			  "samples in them, where that can still be read: %" PRIu64,
			  damage->requests, damage->samples);
}

struct queue_load delivery_load(struct delivery_route *route)
{
	uint64_t twice = atomic_load(&route->stored_twice);
	struct queue_load load = queue_load(&route->queue);

	load.samples = load.samples > twice ? load.samples - twice : 0;
	return load;
}

void delivery_show_queue(struct delivery_route *route)
{
	struct queue_load damage = queue_take_damage(&route->queue);
	struct queue_load load;

	delivery_book_damage(route, &damage);
	// A load of earlier, shown later, would stand until the next request came.
	pthread_mutex_lock(&route->showing);
	load = delivery_load(route);
	ledger_show_queue(&route->ledger, &load);
	pthread_mutex_unlock(&route->showing);
}
