// SPDX-License-Identifier: Apache-2.0
/* A source: its scopes, with a thread each, and their common end. */
#include "source.h"

#include "api_server.h"
#include "kubelet.h"
#include "source_feed.h"
#include "watch.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define SECOND UINT64_C(1000000000)

enum { SCOPES_MAX = 256 };

struct k8s_source {
	struct hub hub;
	struct feed *feeds; /* owned */
	pthread_t *threads; /* owned; one of each feed */
	size_t feed_count, thread_count;
};

/* ---- create ---- */

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_errno(ENOMEM, "learn of pods");
}

void k8s_source_destroy(struct k8s_source *source)
{
	if (!source)
		return;
	k8s_source_stop(source);
	credentials_destroy(source->hub.credentials);
	source_selection_destroy(source->hub.selection);
	cleanup_fd(&source->hub.stop_fd);
	pthread_mutex_destroy(&source->hub.lock);
	free(source->feeds);
	free(source->threads);
	free(source);
}

static void source_cleanup(struct k8s_source **source)
{
	k8s_source_destroy(*source);
}

static bool kind_is_wanted(const struct k8s_source_settings *settings, enum k8s_kind kind)
{
	if (kind == K8S_POD)
		return true;
	// The kubelet knows of no other.
	return settings->origin != K8S_FROM_KUBELET && settings->kinds & 1u << kind;
}

static void add_feed(struct k8s_source *source, enum k8s_kind kind, const char *namespace)
{
	struct feed *feed = &source->feeds[source->feed_count++];

	feed->hub = &source->hub;
	feed->scope = (struct k8s_scope){ .kind = kind, .namespace = namespace };
}

static struct profcol_error *add_feeds(struct k8s_source *source,
				       const struct k8s_source_settings *settings)
{
	const struct selection *selection = source->hub.selection;
	size_t namespaces = settings->origin == K8S_FROM_KUBELET ? 0 : selection->namespace_count;
	size_t most = K8S_KINDS * (namespaces + 1);

	if (namespaces > SCOPES_MAX / K8S_KINDS)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%zu namespaces are too many to watch one by one: at "
					    "most %d; watch all of them, by a ClusterRole",
					    namespaces, SCOPES_MAX / K8S_KINDS);
	source->feeds = calloc(most, sizeof(*source->feeds));
	source->threads = calloc(most, sizeof(*source->threads));
	if (!source->feeds || !source->threads)
		return out_of_memory();
	for (enum k8s_kind kind = 0; kind < K8S_KINDS; kind++) {
		bool split = namespaces && api_server_is_namespaced(kind);

		if (!kind_is_wanted(settings, kind))
			continue;
		for (size_t i = 0; i < (split ? namespaces : 1); i++)
			add_feed(source, kind, split ? selection->namespaces[i] : "");
	}
	return NULL;
}

static uint64_t or_else(uint64_t value, uint64_t seconds)
{
	return value ? value : seconds * SECOND;
}

struct profcol_error *k8s_source_create(const struct k8s_source_settings *settings,
					const struct k8s_source_callbacks *callbacks, void *context,
					struct k8s_source **ret)
{
	CLEANUP(source_cleanup) struct k8s_source *source = calloc(1, sizeof(*source));
	struct profcol_error *error = NULL;
	struct hub *hub;

	if (!source)
		return out_of_memory();
	hub = &source->hub;
	pthread_mutex_init(&hub->lock, NULL);
	hub->callbacks = callbacks;
	hub->context = context;
	hub->pause_min_ns = or_else(settings->pause_min_ns, 1);
	hub->pause_max_ns = or_else(settings->pause_max_ns, 30);
	hub->silence_ns = or_else(settings->silence_ns, 180);
	hub->complaint_ns = or_else(settings->complaint_ns, 60);
	if (settings->origin == K8S_FROM_KUBELET)
		hub->interval_ns = or_else(settings->kubelet_interval_ns, 10);
	hub->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (hub->stop_fd < 0)
		return profcol_error_errno(errno, "learn of pods");
	hub->selection = source_selection_create(settings);
	if (!hub->selection)
		return out_of_memory();
	if (settings->origin == K8S_FROM_KUBELET)
		error = source_selection_check(hub->selection);
	if (!error)
		error = credentials_create(settings, &hub->credentials);
	if (!error)
		error = add_feeds(source, settings);
	if (error)
		return error;
	*ret = TAKE(source);
	return NULL;
}

/* ---- run ---- */

static void *feed_thread(void *argument)
{
	struct feed *feed = argument;

	if (feed->hub->interval_ns)
		kubelet_run(feed);
	else
		watch_run(feed);
	return NULL;
}

struct profcol_error *k8s_source_start(struct k8s_source *source)
{
	int status = 0;

	while (!status && source->thread_count < source->feed_count) {
		status = thread_start(&source->threads[source->thread_count], feed_thread,
				      &source->feeds[source->thread_count]);
		source->thread_count += !status;
	}
	if (!status)
		return NULL;
	k8s_source_stop(source);
	return profcol_error_errno(status, "start a thread to learn of pods");
}

void k8s_source_stop(struct k8s_source *source)
{
	if (source->thread_count)
		eventfd_write(source->hub.stop_fd, 1);
	while (source->thread_count)
		pthread_join(source->threads[--source->thread_count], NULL);
}

/* ---- how it fares ---- */

struct k8s_source_counts k8s_source_counts(const struct k8s_source *source)
{
	const struct hub *hub = &source->hub;

	return (struct k8s_source_counts){
		.lists = hub->lists,
		.watches = hub->watches,
		.events = hub->events,
		.bytes = hub->bytes,
		.failures = hub->failures,
		.oversized = hub->oversized,
		.incomplete = hub->incomplete,
	};
}

bool k8s_source_is_synced(const struct k8s_source *source, uint32_t kinds)
{
	for (size_t i = 0; i < source->feed_count; i++)
		if (kinds & 1u << source->feeds[i].scope.kind && !source->feeds[i].synced)
			return false;
	return true;
}
