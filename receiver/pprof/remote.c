// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include "schedule.h"
#include "socket_owner.h"
#include "target.h"

#include <errno.h>
#include <string.h>

/* As long as google/pprof waits. */
#define PATIENCE_NS UINT64_C(60000000000)

/* A search for whose a server is may take so long, and is made again so long after one without a
 * result at first; then the pause doubles. */
#define OWNER_NS           UINT64_C(2000000000)
#define OWNER_PAUSE_NS     UINT64_C(10000000000)
#define OWNER_MAX_PAUSE_NS UINT64_C(3600000000000)

struct scraper {
	struct remote *remote; /* borrowed */
	struct target target;
	struct net_fetcher *fetcher; /* owned */
	struct schedule schedule;
	pthread_t thread;
	bool has_schedule, has_thread;
	bool failing;                       /* the thread's, as what follows */
	struct net_ends ends;               /* of the connection that was asked about last... */
	enum socket_finding finding;        /* ...what came out... */
	struct socket_owner owner;          /* ...and if it was found, whose its other end is */
	uint64_t search_after_ns, pause_ns; /* CLOCK_MONOTONIC: no search before */
};

struct remote {
	const struct pprof_remote_config *config; /* borrowed, as the next */
	struct intake *intake;
	struct scraper *scrapers; /* owned */
	size_t count;
	struct profcol_metric *scrapes, *owners[3]; /* the latter by enum socket_finding */
	pthread_mutex_t lock;
	size_t failing;           /* under the lock: scrapers */
	pthread_mutex_t searches; /* held while one looks at all processes */
};

/* ---- a profile ---- */

static uint64_t deadline_of(const struct scraper *scraper)
{
	const struct pprof_remote_config *config = scraper->remote->config;
	uint64_t patience_ns = config->interval.timeout_ns;

	if (!patience_ns)
		patience_ns = PATIENCE_NS + scraper->target.duration_ns;
	return clock_monotonic_ns() + patience_ns;
}

static bool has_ended(void *context)
{
	struct scraper *scraper = context;

	return schedule_has_ended(&scraper->schedule);
}

/* A search looks at all processes, so those that are in vain get rarer. */
static void search_owner(struct scraper *scraper, struct socket_search *search)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec until = clock_timespec(now_ns + OWNER_NS);

	scraper->finding = SOCKET_UNDECIDED;
	if (now_ns < scraper->search_after_ns ||
	    pthread_mutex_clocklock(&scraper->remote->searches, CLOCK_MONOTONIC, &until))
		return;
	search->deadline_ns = clock_monotonic_ns() + OWNER_NS;
	scraper->finding = socket_owner_find(search, &scraper->owner);
	profcol_metric_add(scraper->remote->owners[scraper->finding], 1);
	pthread_mutex_unlock(&scraper->remote->searches);
	if (scraper->finding == SOCKET_FOUND)
		scraper->pause_ns = 0;
	else if (scraper->pause_ns < OWNER_MAX_PAUSE_NS)
		scraper->pause_ns = scraper->pause_ns ? 2 * scraper->pause_ns : OWNER_PAUSE_NS;
	scraper->search_after_ns = clock_monotonic_ns() + scraper->pause_ns;
}

/* Looks for the server's process and container, by the connection of the last answer, which is
 * still open. */
static void find_owner(struct scraper *scraper, const struct net_ends *ends)
{
	struct socket_search search = {
		.proc = "/proc",
		.own = &ends->own,
		.peer = &ends->peer,
		.deadline_ns = clock_monotonic_ns() + OWNER_NS,
		.is_over = has_ended,
		.context = scraper,
	};
	bool is_known = !memcmp(ends, &scraper->ends, sizeof(*ends));

	if (is_known && scraper->finding == SOCKET_NOBODYS)
		return;
	if (is_known && scraper->finding == SOCKET_FOUND &&
	    socket_owner_stays(&search, &scraper->owner))
		return;
	scraper->ends = *ends;
	search_owner(scraper, &search);
}

static struct profcol_error *fetch(struct scraper *scraper, struct memory_share *share,
				   struct profcol_batch **ret)
{
	const struct target *target = &scraper->target;
	struct intake_origin origin = { .address = target->address,
					.port = target->port,
					.path = target->path,
					.name = target->name,
					.container_id = "",
					.pod_uid = "" };
	struct net_ends ends;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;
	struct profcol_error *error =
		net_fetcher_fetch(scraper->fetcher, deadline_of(scraper), INTAKE_MAX_BYTES, share,
				  &bytes, &length, &ends);

	if (error)
		return error;
	find_owner(scraper, &ends);
	if (scraper->finding == SOCKET_FOUND) {
		origin.container_id = scraper->owner.container_id;
		origin.pod_uid = scraper->owner.pod_uid;
	}
	error = intake_decode(scraper->remote->intake, bytes, length, INTAKE_MAX_BYTES, &origin,
			      share, ret);
	return profcol_error_prefix(error, "'%s'", net_fetcher_url(scraper->fetcher));
}

/* The receiver is as well as the worst of them; only changes are told. */
static void tell(struct scraper *scraper, const struct profcol_error *error)
{
	struct remote *remote = scraper->remote;
	const struct profcol_host *host = remote->intake->host;
	bool changes = scraper->failing != (error != NULL);

	profcol_metric_add(remote->scrapes, 1);

	if (error)
		profcol_metric_add(remote->intake->sources[INTAKE_REMOTE].unread, 1);
	if (!changes)
		return;
	scraper->failing = error;
	if (error)
		profcol_log_warn(host->logger, "cannot get a profile: %s; profcol goes on trying",
				 profcol_error_message(error));
	else
		profcol_log_info(host->logger, "'%s' gives profiles again",
				 net_fetcher_url(scraper->fetcher));
	pthread_mutex_lock(&remote->lock);
	remote->failing += error ? 1 : -1;
	host->report_status(
		host, remote->failing ? PROFCOL_STATUS_RECOVERABLE_ERROR : PROFCOL_STATUS_OK, NULL);
	pthread_mutex_unlock(&remote->lock);
}

static void scrape(struct scraper *scraper)
{
	struct intake *intake = scraper->remote->intake;
	struct memory_share share = { .budget = &intake->budget };
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = fetch(scraper, &share, &batch);

	if (!schedule_has_ended(&scraper->schedule))
		tell(scraper, error);
	profcol_error_destroy(error);
	error = batch ? intake_pass_on(intake, INTAKE_REMOTE, batch) : NULL;
	if (error)
		intake_refuse(intake, INTAKE_REMOTE, net_fetcher_url(scraper->fetcher), error);
	profcol_error_destroy(error);
	memory_share_give(&share);
}

static void *run(void *argument)
{
	struct scraper *scraper = argument;

	pthread_setname_np(pthread_self(), "pprof-remote");
	schedule_begin(&scraper->schedule, &scraper->remote->config->interval);
	while (schedule_wait(&scraper->schedule))
		scrape(scraper);
	return NULL;
}

/* ---- life ---- */

static struct profcol_error *scraper_init(struct scraper *scraper, struct remote *remote,
					  size_t index)
{
	const struct profcol_host *host = remote->intake->host;
	int status;

	scraper->remote = remote;
	scraper->finding = SOCKET_UNDECIDED;
	if (!target_init(&scraper->target, remote->config, index))
		return profcol_error_errno(ENOMEM, "create the receiver");
	status = schedule_init(&scraper->schedule);
	if (status)
		return profcol_error_errno(-status, "create the receiver");
	scraper->has_schedule = true;
	return net_fetcher_create(&remote->config->http, scraper->target.url, host->version,
				  host->logger, &scraper->fetcher);
}

static struct profcol_error *remote_start(struct remote *remote)
{
	for (size_t i = 0; i < remote->count; i++) {
		struct scraper *scraper = &remote->scrapers[i];
		int status = thread_start(&scraper->thread, run, scraper);

		if (status)
			return profcol_error_errno(status, "start to ask '%s'",
						   net_fetcher_url(scraper->fetcher));
		scraper->has_thread = true;
	}
	return NULL;
}

static void register_owners(struct remote *remote)
{
	static const char *const labels[] = {
		[SOCKET_FOUND] = "finding=found",
		[SOCKET_NOBODYS] = "finding=nobody",
		[SOCKET_UNDECIDED] = "finding=undecided",
	};
	const struct profcol_host *host = remote->intake->host;

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		remote->owners[i] =
			host->metric(host, PROFCOL_COUNTER, "pprof_owners", labels[i],
				     "searches for the process that a server is, by the result");
}

struct profcol_error *remote_create(const struct pprof_remote_config *config, struct intake *intake,
				    struct remote **ret)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	struct profcol_error *error = NULL;

	if (!remote)
		return profcol_error_errno(ENOMEM, "create the receiver");
	remote->config = config;
	remote->intake = intake;
	pthread_mutex_init(&remote->lock, NULL);
	pthread_mutex_init(&remote->searches, NULL);
	remote->scrapes = intake->host->metric(intake->host, PROFCOL_COUNTER, "pprof_scrapes", "",
					       "answers of servers, and requests without one");
	register_owners(remote);
	remote->count = target_count(config);
	remote->scrapers = calloc(remote->count, sizeof(*remote->scrapers));
	if (!remote->scrapers) {
		remote->count = 0;
		error = profcol_error_errno(ENOMEM, "create the receiver");
	}
	for (size_t i = 0; i < remote->count && !error; i++)
		error = scraper_init(&remote->scrapers[i], remote, i);
	if (!error)
		error = remote_start(remote);
	if (error) {
		remote_destroy(remote);
		return profcol_error_prefix(error, "remote");
	}
	*ret = remote;
	return NULL;
}

static void scraper_deinit(struct scraper *scraper)
{
	if (scraper->has_thread)
		pthread_join(scraper->thread, NULL);
	if (scraper->has_schedule)
		schedule_deinit(&scraper->schedule);
	net_fetcher_destroy(scraper->fetcher);
	target_deinit(&scraper->target);
}

void remote_destroy(struct remote *remote)
{
	if (!remote)
		return;
	// All of them first: each may be at a request.
	for (size_t i = 0; i < remote->count; i++) {
		if (remote->scrapers[i].has_schedule)
			schedule_end(&remote->scrapers[i].schedule);
		if (remote->scrapers[i].fetcher)
			net_fetcher_cancel(remote->scrapers[i].fetcher);
	}
	for (size_t i = 0; i < remote->count; i++)
		scraper_deinit(&remote->scrapers[i]);
	pthread_mutex_destroy(&remote->searches);
	pthread_mutex_destroy(&remote->lock);
	free(remote->scrapers);
	free(remote);
}
