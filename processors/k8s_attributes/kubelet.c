// SPDX-License-Identifier: Apache-2.0
#include "kubelet.h"

#include "api_call.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum {
	ANSWER_SECONDS = 60,
	IDLE_SECONDS = 30,
	SORT_UNREACHABLE = -1,
	SORT_BROKEN = -2,
};

static bool take_item(void *context, const struct pod_event *event)
{
	struct feed *feed = context;

	if (event->type != POD_EVENT_PUT || source_selection_fits(feed->hub->selection, event->pod))
		feed_take(feed, event);
	return true;
}

static const char *find_remedy(const struct api_outcome *outcome)
{
	if (outcome->status == 403)
		return "add this to the rules of a ClusterRole that is bound to the user named:\n"
		       "- apiGroups: [\"\"]\n"
		       "  resources: [nodes/proxy]\n"
		       "  verbs: [get]";
	if (outcome->status == 401)
		return "the kubelet takes tokens only if its configuration has "
		       "authentication.webhook.enabled; else use source: api_server";
	if (strstr(outcome->reason, "certificate is not accepted"))
		return "kubelets sign their certificates themselves unless serverTLSBootstrap is "
		       "on; set kubelet::insecure_skip_verify, or use source: api_server";
	return "";
}

/* False when it did not work, after @failures in a row before. */
static bool kubelet_poll(struct feed *feed, unsigned int failures)
{
	struct hub *hub = feed->hub;
	struct pod_parse *parse = pod_parse_create(POD_FORM_LIST, K8S_POD, take_item, feed);
	struct api_outcome outcome = { .reason = "out of memory" };
	struct api_call call = {
		.hub = hub,
		.target = "/pods",
		.accept = "application/json",
		.parse = parse,
		.deadline_ns = clock_monotonic_ns() + ANSWER_SECONDS * SECOND,
		.idle_ns = IDLE_SECONDS * SECOND,
	};
	char reason[API_REASON_MAX + 64];

	feed_begin(feed);
	if (parse)
		outcome = api_call(&call);
	pod_parse_destroy(parse);
	if (outcome.stopped)
		return false;
	if (outcome.fine) {
		feed_end(feed);
		return true;
	}
	snprintf(reason, sizeof(reason), "list pods of the kubelet: %s", outcome.reason);
	feed_fail(feed, failures + 1,
		  outcome.status   ? outcome.status
		  : outcome.broken ? SORT_BROKEN
				   : SORT_UNREACHABLE,
		  reason, find_remedy(&outcome));
	return false;
}

void kubelet_run(struct feed *feed)
{
	struct hub *hub = feed->hub;
	unsigned int failures = 0;
	uint64_t pause;

	do {
		failures = kubelet_poll(feed, failures) ? 0 : failures + 1;
		pause = failures ? hub_pause(hub, failures) : hub->interval_ns;
	} while (hub_wait(hub, pause));
}
