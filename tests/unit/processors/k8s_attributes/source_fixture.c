// SPDX-License-Identifier: Apache-2.0
#include "source_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_SECONDS = 120 };

__attribute__((format(printf, 2, 3))) static void note(struct source_fixture *fixture,
						       const char *format, ...)
{
	va_list arguments;
	size_t room;
	int length;

	pthread_mutex_lock(&fixture->lock);
	room = sizeof(fixture->log) - fixture->length;
	va_start(arguments, format);
	length = vsnprintf(fixture->log + fixture->length, room, format, arguments);
	va_end(arguments);
	fixture->length += (size_t)length < room ? (size_t)length : room - 1;
	pthread_cond_broadcast(&fixture->changed);
	pthread_mutex_unlock(&fixture->lock);
}

static const char *name_of(enum k8s_kind kind)
{
	static const char *const names[K8S_KINDS] = {
		[K8S_POD] = "pod",
		[K8S_NAMESPACE] = "namespace",
		[K8S_NODE] = "node",
		[K8S_DEPLOYMENT] = "deployment",
		[K8S_REPLICASET] = "replicaset",
		[K8S_STATEFULSET] = "statefulset",
		[K8S_DAEMONSET] = "daemonset",
		[K8S_JOB] = "job",
		[K8S_CLUSTER] = "cluster",
	};

	return names[kind];
}

static void on_begin(void *context, const struct k8s_scope *scope)
{
	note(context, "begin %s %s\n", name_of(scope->kind), scope->namespace);
}

static void on_put_pod(void *context, const struct k8s_pod *pod)
{
	note(context, "put pod %s\n", pod->metadata.name);
}

static void on_put_object(void *context, const struct k8s_object *object)
{
	note(context, "put %s %s %s\n", name_of(object->kind), object->metadata.name,
	     object->metadata.uid);
}

static void on_remove(void *context, enum k8s_kind kind, const struct k8s_metadata *metadata)
{
	note(context, "remove %s %s\n", name_of(kind), metadata->name);
}

static void on_end(void *context, const struct k8s_scope *scope)
{
	note(context, "end %s %s\n", name_of(scope->kind), scope->namespace);
}

static void on_failed(void *context, const struct k8s_scope *scope, const char *reason,
		      const char *remedy)
{
	note(context, "failed %s %s: %s; %s\n", name_of(scope->kind), scope->namespace, reason,
	     remedy);
}

static void on_works(void *context, const struct k8s_scope *scope)
{
	note(context, "works %s %s\n", name_of(scope->kind), scope->namespace);
}

static const struct k8s_source_callbacks callbacks = {
	.begin = on_begin,
	.put_pod = on_put_pod,
	.put_object = on_put_object,
	.remove = on_remove,
	.end = on_end,
	.failed = on_failed,
	.works = on_works,
};

void source_fixture_write(const char *path, const char *text)
{
	CLEANUP_FREE char *next = NULL;
	FILE *file;

	// As the kubelet does it: nobody sees half of it.
	assert_true(asprintf(&next, "%s.next", path) > 0);
	file = fopen(next, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(next, path), 0);
}

struct source_fixture *source_fixture_create(const struct stand_in_route *routes)
{
	struct source_fixture *fixture = malloc(sizeof(*fixture));
	char config[512];

	assert_non_null(fixture);
	*fixture = (struct source_fixture){ .directory = "/tmp/k8s-source-XXXXXX" };
	assert_non_null(mkdtemp(fixture->directory));
	pthread_mutex_init(&fixture->lock, NULL);
	pthread_cond_init(&fixture->changed, NULL);
	fixture->server = stand_in_start(routes, NULL);
	snprintf(fixture->config, sizeof(fixture->config), "%s/config", fixture->directory);
	snprintf(fixture->token, sizeof(fixture->token), "%s/token", fixture->directory);
	snprintf(fixture->endpoint, sizeof(fixture->endpoint), "http://%s",
		 stand_in_address(fixture->server));
	snprintf(config, sizeof(config),
		 "current-context: c\n"
		 "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
		 "users: [{name: u, user: {tokenFile: token}}]\n"
		 "clusters: [{name: k, cluster: {server: '%s'}}]\n",
		 fixture->endpoint);
	source_fixture_write(fixture->config, config);
	source_fixture_write(fixture->token, "one\n");
	fixture->settings = (struct k8s_source_settings){
		.auth_type = K8S_AUTH_KUBE_CONFIG,
		.kube_config_path = fixture->config,
		.node = "n1",
		.pause_min_ns = 10 * MILLISECOND,
		.pause_max_ns = 40 * MILLISECOND,
	};
	return fixture;
}

void source_fixture_start(struct source_fixture *fixture)
{
	struct profcol_error *error;

	error = k8s_source_create(&fixture->settings, &callbacks, fixture, &fixture->source);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	error = k8s_source_start(fixture->source);
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

uint64_t source_fixture_destroy(struct source_fixture *fixture)
{
	uint64_t begin = clock_monotonic_ns(), took;
	size_t length;

	if (fixture->source)
		k8s_source_stop(fixture->source);
	took = clock_monotonic_ns() - begin;
	length = fixture->length;
	stand_in_stop(fixture->server);
	// Nothing comes after the stop.
	assert_int_equal(fixture->length, length);
	k8s_source_destroy(fixture->source);
	pthread_cond_destroy(&fixture->changed);
	pthread_mutex_destroy(&fixture->lock);
	unlink(fixture->config);
	unlink(fixture->token);
	rmdir(fixture->directory);
	free(fixture);
	return took;
}

void source_fixture_await(struct source_fixture *fixture, const char *words)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_SECONDS;
	pthread_mutex_lock(&fixture->lock);
	while (!strstr(fixture->log, words))
		if (pthread_cond_timedwait(&fixture->changed, &fixture->lock, &end) == ETIMEDOUT)
			fail_msg("'%s' has not come:\n%s", words, fixture->log);
	pthread_mutex_unlock(&fixture->lock);
}

void source_fixture_await_requests(struct source_fixture *fixture, const char *request,
				   unsigned int count)
{
	uint64_t end = clock_monotonic_ns() + PATIENCE_SECONDS * 1000 * MILLISECOND;

	while (stand_in_count(fixture->server, request) < count) {
		if (clock_monotonic_ns() > end)
			fail_msg("%s has not come %u times:\n%s", request, count, fixture->log);
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
}

unsigned int source_fixture_count(struct source_fixture *fixture, const char *words)
{
	unsigned int count = 0;

	pthread_mutex_lock(&fixture->lock);
	for (const char *at = fixture->log; (at = strstr(at, words)); at++)
		count++;
	pthread_mutex_unlock(&fixture->lock);
	return count;
}
