// SPDX-License-Identifier: Apache-2.0
#include "collect.h"

#include "batch_sizes.h"
#include "names.h"

#include "pipeline/instance.h"

#include <stdio.h>
#include <string.h>

struct collection {
	struct exposition *exposition;
	enum config_metrics_level level;
	struct instance *instance;
};

/* ---- labels ---- */

/* As the Collector has it: receiver="otlp". */
static void label_by_kind(struct exposition_labels *labels, const struct instance *instance)
{
	exposition_label(labels, instance_kind(instance), instance->host.id);
	if (instance->logger.pipeline)
		exposition_label(labels, "pipeline", instance->logger.pipeline);
}

/* Where components of all kinds share a family. */
static void label_component(struct exposition_labels *labels, const struct instance *instance)
{
	exposition_label(labels, "kind", instance_kind(instance));
	exposition_label(labels, "component", instance->host.id);
	if (instance->logger.pipeline)
		exposition_label(labels, "pipeline", instance->logger.pipeline);
}

/* "key=value,key=value". A pair without a key, or with one that is too long, is left out. */
static void label_entry(struct exposition_labels *labels, const struct metrics_entry *entry)
{
	char key[64], value[128];

	for (const char *at = entry->label; *at;) {
		size_t length = strcspn(at, ","), key_length = strcspn(at, "=");

		if (key_length && key_length < length && key_length < sizeof(key) &&
		    length - key_length <= sizeof(value)) {
			snprintf(key, sizeof(key), "%.*s", (int)key_length, at);
			snprintf(value, sizeof(value), "%.*s", (int)(length - key_length - 1),
				 at + key_length + 1);
			exposition_label(labels, key, value);
		}
		at += length;
		at += *at == ',';
	}
}

static void collect_entry(const struct metrics_entry *entry, void *context)
{
	const struct collection *collection = context;
	struct exposition_labels labels = { .length = 0 };
	const struct names_entry *known;
	char name[NAMES_BYTES];
	struct exposition_family family =
		names_family(entry->name, entry->kind, entry->doc, name, &known);
	int64_t value = profcol_metric_get(&entry->metric);

	// BASIC is what the Collector has, too.
	if (!known && collection->level < CONFIG_METRICS_NORMAL)
		return;
	label_by_kind(&labels, collection->instance);
	label_entry(&labels, entry);
	if (known && known->data_type)
		exposition_label(&labels, "data_type", "profiles");
	if (entry->kind == PROFCOL_COUNTER_NS || entry->kind == PROFCOL_GAUGE_NS)
		exposition_add_real(collection->exposition, &family, &labels, (double)value / 1e9);
	else
		exposition_add(collection->exposition, &family, &labels, value);
}

/* ---- what the host knows of it ---- */

/* A metric of the Collector, unless the component counts it by itself. */
static void collect_known(const struct collection *collection, const char *own, const char *key,
			  const char *label, uint64_t value)
{
	struct exposition_labels labels = { .length = 0 };

	if (metrics_have(&collection->instance->metrics, own))
		return;
	exposition_label(&labels, instance_kind(collection->instance),
			 collection->instance->host.id);
	if (key)
		exposition_label(&labels, key, label);
	exposition_add(collection->exposition, &names_find(own)->family, &labels, (int64_t)value);
}

static void note_transport(const struct metrics_entry *entry, void *context)
{
	static const char key[] = "transport=";
	const char **transport = context;

	// Of several transports the first one: what is lost in the receiver is of none of them.
	if (!**transport && !strcmp(entry->name, "receiver_accepted_profile_samples") &&
	    !strncmp(entry->label, key, strlen(key)))
		*transport = entry->label + strlen(key);
}

static void collect_receiver(const struct collection *collection)
{
	struct instance *instance = collection->instance;
	const struct account *account = &instance->account;
	// Who comes over no network has an empty transport in the Collector, too. What a receiver
	// counts by itself says which one it has; the rest is to go with that.
	const char *transport = "";

	metrics_visit(&instance->metrics, note_transport, &transport);
	collect_known(collection, "receiver_accepted_profile_samples", "transport", transport,
		      atomic_load_explicit(&instance->accepted, memory_order_relaxed));
	collect_known(collection, "receiver_refused_profile_samples", "transport", transport,
		      atomic_load_explicit(&instance->refused, memory_order_relaxed));
	collect_known(collection, "receiver_failed_profile_samples", "transport", transport,
		      account_samples(account, PROFCOL_LOST, NULL));
}

static void collect_processor(const struct collection *collection)
{
	struct instance *instance = collection->instance;

	collect_known(collection, "processor_incoming_items", "otel_signal", "profiles",
		      atomic_load_explicit(&instance->arrived, memory_order_relaxed));
	collect_known(collection, "processor_outgoing_items", "otel_signal", "profiles",
		      edges_passed(&instance->next));
}

static void collect_exporter(const struct collection *collection)
{
	const struct account *account = &collection->instance->account;

	collect_known(collection, "exporter_sent_profile_samples", NULL, NULL,
		      account_samples(account, PROFCOL_EXPORTED, NULL));
	collect_known(collection, "exporter_send_failed_profile_samples", NULL, NULL,
		      account_samples(account, PROFCOL_LOST, NULL));
}

/* ---- accounts ---- */

static const char *const outcomes[ACCOUNT_OUTCOMES] = {
	[PROFCOL_TAKEN] = "taken", [PROFCOL_EXPORTED] = "exported", [PROFCOL_FILTERED] = "filtered",
	[PROFCOL_LOST] = "lost",   [PROFCOL_STORED] = "stored",
};

static void collect_account(const struct account_entry *entry, void *context)
{
	static const struct exposition_family family = {
		"profcol_samples", "",
		"Samples by what became of them: taken = exported + filtered + lost + stored, over "
		"all ways to one exporter.",
		EXPOSITION_COUNTER
	};
	const struct collection *collection = context;
	enum profcol_kind kind = instance_type_kind(collection->instance);
	uint64_t samples = atomic_load_explicit(&entry->samples, memory_order_relaxed);
	struct exposition_labels labels = { .length = 0 };
	bool usual = (kind == PROFCOL_RECEIVER && entry->outcome == PROFCOL_TAKEN) ||
		     (kind == PROFCOL_EXPORTER && entry->outcome == PROFCOL_EXPORTED);

	if (!samples && !usual)
		return;
	label_component(&labels, collection->instance);
	exposition_label(&labels, "outcome", outcomes[entry->outcome]);
	if (entry->cause)
		exposition_label(&labels, "cause", entry->cause);
	exposition_add(collection->exposition, &family, &labels, (int64_t)samples);
}

/* ---- batches ---- */

static void collect_batches(const struct collection *collection)
{
	static const struct exposition_family batches = {
		"profcol_batches", "", "Batches that came to a component; those a receiver made.",
		EXPOSITION_COUNTER
	};
	static const struct exposition_family samples = { "profcol_batch_samples", "",
							  "Samples in these batches.",
							  EXPOSITION_COUNTER };
	static const struct exposition_family sizes = { "profcol_batch_size", "",
							"How many samples these batches had.",
							EXPOSITION_HISTOGRAM };
	const struct batch_sizes *seen = &collection->instance->sizes;
	uint64_t sum = atomic_load_explicit(&seen->samples, memory_order_relaxed), count = 0;
	uint64_t counts[BATCH_SIZES_BOUNDS + 1];
	struct exposition_labels labels = { .length = 0 };

	label_component(&labels, collection->instance);
	for (size_t i = 0; i <= BATCH_SIZES_BOUNDS; i++) {
		counts[i] = atomic_load_explicit(&seen->counts[i], memory_order_relaxed);
		count += counts[i];
	}
	exposition_add(collection->exposition, &batches, &labels, (int64_t)count);
	exposition_add(collection->exposition, &samples, &labels, (int64_t)sum);
	if (collection->level < CONFIG_METRICS_DETAILED)
		return;
	exposition_add_histogram(collection->exposition, &sizes, &labels,
				 &(const struct exposition_histogram){
					 .bounds = batch_sizes_bounds,
					 .bound_count = BATCH_SIZES_BOUNDS,
					 .counts = counts,
					 .sum = sum,
				 });
}

/* ---- statuses ---- */

static void collect_status(const struct collection *collection)
{
	static const struct exposition_family family = {
		"profcol_component_status", "",
		"How a component is: 1 for the status that it has, 0 for the others.",
		EXPOSITION_GAUGE
	};
	static const struct exposition_family since = {
		"profcol_component_status_since_seconds", "",
		"Since when a component has that status, as Unix time.", EXPOSITION_GAUGE
	};
	static const char *const words[] = {
		[PROFCOL_STATUS_NONE] = "none",
		[PROFCOL_STATUS_STARTING] = "starting",
		[PROFCOL_STATUS_OK] = "ok",
		[PROFCOL_STATUS_RECOVERABLE_ERROR] = "recoverable_error",
		[PROFCOL_STATUS_PERMANENT_ERROR] = "permanent_error",
		[PROFCOL_STATUS_FATAL_ERROR] = "fatal_error",
		[PROFCOL_STATUS_STOPPING] = "stopping",
		[PROFCOL_STATUS_STOPPED] = "stopped",
	};
	struct exposition_labels labels = { .length = 0 };
	char message[STATUS_MESSAGE_BYTES];
	uint64_t since_ns;
	enum profcol_status now = status_read(&collection->instance->status, &since_ns, message);

	label_component(&labels, collection->instance);
	if (since_ns)
		exposition_add_real(collection->exposition, &since, &labels,
				    (double)since_ns / 1e9);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct exposition_labels own = labels;

		exposition_label(&own, "status", words[i]);
		exposition_add(collection->exposition, &family, &own,
			       (enum profcol_status)i == now);
	}
}

/* A label made of foreign data runs out of room sooner or later. */
static void collect_left_out(const struct collection *collection)
{
	static const struct exposition_family family = {
		"profcol_metrics_left_out", "",
		"Metrics that a component asked for and that there was no room for.",
		EXPOSITION_COUNTER
	};
	struct exposition_labels labels = { .length = 0 };

	label_component(&labels, collection->instance);
	exposition_add(collection->exposition, &family, &labels,
		       (int64_t)metrics_left_out(&collection->instance->metrics));
}

void collect_instance(struct exposition *exposition, enum config_metrics_level level,
		      struct instance *instance)
{
	struct collection collection = { exposition, level, instance };
	enum profcol_kind kind = instance_type_kind(instance);

	metrics_visit(&instance->metrics, collect_entry, &collection);
	if (kind == PROFCOL_RECEIVER)
		collect_receiver(&collection);
	else if (kind == PROFCOL_PROCESSOR)
		collect_processor(&collection);
	else if (kind == PROFCOL_EXPORTER)
		collect_exporter(&collection);
	account_visit(&instance->account, collect_account, &collection);
	collect_status(&collection);
	if (level >= CONFIG_METRICS_NORMAL)
		collect_left_out(&collection);
	if (level >= CONFIG_METRICS_NORMAL && kind != PROFCOL_EXTENSION)
		collect_batches(&collection);
}
