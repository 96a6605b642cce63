// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sending_fixture.h"

#include "otlp_conformance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct peer peer;
struct fake_store store;

/* A copy, also where a test makes an allocation fail: that is not meant for this one. */
static uint8_t *copy_bytes(const uint8_t *bytes, size_t length)
{
	uint8_t *copy;

	do {
		copy = malloc(length);
	} while (!copy);
	return memcpy(copy, bytes, length);
}

/* ---- the peer ---- */

struct peer_options {
	const char *endpoint;
};

static const struct profcol_option peer_options[] = {
	PROFCOL_OPTION_STRING("endpoint", struct peer_options, endpoint, "nowhere:4317",
			      "where the peer would be"),
	PROFCOL_OPTION_END,
};

static struct profcol_error *peer_create(const struct profcol_host *host, const void *config,
					 void **ret)
{
	const struct peer_options *options = config;

	(void)host;
	assert_string_equal(options->endpoint, "nowhere:4317");
	*ret = &peer;
	return NULL;
}

/* Under the lock: what to answer. */
static struct profcol_error *answer(const struct profcol_request *request,
				    struct profcol_reply *reply)
{
	struct profcol_error *error;

	if (peer.max_bytes && request->length > peer.max_bytes) {
		reply->too_large = true;
		reply->cause = "resource_exhausted";
		return profcol_error_create(PROFCOL_REJECTED, "message larger than max");
	}
	if (peer.code) {
		reply->cause = peer.cause;
		error = profcol_error_create(peer.code, "%s",
					     peer.reason ? peer.reason : "the peer says no");
		profcol_error_set_delay(error, peer.delay_ns);
		if (peer.fails && --peer.fails == 0)
			peer.code = 0;
		return error;
	}
	return NULL;
}

static void take(const struct profcol_request *request, struct profcol_reply *reply)
{
	assert_true(peer.taken < PEER_REQUESTS_MAX);
	peer.requests[peer.taken++] = (struct peer_request){
		.length = request->length,
		.samples = request->samples,
		.at_ns = clock_monotonic_ns(),
		.bytes = copy_bytes(request->bytes, request->length),
	};
	peer.samples += request->samples;
	peer.last = peer.requests[peer.taken - 1].bytes;
	peer.last_length = request->length;
	reply->rejected = peer.rejects;
	reply->message = peer.remark ? strdup(peer.remark) : NULL;
}

static struct profcol_error *peer_send(void *self, const struct profcol_request *request,
				       struct profcol_reply *reply)
{
	uint64_t end_ns = request->deadline_ns;
	struct timespec end = clock_timespec(end_ns < INT64_MAX ? end_ns : INT64_MAX);
	struct profcol_error *error;
	int status = 0;

	assert_ptr_equal(self, &peer);
	pthread_mutex_lock(&peer.lock);
	peer.attempts++;
	peer.profiles = request->profiles;
	if (++peer.inside > peer.most_inside)
		peer.most_inside = peer.inside;
	pthread_cond_broadcast(&peer.changed);
	while (peer.hangs && !peer.stopped && status != ETIMEDOUT)
		status = pthread_cond_clockwait(&peer.changed, &peer.lock, CLOCK_MONOTONIC, &end);
	if (status == ETIMEDOUT || peer.stopped)
		error = profcol_error_create(PROFCOL_UNAVAILABLE, "no answer");
	else
		error = answer(request, reply);
	if (!error)
		take(request, reply);
	if (!error && peer.takes_left && --peer.takes_left == 0)
		peer.code = PROFCOL_UNAVAILABLE;
	peer.inside--;
	pthread_mutex_unlock(&peer.lock);
	return error;
}

static struct profcol_error *peer_shutdown(void *self, uint64_t deadline_ns)
{
	(void)self;
	(void)deadline_ns;
	PEER_SET(stopped, true);
	return NULL;
}

const struct profcol_component fake_peer_exporter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_peer_exporter),
	.kind = PROFCOL_EXPORTER,
	.type = "peer",
	.summary = "sends to the test",
	.options = peer_options,
	.config_size = sizeof(struct peer_options),
	.create = peer_create,
	.send = peer_send,
	.shutdown = peer_shutdown,
};

/* ---- the storage ---- */

static struct profcol_error *store_open(void *self, const char *name,
					struct profcol_storage_queue **ret)
{
	assert_ptr_equal(self, &store);
	assert_string_equal(name, "peer");
	if (store.open)
		return profcol_error_create(PROFCOL_UNAVAILABLE, "in use");
	store.open = true;
	for (size_t i = 0; i < store.count; i++)
		store.records[i].taken = false;
	*ret = (struct profcol_storage_queue *)&store;
	return NULL;
}

static struct profcol_error *store_append(struct profcol_storage_queue *queue, const uint8_t *bytes,
					  size_t length, uint64_t samples)
{
	struct profcol_error *error = NULL;

	(void)queue;
	pthread_mutex_lock(&store.lock);
	assert_true(store.open);
	if (store.max_records && store.count >= store.max_records) {
		error = profcol_error_create(PROFCOL_UNAVAILABLE, "queue on disk is full");
	} else {
		struct fake_record *record = &store.records[store.count++];

		*record = (struct fake_record){ .id = ++store.next_id,
						.samples = samples,
						.bytes = copy_bytes(bytes, length),
						.length = length };
	}
	pthread_mutex_unlock(&store.lock);
	return error;
}

static void store_remove(size_t index)
{
	free(store.records[index].bytes);
	memmove(&store.records[index], &store.records[index + 1],
		(store.count - index - 1) * sizeof(store.records[0]));
	store.count--;
}

static enum profcol_take store_take(struct profcol_storage_queue *queue, struct profcol_record *ret)
{
	bool found = false;

	(void)queue;
	pthread_mutex_lock(&store.lock);
	if (store.fails) {
		store.fails--;
		pthread_mutex_unlock(&store.lock);
		return PROFCOL_TAKE_LATER;
	}
	for (size_t i = 0; i < store.count && !found;) {
		struct fake_record *record = &store.records[i];

		if (record->damaged) {
			store.damage.damaged_records++;
			store.damage.damaged_samples += record->samples;
			store_remove(i);
			continue;
		}
		i++;
		if (record->taken)
			continue;
		found = record->taken = true;
		*ret = (struct profcol_record){ .id = record->id,
						.bytes = copy_bytes(record->bytes, record->length),
						.length = record->length,
						.samples = record->samples };
	}
	pthread_mutex_unlock(&store.lock);
	return found ? PROFCOL_TAKE_RECORD : PROFCOL_TAKE_NONE;
}

static void store_put_back(struct profcol_storage_queue *queue, uint64_t id)
{
	(void)queue;
	pthread_mutex_lock(&store.lock);
	for (size_t i = 0; i < store.count; i++)
		if (store.records[i].id == id)
			store.records[i].taken = false;
	pthread_mutex_unlock(&store.lock);
}

static void store_finish(struct profcol_storage_queue *queue, uint64_t id)
{
	(void)queue;
	pthread_mutex_lock(&store.lock);
	for (size_t i = 0; i < store.count; i++) {
		if (store.records[i].id != id)
			continue;
		assert_true(store.records[i].taken);
		store_remove(i);
		break;
	}
	pthread_mutex_unlock(&store.lock);
}

static void store_figures(struct profcol_storage_queue *queue, struct profcol_storage_figures *ret)
{
	(void)queue;
	pthread_mutex_lock(&store.lock);
	*ret = store.damage;
	ret->capacity_bytes = store.capacity_bytes ? store.capacity_bytes : UINT64_MAX;
	ret->max_record_bytes = store.max_record_bytes;
	for (size_t i = 0; i < store.count; i++) {
		ret->records++;
		ret->bytes += store.records[i].length;
		ret->samples += store.records[i].samples;
	}
	pthread_mutex_unlock(&store.lock);
}

static void store_close(struct profcol_storage_queue *queue)
{
	(void)queue;
	assert_true(store.open);
	store.open = false;
}

static const struct profcol_storage_operations store_operations = {
	.size = sizeof(store_operations),
	.open = store_open,
	.append = store_append,
	.take = store_take,
	.put_back = store_put_back,
	.finish = store_finish,
	.figures = store_figures,
	.close = store_close,
};

static struct profcol_error *store_create(const struct profcol_host *host, const void *config,
					  void **ret)
{
	(void)host;
	(void)config;
	*ret = &store;
	return NULL;
}

const struct profcol_component fake_store_extension = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_store_extension),
	.kind = PROFCOL_EXTENSION,
	.type = "store",
	.summary = "keeps records in memory",
	.create = store_create,
	.storage = &store_operations,
};

const struct profcol_component fake_plain_extension = {
	.abi = PROFCOL_ABI,
	.size = sizeof(fake_plain_extension),
	.kind = PROFCOL_EXTENSION,
	.type = "plain",
	.summary = "keeps nothing",
	.create = store_create,
};

void fake_store_clear(void)
{
	while (store.count)
		store_remove(store.count - 1);
	store = (struct fake_store){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

/* ---- runs ---- */

int sending_setup(void **state)
{
	(void)state;
	peer = (struct peer){ .lock = PTHREAD_MUTEX_INITIALIZER,
			      .changed = PTHREAD_COND_INITIALIZER };
	fake_store_clear();
	return 0;
}

int sending_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < peer.taken; i++)
		free(peer.requests[i].bytes);
	peer.taken = 0;
	peer.last = NULL;
	fake_store_clear();
	return 0;
}

static struct profcol_error *load(const char *options, const char *extensions, struct config **ret)
{
	static const struct profcol_component *const components[] = {
		&fake_receiver,
		&fake_peer_exporter,
		&fake_plain_extension,
		&fake_store_extension,
	};
	static const struct component_registry registry = { components, 4 };
	char text[4096];
	int length;

	length = snprintf(text, sizeof(text),
			  "receivers: {fake: }\n"
			  "exporters: {peer: {%s}}\n"
			  "extensions: {store: , plain: }\n"
			  "service:\n"
			  "  extensions: [%s]\n"
			  "  pipelines: {profiles: {receivers: [fake], exporters: [peer]}}\n",
			  options, extensions);
	assert_true(length > 0 && length < (int)sizeof(text));
	return config_parse("test.yaml", text, (size_t)length, &registry, ret);
}

struct profcol_error *run_check(const char *options, const char *extensions)
{
	struct config *config = NULL;
	struct profcol_error *error = load(options, extensions, &config);

	config_destroy(config);
	return error;
}

static void expect_none(struct profcol_error *error)
{
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static void create(struct run *run, const char *options)
{
	struct instance_settings settings = { .version = "0.0.0-test", .level = PROFCOL_DEBUG };

	*run = (struct run){ .log_fd = memfd_create("log", MFD_CLOEXEC) };
	PEER_SET(stopped, false);
	settings.log_fd = run->log_fd;
	expect_none(load(options, "store, plain", &run->config));
	expect_none(graph_create(run->config, &settings, &run->graph));
	run->receiver = fake_find(run->graph, "fake");
	run->exporter = fake_find(run->graph, "peer");
}

void run_start(struct run *run, const char *options)
{
	create(run, options);
	expect_none(lifecycle_start(run->graph));
}

void run_start_expecting(struct run *run, const char *options, const char *message)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	create(run, options);
	error = lifecycle_start(run->graph);
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), message);
	run_end(run);
}

struct profcol_error *run_push(struct run *run, uint32_t samples)
{
	return fake_push(run->receiver, samples);
}

void run_push_all(struct run *run, uint32_t batches, uint32_t samples)
{
	for (uint32_t i = 0; i < batches; i++)
		expect_none(run_push(run, samples));
}

void run_push_batch(struct run *run, struct profcol_batch *batch)
{
	const struct profcol_host *host = &run->receiver->host;

	host->account(host, PROFCOL_TAKEN, NULL, profcol_batch_events(batch));
	expect_none(host->consume_next(host, profcol_batch_ref(batch)));
}

struct profcol_batch *one_sample_of(const char *key, const char *value, size_t length)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_resource resource = { 0 };
	struct profcol_batch *batch = NULL;
	uint64_t time_ns = 1;
	uint32_t attribute;

	attribute = profcol_builder_attribute_string(builder, key, value, length);
	resource.attributes = profcol_builder_attribute_list(builder, &attribute, 1);
	profcol_builder_add_resource(builder, &resource);
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ .duration_ns = 2 });
	profcol_builder_add_sample(
		builder,
		&(struct profcol_sample){ .timestamp_count = 1, .timestamps_unix_ns = &time_ns });
	expect_none(profcol_builder_seal(builder, &batch));
	return batch;
}

struct wanted {
	const char *name, *label;
	int64_t value;
};

static void look(const struct metrics_entry *entry, void *context)
{
	struct wanted *wanted = context;

	if (!strcmp(entry->name, wanted->name) && !strcmp(entry->label, wanted->label))
		wanted->value = profcol_metric_get(&entry->metric);
}

int64_t run_metric(struct run *run, const char *name, const char *label)
{
	struct wanted wanted = { .name = name, .label = label };

	metrics_visit(&run->exporter->metrics, look, &wanted);
	return wanted.value;
}

static void add_dropped(const struct metrics_entry *entry, void *context)
{
	if (!strcmp(entry->name, "exporter_dropped_profile_samples"))
		*(int64_t *)context += profcol_metric_get(&entry->metric);
}

void run_expect_sum(struct run *run)
{
	int64_t accepted = run_metric(run, "exporter_accepted_profile_samples", "");
	int64_t sent = run_metric(run, "exporter_sent_profile_samples", "");
	int64_t failed = run_metric(run, "exporter_send_failed_profile_samples", "");
	int64_t refused = run_metric(run, "exporter_enqueue_failed_profile_samples", "");
	int64_t queued = run_metric(run, "exporter_queue_profile_samples", "");
	int64_t dropped = 0;

	metrics_visit(&run->exporter->metrics, add_dropped, &dropped);
	if (accepted != sent + dropped + queued || dropped != failed + refused)
		fail_msg(
			"%lld accepted, but %lld sent, %lld dropped, %lld queued; of those dropped "
			"%lld failed, %lld refused",
			(long long)accepted, (long long)sent, (long long)dropped, (long long)queued,
			(long long)failed, (long long)refused);
}

/* Only now, when no allocation is made to fail any more: the checker aborts without memory. */
static void expect_conformance(void)
{
	for (; peer.checked < peer.taken; peer.checked++) {
		const struct peer_request *request = &peer.requests[peer.checked];
		struct conformance conformance = { .ignored = RULES_OF_CONTENT, .stream = stderr };

		assert_true(otlp_conformance_check(&conformance, request->bytes, request->length));
		if (conformance.violations)
			fail_msg("request %zu breaks rules, see above", peer.checked);
	}
}

const char *run_log(struct run *run)
{
	static char text[1 << 20];
	ssize_t length = pread(run->log_fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return text;
}

unsigned int count_lines(const char *log, const char *part)
{
	unsigned int count = 0;

	while ((log = strstr(log, part))) {
		count++;
		log = strchrnul(log, '\n');
	}
	return count;
}

static void give_up(const struct instance *stuck, void *context)
{
	(void)context;
	fprintf(stderr, "'%s' has not shut down in time\n", stuck->host.id);
	abort();
}

void run_end_within(struct run *run, uint64_t drain_ns)
{
	// What keeps the deadline needs no grace; a busy machine may.
	const struct lifecycle_patience patience = { .drain_ns = drain_ns,
						     .grace_ns = PEER_PATIENCE_NS,
						     .give_up = give_up };
	char line[1024];

	expect_none(lifecycle_shutdown(run->graph, &patience));
	graph_balance(run->graph, run->exporter->id, &run->balance);
	balance_format(&run->balance, line, sizeof(line));
	if (balance_unaccounted(&run->balance))
		fail_msg("%s\n%s", line, run_log(run));
	assert_int_equal(run->balance.totals[PROFCOL_EXPORTED],
			 run_metric(run, "exporter_sent_profile_samples", ""));
	run_expect_sum(run);
	expect_conformance();
	graph_destroy(run->graph);
	config_destroy(run->config);
	close(run->log_fd);
}

void run_end(struct run *run)
{
	run_end_within(run, PEER_PATIENCE_NS);
}

uint64_t run_lost(const struct run *run, const char *cause)
{
	for (size_t i = 0; i < run->balance.cause_count; i++) {
		const struct balance_cause *row = &run->balance.causes[i];

		if (row->outcome == PROFCOL_LOST && !strcmp(row->cause, cause))
			return row->samples;
	}
	return 0;
}
