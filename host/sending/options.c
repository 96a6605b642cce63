// SPDX-License-Identifier: Apache-2.0
/* Keys, defaults and bounds of the Collector's exporter helper, and our own two. */
#include "sending.h"

#include "base/base.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* The empty word is a sizer that is not given. */
static const char *const sizers[] = { "", "requests", "items", "bytes", NULL };

static const struct profcol_option partition_options[] = {
	PROFCOL_OPTION_LIST("metadata_keys", struct sending_partition_config, metadata_keys, NULL,
			    "accepted for the Collector's sake; there is no metadata of clients "
			    "here, so all is one partition"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option batch_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct sending_batch_config, enabled, "true",
			    "false switches off what naming the section switches on"),
	PROFCOL_OPTION_DURATION("flush_timeout", struct sending_batch_config, flush_timeout_ns,
				"200ms", 1, PROFCOL_HOUR,
				"how long the first request waits for others"),
	PROFCOL_OPTION_INT("min_size", struct sending_batch_config, min_size, "8192", 0, INT64_MAX,
			   "send as soon as so much is together, in units of sizer"),
	PROFCOL_OPTION_INT("max_size", struct sending_batch_config, max_size, "0", 0, INT64_MAX,
			   "split what is larger, in units of sizer; 0 = only by "
			   "max_request_bytes"),
	PROFCOL_OPTION_ENUM("sizer", struct sending_batch_config, sizer, NULL, sizers,
			    "unit of min_size and max_size: samples (items) or encoded bytes; the "
			    "queue's when not given, items when that counts requests"),
	PROFCOL_OPTION_NESTED("partition", struct sending_batch_config, partition,
			      partition_options, "keep requests of different clients apart"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option queue_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct sending_queue_config, enabled, "true",
			    "false: send on the caller's thread, retries included"),
	PROFCOL_OPTION_INT("num_consumers", struct sending_queue_config, num_consumers, "10", 1,
			   1000, "requests that may be on their way at once, each on a thread"),
	PROFCOL_OPTION_INT("queue_size", struct sending_queue_config, queue_size, NULL, 1,
			   INT64_MAX,
			   "most that is queued, requests on their way included, in units of "
			   "sizer; when not given: 1000 requests, 1000000 items, 64MiB"),
	PROFCOL_OPTION_ENUM("sizer", struct sending_queue_config, sizer, NULL, sizers,
			    "unit of queue_size: requests, samples (items) or encoded bytes; when "
			    "not given, requests and never more than 64MiB"),
	PROFCOL_OPTION_BOOL("block_on_overflow", struct sending_queue_config, block_on_overflow,
			    "false", "when full, let the caller wait instead of refusing"),
	PROFCOL_OPTION_BOOL("wait_for_result", struct sending_queue_config, wait_for_result,
			    "false", "let the caller wait until its batch is sent, or given up"),
	PROFCOL_OPTION_STRING("storage", struct sending_queue_config, storage, NULL,
			      "extension that keeps the queue on disk, e.g. file_storage; in "
			      "memory when empty"),
	PROFCOL_OPTION_SECTION("batch", struct sending_queue_config, batch, batch_named,
			       batch_options,
			       "join small requests before they are sent; off unless named"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option retry_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct sending_retry_config, enabled, "true",
			    "try again what may succeed later"),
	PROFCOL_OPTION_DURATION("initial_interval", struct sending_retry_config,
				initial_interval_ns, "5s", 0, 0,
				"wait before the second attempt; never less than 10ms"),
	PROFCOL_OPTION_DOUBLE("randomization_factor", struct sending_retry_config,
			      randomization_factor, "0.5", 0, 1,
			      "spread of each wait: 0.5 means 0.5 to 1.5 times the interval"),
	PROFCOL_OPTION_DOUBLE("multiplier", struct sending_retry_config, multiplier, "1.5", 0,
			      DBL_MAX, "by which the interval grows with each attempt"),
	PROFCOL_OPTION_DURATION("max_interval", struct sending_retry_config, max_interval_ns, "30s",
				0, 0, "where the interval stops growing"),
	PROFCOL_OPTION_DURATION("max_elapsed_time", struct sending_retry_config, max_elapsed_ns,
				"5m", 0, 0, "give a request up after so much trying; 0 = never"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option host_options[] = {
	PROFCOL_OPTION_DURATION("timeout", struct sending_config, timeout_ns, "5s", 0, 0,
				"for one attempt; 0 = none"),
	PROFCOL_OPTION_NESTED("retry_on_failure", struct sending_config, retry, retry_options,
			      "what happens when an attempt fails"),
	PROFCOL_OPTION_NESTED("sending_queue", struct sending_config, queue, queue_options,
			      "requests that wait to be sent"),
	PROFCOL_OPTION_BYTES("max_request_bytes", struct sending_config, max_request_bytes, "4MiB",
			     1 << 10, INT32_MAX,
			     "batches are split so that no request is larger, before compression; "
			     "a single observation is sent whole"),
	PROFCOL_OPTION_BOOL("attribute_references", struct sending_config, attribute_references,
			    "false",
			    "write resource and scope attributes as references into the string "
			    "table; needs a peer that knows them"),
	PROFCOL_OPTION_END,
};

static size_t host_part_offset(const struct profcol_component *type)
{
	size_t alignment = _Alignof(max_align_t);

	return (type->config_size + alignment - 1) / alignment * alignment;
}

static size_t count_options(const struct profcol_option *table)
{
	size_t count = 0;

	while (table && table[count].key)
		count++;
	return count;
}

bool sending_compose(const struct profcol_component *type, struct arena *memory,
		     const struct profcol_option **table_ret, size_t *size_ret)
{
	size_t own = count_options(type->options), added = count_options(host_options);
	size_t offset = host_part_offset(type);
	struct profcol_option *table;

	if (!type->send) {
		*table_ret = type->options;
		*size_ret = type->config_size;
		return true;
	}
	table = arena_alloc(memory, (own + added + 1) * sizeof(*table));
	if (!table)
		return false;
	if (own)
		memcpy(table, type->options, own * sizeof(*table));
	for (size_t i = 0; i < added; i++) {
		table[own + i] = host_options[i];
		table[own + i].offset += offset;
	}
	*table_ret = table;
	*size_ret = offset + sizeof(struct sending_config);
	return true;
}

const struct sending_config *sending_config_of(const struct profcol_component *type,
					       const void *options)
{
	return (const struct sending_config *)((const char *)options + host_part_offset(type));
}

/* ---- two fields together ---- */

static struct profcol_error *validate_retry(const struct sending_retry_config *retry)
{
	if (!retry->enabled || !retry->max_elapsed_ns)
		return NULL;
	if (retry->max_elapsed_ns < retry->initial_interval_ns)
		return profcol_error_create(
			PROFCOL_CONFIG, "retry_on_failure::max_elapsed_time: must not be less than "
					"initial_interval; raise it, or write 0 to try for ever");
	if (retry->max_elapsed_ns < retry->max_interval_ns)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"retry_on_failure::max_elapsed_time: must not be less than max_interval; "
			"raise it, or write 0 to try for ever");
	return NULL;
}

static struct profcol_error *validate_partition(const struct profcol_list *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcasecmp(keys->items[i], keys->items[j]))
				return profcol_error_create(
					PROFCOL_CONFIG,
					"sending_queue::batch::partition::metadata_keys: duplicate "
					"entry \"%s\" (case does not matter); remove it",
					keys->items[i]);
	return NULL;
}

static struct profcol_error *validate_batch(const struct sending_queue_config *queue)
{
	const struct sending_batch_config *batch = &queue->batch;
	int sizer = batch->sizer ? batch->sizer : queue->sizer;

	if (!queue->batch_named || !batch->enabled)
		return NULL;
	if (batch->sizer == SENDING_REQUESTS)
		return profcol_error_create(PROFCOL_CONFIG,
					    "sending_queue::batch::sizer: must be items or bytes, "
					    "not requests");
	if (batch->max_size && batch->max_size < batch->min_size)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"sending_queue::batch::max_size: must not be less than min_size (%" PRId64
			"); raise it, or write 0 for no limit",
			batch->min_size);
	if (sizer == queue->sizer && sizer > SENDING_REQUESTS && queue->queue_size &&
	    batch->min_size > queue->queue_size)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"sending_queue::batch::min_size: must not be more than queue_size (%" PRId64
			"), or it is never reached",
			queue->queue_size);
	return validate_partition(&batch->partition.metadata_keys);
}

static struct profcol_error *validate_queue(const struct sending_queue_config *queue)
{
	if (!queue->enabled)
		return NULL;
	if (queue->wait_for_result && queue->storage[0])
		return profcol_error_create(
			PROFCOL_CONFIG,
			"sending_queue::wait_for_result: cannot be combined with storage: what is "
			"on disk needs no caller to wait; remove one of them");
	return validate_batch(queue);
}

struct profcol_error *sending_validate(const struct sending_config *config)
{
	return profcol_error_join(validate_retry(&config->retry), validate_queue(&config->queue));
}
