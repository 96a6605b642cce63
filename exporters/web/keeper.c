// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include "answer.h"
#include "history.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/batch.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Parts of `memory`. */
enum { INBOX_PART = 8, TAP_PART = 8 };

static const uint64_t age_interval_ns = 5 * PROFCOL_SECOND;
static const uint64_t token_interval_ns = 10 * PROFCOL_SECOND;
/* That the samples of a profile may come after its end: the interval of a reporter. */
static const uint64_t tap_grace_ns = 10 * PROFCOL_SECOND;

/* A profile that is being taken. */
struct tap {
	struct profcol_http_call *call; /* owned, as the next two */
	struct parameters parameters;
	struct history *history;
	struct history_range range;
};

struct keeper {
	const struct profcol_host *host; /* borrowed, as the next two */
	const struct web_config *config;
	struct access *access;

	pthread_mutex_t lock; /* protects the next five */
	pthread_cond_t changed;
	VECTOR(struct profcol_batch *) inbox; /* references */
	uint64_t inbox_bytes;                 /* with what is being taken in */
	VECTOR(struct profcol_http_call *) calls;
	bool stopping;

	pthread_t thread;
	bool runs;
	atomic_uint_least64_t refused_samples;
	struct profcol_metric *memory, *kept, *evicted, *expired, *queries, *refused_queries;

	/* The thread's own. */
	struct history *history;
	struct tap taps[KEEPER_TAPS_MAX];
	size_t tap_count;
	uint64_t newest_ns;         /* Unix time up to which there are samples */
	uint64_t aged_ns, token_ns; /* CLOCK_MONOTONIC: when that was done last */
	bool token_failed;
};

/* ---- life ---- */

static void register_metrics(struct keeper *keeper)
{
	const struct profcol_host *host = keeper->host;

	keeper->memory = host->metric(host, PROFCOL_GAUGE, "web_memory_bytes", "",
				      "memory of the profiles that are kept");
	keeper->kept =
		host->metric(host, PROFCOL_GAUGE, "web_kept_samples", "", "samples that are kept");
	keeper->evicted = host->metric(host, PROFCOL_COUNTER, "web_evicted_samples", "",
				       "samples that made room for newer ones");
	keeper->expired = host->metric(host, PROFCOL_COUNTER, "web_expired_samples", "",
				       "samples that were kept for as long as configured");
	keeper->queries = host->metric(host, PROFCOL_COUNTER, "web_queries", "",
				       "requests that were answered from what is kept");
	keeper->refused_queries = host->metric(host, PROFCOL_COUNTER, "web_refused_queries", "",
					       "requests that came when too many were waiting");
}

struct keeper *keeper_create(const struct profcol_host *host, const struct web_config *config,
			     struct access *access)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	pthread_condattr_t attributes;
	struct history_settings settings = {
		.retention_ns = config->retention_ns,
		.memory_bytes = config->memory_bytes - config->memory_bytes / INBOX_PART,
	};

	if (!keeper)
		return NULL;
	keeper->host = host;
	keeper->config = config;
	keeper->access = access;
	pthread_mutex_init(&keeper->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	register_metrics(keeper);
	keeper->history = history_create(&settings);
	if (keeper->history)
		return keeper;
	keeper_destroy(keeper);
	return NULL;
}

void keeper_destroy(struct keeper *keeper)
{
	if (!keeper)
		return;
	for (size_t i = 0; i < keeper->inbox.count; i++)
		profcol_batch_unref(keeper->inbox.items[i]);
	VECTOR_DEINIT(&keeper->inbox);
	VECTOR_DEINIT(&keeper->calls);
	history_destroy(keeper->history);
	pthread_cond_destroy(&keeper->changed);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
}

/* ---- what comes in ---- */

static void book_lost(struct keeper *keeper, const char *cause, uint64_t events)
{
	keeper->host->account(keeper->host, PROFCOL_LOST, cause, events);
	atomic_fetch_add(&keeper->refused_samples, events);
}

void keeper_append(struct keeper *keeper, struct profcol_batch *batch)
{
	uint64_t bytes = profile_memory(batch);
	uint64_t limit = keeper->config->memory_bytes / INBOX_PART;
	bool fits;

	pthread_mutex_lock(&keeper->lock);
	// One alone may be larger: it is there anyway.
	fits = (!keeper->inbox_bytes || keeper->inbox_bytes + bytes <= limit) &&
	       VECTOR_PUSH(&keeper->inbox, batch);
	if (fits) {
		keeper->inbox_bytes += bytes;
		pthread_cond_signal(&keeper->changed);
	}
	pthread_mutex_unlock(&keeper->lock);
	if (fits)
		return;
	book_lost(keeper, "inbox_full", profcol_batch_events(batch));
	profcol_batch_unref(batch);
}

/* The end of the last window in @batch, but not the future. */
static uint64_t find_end(const struct profcol_batch *batch, uint64_t now_ns)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	uint64_t newest = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);
		uint64_t end = profile.time_unix_ns + profile.duration_ns;

		if (end >= profile.time_unix_ns && end <= now_ns && end > newest)
			newest = end;
	}
	return newest;
}

static void take_in(struct keeper *keeper, const struct profcol_batch *batch)
{
	uint64_t now_ns = clock_realtime_ns(), events = profcol_batch_events(batch);
	uint64_t end_ns = find_end(batch, now_ns);
	struct profcol_error *error;

	for (size_t i = 0; i < keeper->tap_count; i++) {
		struct tap *tap = &keeper->taps[i];

		// Without memory the history starts anew, and says that samples are missing.
		error = history_add(tap->history, batch, &tap->range, now_ns);
		profcol_error_destroy(error);
	}
	error = history_add(keeper->history, batch, NULL, now_ns);
	if (error)
		book_lost(keeper, "no_memory", events);
	else
		keeper->host->account(keeper->host, PROFCOL_EXPORTED, NULL, events);
	profcol_error_destroy(error);
	if (end_ns > keeper->newest_ns)
		keeper->newest_ns = end_ns;
}

/* ---- requests ---- */

static void answer(struct keeper *keeper, struct profcol_http_call *call,
		   struct profcol_http_answer *answer)
{
	keeper->host->http_answer(call, answer);
}

static void refuse(struct keeper *keeper, struct profcol_http_call *call, int status,
		   const char *text)
{
	struct profcol_http_answer refusal = { .size = sizeof(refusal) };

	answer_refuse(&refusal, status, text);
	answer(keeper, call, &refusal);
}

static bool is_static(enum answer_route route)
{
	return route == ROUTE_NONE || route == ROUTE_PAGE || route == ROUTE_SCRIPT ||
	       route == ROUTE_STYLE || route == ROUTE_PPROF_INDEX || route == ROUTE_PPROF_OTHER;
}

void keeper_take(struct keeper *keeper, struct profcol_http_call *call)
{
	enum answer_route route = answer_find_route(call->request.path);
	struct profcol_http_answer fixed = { .size = sizeof(fixed) };
	bool fits;

	switch (access_check(keeper->access, call)) {
	case ACCESS_GRANTED:
		break;
	case ACCESS_WRONG_HOST:
		refuse(keeper, call, 421,
		       "this server is not known by that name; ask for localhost or an address, or "
		       "list the name in 'hosts'");
		return;
	case ACCESS_NO_TOKEN:
		refuse(keeper, call, 401,
		       "show the token, as a bearer token or as the password of any user");
		return;
	}
	if (is_static(route)) {
		answer_make(NULL, route, NULL, &fixed);
		answer(keeper, call, &fixed);
		return;
	}
	pthread_mutex_lock(&keeper->lock);
	fits = keeper->calls.count < KEEPER_CALLS_MAX && VECTOR_PUSH(&keeper->calls, call);
	if (fits)
		pthread_cond_signal(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
	if (fits)
		return;
	profcol_metric_add(keeper->refused_queries, 1);
	refuse(keeper, call, 503, "too many requests are waiting; try again in a moment");
}

static struct answer_context context(const struct keeper *keeper, const struct history *history)
{
	return (struct answer_context){
		.host = keeper->host,
		.history = history,
		.version = keeper->host->version,
		.retention_ns = keeper->config->retention_ns,
		.memory_bytes = keeper->config->memory_bytes,
		.refused_samples = atomic_load(&keeper->refused_samples),
		.now_unix_ns = clock_realtime_ns(),
		.deadline_ns = clock_monotonic_ns() + keeper->config->query_timeout_ns,
	};
}

/* Takes @parameters on success. */
static bool begin_tap(struct keeper *keeper, struct profcol_http_call *call,
		      const struct parameters *parameters)
{
	struct tap *tap = &keeper->taps[keeper->tap_count];
	struct history_settings settings = {
		.retention_ns = UINT64_MAX,
		.memory_bytes = keeper->config->memory_bytes / TAP_PART,
	};
	uint64_t now_ns = clock_realtime_ns();

	if (keeper->tap_count == KEEPER_TAPS_MAX) {
		refuse(keeper, call, 503,
		       "too many profiles are being taken; try again when one has ended");
		return false;
	}
	*tap = (struct tap){
		.call = call,
		.parameters = *parameters,
		.history = history_create(&settings),
		.range = { now_ns, now_ns + parameters->seconds * PROFCOL_SECOND },
	};
	if (!tap->history) {
		refuse(keeper, call, 503, "out of memory");
		return false;
	}
	keeper->tap_count++;
	return true;
}

static void serve(struct keeper *keeper, struct profcol_http_call *call)
{
	enum answer_route route = answer_find_route(call->request.path);
	struct profcol_http_answer made = { .size = sizeof(made) };
	struct answer_context asked = context(keeper, keeper->history);
	struct parameters parameters;
	struct profcol_error *error;

	profcol_metric_add(keeper->queries, 1);
	error = parameters_init(&parameters, call->request.query, asked.now_unix_ns);
	if (!error && route == ROUTE_PPROF_OFF_CPU) {
		error = parameters_narrow(&parameters, "profile.sample_type.type == \"off_cpu\"");
		if (error)
			parameters_deinit(&parameters);
		route = ROUTE_PPROF_PROFILE;
	}
	if (error) {
		answer_fail(&made, error);
		answer(keeper, call, &made);
		return;
	}
	if (route == ROUTE_PPROF_PROFILE && !parameters.has_range) {
		if (!begin_tap(keeper, call, &parameters))
			parameters_deinit(&parameters);
		return;
	}
	answer_make(&asked, route, &parameters, &made);
	parameters_deinit(&parameters);
	answer(keeper, call, &made);
}

static void end_tap(struct keeper *keeper, size_t index)
{
	struct tap tap = keeper->taps[index];
	struct profcol_http_answer made = { .size = sizeof(made) };
	struct answer_context asked = context(keeper, tap.history);

	keeper->taps[index] = keeper->taps[--keeper->tap_count];
	if (history_figures(tap.history).evicted_samples)
		answer_refuse(&made, 503,
			      "there were more stacks than fit; ask for fewer seconds or a part of "
			      "the machine, or set a larger 'memory'");
	else
		answer_make(&asked, ROUTE_PPROF_PROFILE, &tap.parameters, &made);
	history_destroy(tap.history);
	parameters_deinit(&tap.parameters);
	answer(keeper, tap.call, &made);
}

/* Those that are complete, and those that nobody waits for any more. */
static void end_taps(struct keeper *keeper)
{
	uint64_t now_ns = clock_realtime_ns();

	for (size_t i = keeper->tap_count; i-- > 0;) {
		const struct tap *tap = &keeper->taps[i];
		bool complete = keeper->newest_ns >= tap->range.to_ns ||
				now_ns >= tap->range.to_ns + tap_grace_ns;

		if (complete || keeper->host->http_is_gone(tap->call))
			end_tap(keeper, i);
	}
}

/* ---- the thread ---- */

static void publish_figures(struct keeper *keeper)
{
	struct history_figures figures = history_figures(keeper->history);

	profcol_metric_set(keeper->memory, (int64_t)figures.memory_bytes);
	profcol_metric_set(keeper->kept, (int64_t)figures.samples);
	profcol_metric_set(keeper->evicted, (int64_t)figures.evicted_samples);
	profcol_metric_set(keeper->expired, (int64_t)figures.expired_samples);
}

static void reload_token(struct keeper *keeper)
{
	struct profcol_error *error = access_reload(keeper->access);

	if (error && !keeper->token_failed)
		profcol_log_warn(keeper->host->logger, "%s; the token that was there stays valid",
				 profcol_error_message(error));
	keeper->token_failed = error;
	profcol_error_destroy(error);
}

/* What is to be done now and then. */
static void maintain(struct keeper *keeper)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - keeper->aged_ns >= age_interval_ns) {
		keeper->aged_ns = now_ns;
		history_age(keeper->history, clock_realtime_ns());
		publish_figures(keeper);
	}
	if (now_ns - keeper->token_ns >= token_interval_ns) {
		keeper->token_ns = now_ns;
		reload_token(keeper);
	}
}

/* Under the lock: until there is something to do, a second at most while profiles are taken. */
static void wait(struct keeper *keeper)
{
	uint64_t span_ns = keeper->tap_count ? PROFCOL_SECOND / 4 : age_interval_ns;
	struct timespec until = clock_timespec(clock_monotonic_ns() + span_ns);

	if (!keeper->stopping && !keeper->inbox.count && !keeper->calls.count)
		pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
}

/* The first of the inbox, whose memory counts until it is given back. Under the lock. */
static struct profcol_batch *next_batch(struct keeper *keeper)
{
	struct profcol_batch *batch;

	if (!keeper->inbox.count)
		return NULL;
	batch = keeper->inbox.items[0];
	keeper->inbox.count--;
	memmove(keeper->inbox.items, keeper->inbox.items + 1,
		keeper->inbox.count * sizeof(keeper->inbox.items[0]));
	return batch;
}

static struct profcol_http_call *next_call(struct keeper *keeper)
{
	struct profcol_http_call *call;

	if (!keeper->calls.count)
		return NULL;
	call = keeper->calls.items[0];
	keeper->calls.count--;
	memmove(keeper->calls.items, keeper->calls.items + 1,
		keeper->calls.count * sizeof(keeper->calls.items[0]));
	return call;
}

static void *keeper_thread(void *context)
{
	struct keeper *keeper = context;
	struct profcol_batch *batch;
	struct profcol_http_call *call;
	bool stopping = false;

	while (!stopping || batch) {
		pthread_mutex_lock(&keeper->lock);
		wait(keeper);
		batch = next_batch(keeper);
		call = next_call(keeper);
		stopping = keeper->stopping;
		pthread_mutex_unlock(&keeper->lock);
		if (batch) {
			uint64_t bytes = profile_memory(batch);

			take_in(keeper, batch);
			profcol_batch_unref(batch);
			pthread_mutex_lock(&keeper->lock);
			keeper->inbox_bytes -= bytes;
			pthread_mutex_unlock(&keeper->lock);
		}
		end_taps(keeper);
		maintain(keeper);
		if (!call)
			continue;
		if (stopping)
			refuse(keeper, call, 503, "profcol is ending");
		else if (keeper->host->http_is_gone(call))
			refuse(keeper, call, 503, "nobody is waiting");
		else
			serve(keeper, call);
	}
	return NULL;
}

struct profcol_error *keeper_start(struct keeper *keeper)
{
	int status = thread_start(&keeper->thread, keeper_thread, keeper);

	if (status)
		return profcol_error_errno(status, "start a thread");
	keeper->runs = true;
	pthread_setname_np(keeper->thread, "web");
	return NULL;
}

void keeper_stop(struct keeper *keeper)
{
	struct profcol_http_call *call;

	pthread_mutex_lock(&keeper->lock);
	keeper->stopping = true;
	pthread_cond_signal(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
	if (keeper->runs)
		pthread_join(keeper->thread, NULL);
	keeper->runs = false;
	while ((call = next_call(keeper)))
		refuse(keeper, call, 503, "profcol is ending");
	while (keeper->tap_count) {
		struct tap *tap = &keeper->taps[--keeper->tap_count];

		history_destroy(tap->history);
		parameters_deinit(&tap->parameters);
		refuse(keeper, tap->call, 503, "profcol is ending");
	}
	publish_figures(keeper);
}
