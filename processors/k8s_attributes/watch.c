// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include "api_call.h"
#include "api_server.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SECOND UINT64_C(1000000000)

enum {
	LIST_SECONDS = 120,     /* for a page */
	LIST_IDLE_SECONDS = 70, /* the server's own limit for an answer is a minute */
	PAGES_MAX = 10000,

	/* The server ends a watch by itself after this; as client-go has it. */
	WATCH_SECONDS = 300,
	WATCH_GRACE_SECONDS = 60,
	WORKED_SECONDS = 10, /* what has lasted so long is no failure in a row */
	REFUSALS_MAX = 5,    /* of a watch, before it begins anew with a list */
	OUTDATED_UNTOLD = 3,

	/* What is no status of HTTP, for feed_fail. */
	SORT_UNREACHABLE = -1,
	SORT_BROKEN = -2,
	SORT_EMPTY = -3,
};

enum next {
	NEXT_GO_ON,      /* watch from where we are */
	NEXT_PAUSE,      /* the same, but not at once */
	NEXT_RELIST,     /* what we know is too old */
	NEXT_LIST_LATER, /* the same, but not at once */
	NEXT_STOP,
};

struct watch {
	struct feed *feed;
	char version[POD_PARSE_VERSION_MAX + 1]; /* the last that we know of; "" = none */
	bool listed;                 /* @version is that of a complete list, or after it */
	bool outdated;               /* the server does not know @version any more */
	unsigned int list_failures;  /* in a row */
	unsigned int watch_failures; /* likewise, until one has lasted */
	unsigned int outdated_count; /* lists because of that, likewise */
	bool token_refused;          /* by the last call */
	uint64_t delay_ns;           /* that the server asks for; 0 = none */

	/* Of the call in progress. */
	uint64_t events;
	uint32_t code; /* of the error that ended it; 0 = none */
	char message[API_REASON_MAX / 2];
};

/* ---- what comes ---- */

static void watch_note_version(struct watch *watch, const char *version)
{
	size_t length = strlen(version);

	// One that is cut short is none.
	if (length && length < sizeof(watch->version))
		memcpy(watch->version, version, length + 1);
}

/* Of a list. */
static bool take_item(void *context, const struct pod_event *event)
{
	struct watch *watch = context;

	feed_take(watch->feed, event);
	return true;
}

/* Of a watch. */
static bool take_event(void *context, const struct pod_event *event)
{
	struct watch *watch = context;

	watch->events++;
	watch->feed->hub->events++;
	if (event->type == POD_EVENT_ERROR) {
		watch->code = event->code && event->code < 600 ? event->code : 500;
		snprintf(watch->message, sizeof(watch->message), "%s", event->message);
		return false;
	}
	feed_take(watch->feed, event);
	watch_note_version(watch, event->resource_version);
	feed_work(watch->feed);
	return true;
}

/* ---- what goes wrong ---- */

static char *find_remedy(const struct watch *watch, const struct api_outcome *outcome)
{
	if (outcome->status == 403)
		return api_server_rule(&watch->feed->scope);
	if (outcome->status == 401)
		return strdup("the token is not, or no longer, that of a user; look at the token, "
			      "or the client certificate, that auth_type leads to");
	if (strstr(outcome->reason, "certificate is not accepted"))
		return strdup("let auth_type lead to the certificate authority of this cluster");
	return strdup("");
}

static enum next watch_fail(struct watch *watch, const struct api_outcome *outcome, bool list)
{
	CLEANUP_FREE char *remedy = find_remedy(watch, outcome);
	unsigned int *failures = list ? &watch->list_failures : &watch->watch_failures;
	char reason[API_REASON_MAX + 64];
	int sort = outcome->status;

	if (outcome->stopped)
		return NEXT_STOP;
	// It may have changed since it was read, which happens for each call.
	if (outcome->status == 401 && !watch->token_refused) {
		watch->token_refused = true;
		return list ? NEXT_RELIST : NEXT_GO_ON;
	}
	if (!sort)
		sort = outcome->broken ? SORT_BROKEN : SORT_UNREACHABLE;
	++*failures;
	watch->delay_ns = outcome->delay_ns;
	snprintf(reason, sizeof(reason), "%s %s: %s", list ? "list" : "watch",
		 api_server_plural(watch->feed->scope.kind), outcome->reason);
	feed_fail(watch->feed, *failures, sort, reason, remedy ? remedy : "");
	return list ? NEXT_LIST_LATER : NEXT_PAUSE;
}

/* What we know is too old: list at once, unless that has just been tried. */
static enum next watch_relist(struct watch *watch, const struct api_outcome *outcome, bool list)
{
	watch->outdated = true;
	if (!watch->outdated_count++)
		return NEXT_RELIST;
	if (watch->outdated_count > OUTDATED_UNTOLD)
		watch_fail(watch, outcome, list);
	return NEXT_LIST_LATER;
}

/* ---- list ---- */

/* A page; *@more is the mark of the next one, "" when that was all. */
static struct api_outcome list_page(struct watch *watch, char more[POD_PARSE_CONTINUE_MAX + 1])
{
	struct feed *feed = watch->feed;
	struct pod_parse *parse =
		pod_parse_create(POD_FORM_LIST, feed->scope.kind, take_item, watch);
	CLEANUP_FREE char *target = api_server_list(feed->hub->selection, &feed->scope,
						    watch->outdated     ? ""
						    : watch->version[0] ? watch->version
									: "0",
						    more);
	struct api_outcome outcome = { .reason = "out of memory" };
	struct api_call call = {
		.hub = feed->hub,
		.target = target,
		.accept = api_server_accept(feed->scope.kind, false),
		.parse = parse,
		.deadline_ns = clock_monotonic_ns() + LIST_SECONDS * SECOND,
		.idle_ns = LIST_IDLE_SECONDS * SECOND,
	};

	if (parse && target)
		outcome = api_call(&call);
	if (outcome.fine) {
		snprintf(more, POD_PARSE_CONTINUE_MAX + 1, "%s", pod_parse_continue(parse));
		if (!more[0])
			watch_note_version(watch, pod_parse_version(parse));
	}
	pod_parse_destroy(parse);
	return outcome;
}

static enum next watch_list(struct watch *watch)
{
	char more[POD_PARSE_CONTINUE_MAX + 1] = "";
	struct feed *feed = watch->feed;
	struct api_outcome outcome;
	unsigned int pages = 0;

	watch->listed = false;
	feed_begin(feed);
	do {
		outcome = list_page(watch, more);
		if (outcome.status == 200 && pages++ == PAGES_MAX) {
			outcome.fine = false;
			outcome.broken = true;
			strcpy(outcome.reason, "the list has no end");
		}
	} while (outcome.fine && more[0] && !outcome.stopped);
	if (outcome.fine && !outcome.stopped && !watch->version[0]) {
		outcome.fine = false;
		outcome.broken = true;
		strcpy(outcome.reason, "the list has no resourceVersion");
	}
	if (!outcome.fine || outcome.stopped) {
		if (outcome.status == 410 && !outcome.stopped)
			return watch_relist(watch, &outcome, true);
		// The server has not come so far itself.
		watch->outdated |= outcome.status == 504;
		return watch_fail(watch, &outcome, true);
	}
	watch->listed = true;
	watch->outdated = watch->token_refused = false;
	watch->list_failures = 0;
	feed_end(feed);
	return NEXT_GO_ON;
}

/* ---- watch ---- */

/* It has ended as watches do, or by an error that the server has sent in it. */
static enum next watch_finish(struct watch *watch, uint64_t begin_ns)
{
	struct api_outcome outcome = { .status = (int)watch->code };
	bool short_lived = clock_monotonic_ns() - begin_ns < SECOND;

	// A 401 in it is a failure like others: the call itself was let in.
	watch->token_refused = watch->code;
	snprintf(outcome.reason, sizeof(outcome.reason), "the server says: %s", watch->message);
	if (watch->code == 410)
		return watch_relist(watch, &outcome, false);
	if (watch->code) {
		watch_fail(watch, &outcome, false);
		return NEXT_LIST_LATER;
	}
	if (!short_lived)
		return NEXT_GO_ON;
	// Something between us and the server cuts it off.
	watch->watch_failures++;
	if (watch->events)
		return NEXT_PAUSE;
	feed_fail(watch->feed, watch->watch_failures, SORT_EMPTY,
		  "the watch ends as soon as it has begun", "");
	return NEXT_PAUSE;
}

static enum next watch_judge(struct watch *watch, const struct api_outcome *outcome,
			     const struct api_call *call, uint64_t begin_ns)
{
	uint64_t lasted = clock_monotonic_ns() - begin_ns;
	bool worked = (outcome->fine || call->received) && lasted > WORKED_SECONDS * SECOND;
	enum next next;

	if (outcome->stopped)
		return NEXT_STOP;
	if (worked)
		watch->watch_failures = watch->outdated_count = 0;
	if (outcome->fine)
		return watch_finish(watch, begin_ns);
	if (outcome->status == 410)
		return watch_relist(watch, outcome, false);
	next = watch_fail(watch, outcome, false);
	// It may be the version that the server cannot do anything with: it has not come so far,
	// and waits. Else there were bookmarks.
	if (outcome->status == 400 || outcome->status == 404 || outcome->broken ||
	    (outcome->status && watch->watch_failures >= REFUSALS_MAX) ||
	    (!call->received && lasted >= watch->feed->hub->silence_ns))
		return NEXT_LIST_LATER;
	return next;
}

static enum next watch_follow(struct watch *watch)
{
	struct feed *feed = watch->feed;
	struct hub *hub = feed->hub;
	unsigned int seconds = WATCH_SECONDS, chance = 0;
	uint64_t begin_ns = clock_monotonic_ns();
	struct pod_parse *parse =
		pod_parse_create(POD_FORM_WATCH, feed->scope.kind, take_event, watch);
	CLEANUP_FREE char *target = NULL;
	struct api_outcome outcome = { .reason = "out of memory" };
	struct api_call call = { .hub = hub, .parse = parse };

	// So that not all clients of a server come back at once.
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == sizeof(chance))
		seconds += chance % WATCH_SECONDS;
	target = api_server_watch(hub->selection, &feed->scope, watch->version, seconds);
	call.target = target;
	call.accept = api_server_accept(feed->scope.kind, true);
	call.deadline_ns = begin_ns + (seconds + WATCH_GRACE_SECONDS) * SECOND;
	call.idle_ns = hub->silence_ns;
	watch->events = 0;
	watch->code = 0;
	hub->watches++;
	if (parse && target)
		outcome = api_call(&call);
	pod_parse_destroy(parse);
	return watch_judge(watch, &outcome, &call, begin_ns);
}

/* ---- all of it ---- */

static uint64_t watch_pause(const struct watch *watch)
{
	unsigned int most = watch->list_failures;
	uint64_t pause;

	if (most < watch->watch_failures)
		most = watch->watch_failures;
	if (most < watch->outdated_count)
		most = watch->outdated_count;
	pause = hub_pause(watch->feed->hub, most);
	return pause > watch->delay_ns ? pause : watch->delay_ns;
}

void watch_run(struct feed *feed)
{
	struct watch watch = { .feed = feed };
	enum next next = NEXT_RELIST;
	uint64_t pause;

	while (next != NEXT_STOP) {
		if (next == NEXT_PAUSE || next == NEXT_LIST_LATER) {
			pause = watch_pause(&watch);
			if (!hub_wait(feed->hub, pause))
				return;
			watch.delay_ns = 0;
		}
		if (next == NEXT_RELIST || next == NEXT_LIST_LATER)
			watch.listed = false;
		next = watch.listed ? watch_follow(&watch) : watch_list(&watch);
	}
}
