// SPDX-License-Identifier: Apache-2.0
/*
 * The `resource_detection` processor: says of every resource on which machine, in which cloud and
 * cluster it is.
 */
#include "detection.h"

#include "profile/profile.h"
#include "proto/proto.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct resource_detection {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct resource_detection_config *config;
	struct detection *detection; /* owned */
};

/* ---- a batch ---- */

/* Fields of AnyValue and ArrayValue (opentelemetry/proto/common/v1). */
enum { ANY_STRING = 1, ANY_ARRAY = 5, ARRAY_VALUES = 1 };

struct list_encoding {
	struct proto_writer writer;
	const struct found_attribute *one;
};

static void put_list(void *context)
{
	struct list_encoding *encoding = context;
	struct proto_writer *writer = &encoding->writer;
	struct proto_message array = proto_begin(writer, ANY_ARRAY);

	for (size_t i = 0; i < encoding->one->count; i++) {
		struct proto_message value = proto_begin(writer, ARRAY_VALUES);
		const char *text = encoding->one->list[i];

		proto_put_string(writer, ANY_STRING, text, strlen(text));
		proto_end(writer, value);
	}
	proto_end(writer, array);
}

static struct profcol_error *add_list(struct profcol_builder *builder,
				      const struct found_attribute *one, uint32_t *ret)
{
	CLEANUP(proto_sizes_deinit) struct proto_sizes sizes = { 0 };
	struct list_encoding encoding = { .one = one };
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct profcol_error *error;
	size_t length;

	error = proto_encode(&encoding.writer, &sizes, put_list, &encoding, one->key,
			     "switch it off", &bytes, &length);
	if (error)
		return error;
	*ret = profcol_builder_attribute(
		builder, &(struct profcol_attribute){
				 .key = profcol_builder_cstring(builder, one->key),
				 .value = { .type = PROFCOL_VALUE_ARRAY,
					    .blob = profcol_builder_blob(builder, bytes, length) },
			 });
	return NULL;
}

/* One attribute that was found, in the batch being built. */
struct addition {
	uint32_t key, attribute; /* ids */
};

static struct profcol_error *addition_init(struct addition *addition,
					   struct profcol_builder *builder,
					   const struct found_attribute *one)
{
	struct profcol_error *error = NULL;

	if (one->type == FOUND_LIST)
		error = add_list(builder, one, &addition->attribute);
	else if (one->type == FOUND_INTEGER)
		addition->attribute =
			profcol_builder_attribute_int(builder, one->key, one->integer);
	else
		addition->attribute = profcol_builder_attribute_string(builder, one->key, one->text,
								       strlen(one->text));
	addition->key = profcol_builder_cstring(builder, one->key);
	return error;
}

struct additions {
	struct addition *items;
	size_t count;
	bool override;
};

static bool additions_have(const struct additions *additions, uint32_t key)
{
	for (size_t i = 0; i < additions->count; i++)
		if (additions->items[i].key == key)
			return true;
	return false;
}

/*
 * What resource @row has, and what was found: of a key that both have the one stays that `override`
 * says. @scratch has room for both.
 */
static void edit_resource(struct profcol_builder *builder, const struct profcol_batch *batch,
			  uint32_t row, const struct additions *additions, uint32_t *scratch)
{
	struct profcol_range scopes;
	struct profcol_resource resource = profcol_batch_resource(batch, row, &scopes);
	uint32_t own_count, count = 0;
	const uint32_t *own = profcol_batch_attribute_list(batch, resource.attributes, &own_count);

	for (uint32_t i = 0; i < own_count; i++)
		if (!additions->override ||
		    !additions_have(additions, profcol_batch_attribute(batch, own[i]).key))
			scratch[count++] = own[i];
	for (size_t i = 0; i < additions->count; i++) {
		uint32_t at = additions->override ? own_count : 0;

		while (at < own_count &&
		       profcol_batch_attribute(batch, own[at]).key != additions->items[i].key)
			at++;
		if (at == own_count)
			scratch[count++] = additions->items[i].attribute;
	}
	profcol_builder_set_resource_attributes(
		builder, row, profcol_builder_attribute_list(builder, scratch, count));
}

static uint32_t longest_list(const struct profcol_batch *batch)
{
	uint32_t longest = 0;

	for (uint32_t row = 0; row < profcol_batch_count(batch, PROFCOL_RESOURCES); row++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, row, &scopes);
		uint32_t count;

		profcol_batch_attribute_list(batch, resource.attributes, &count);
		longest = count > longest ? count : longest;
	}
	return longest;
}

static struct profcol_error *edit_all(struct profcol_builder *builder,
				      const struct profcol_batch *batch, const struct found *found,
				      bool override)
{
	size_t count = found->attributes.count;
	CLEANUP_FREE struct addition *items = calloc(count + 1, sizeof(*items));
	CLEANUP_FREE uint32_t *scratch = calloc(count + longest_list(batch) + 1, sizeof(*scratch));
	const struct additions additions = { items, count, override };

	if (!items || !scratch)
		return profcol_error_errno(ENOMEM, "add what was detected");
	for (size_t i = 0; i < count; i++) {
		struct profcol_error *error =
			addition_init(&items[i], builder, &found->attributes.items[i]);

		if (error)
			return error;
	}
	for (uint32_t row = 0; row < profcol_batch_count(batch, PROFCOL_RESOURCES); row++)
		edit_resource(builder, batch, row, &additions, scratch);
	return NULL;
}

/* *@ret is the caller's; @batch is borrowed. */
static struct profcol_error *add_found(const struct profcol_batch *batch, const struct found *found,
				       bool override, struct profcol_batch **ret)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	struct profcol_error *error;

	if (!builder)
		return profcol_error_errno(ENOMEM, "add what was detected");
	error = edit_all(builder, batch, found, override);
	if (error) {
		profcol_builder_destroy(builder);
		return error;
	}
	return profcol_builder_seal(builder, ret);
}

static struct profcol_error *resource_detection_consume(void *self, struct profcol_batch *batch)
{
	struct resource_detection *processor = self;
	struct detected *detected = detection_get(processor->detection);
	struct profcol_batch *edited = NULL;
	struct profcol_error *error = NULL;

	if (detected && detected->found.attributes.count)
		error = add_found(batch, &detected->found, processor->config->override, &edited);
	detected_unref(detected);
	if (error || edited)
		profcol_batch_unref(batch);
	if (error)
		return error;
	return processor->host->consume_next(processor->host, edited ? edited : batch);
}

/* ---- life ---- */

static struct profcol_error *resource_detection_validate(const void *options)
{
	return resource_detection_config_validate(options);
}

static void resource_detection_destroy(void *self)
{
	struct resource_detection *processor = self;

	if (!processor)
		return;
	detection_destroy(processor->detection);
	free(processor);
}

static struct profcol_error *resource_detection_create(const struct profcol_host *host,
						       const void *options, void **ret)
{
	struct resource_detection *processor = calloc(1, sizeof(*processor));
	struct profcol_error *error;

	if (!processor)
		return profcol_error_errno(ENOMEM, "create the processor");
	processor->host = host;
	processor->config = options;
	error = detection_create(host, options, &processor->detection);
	if (error) {
		resource_detection_destroy(processor);
		return error;
	}
	if (processor->config->gcp.labels.count)
		profcol_log_warn(host->logger, "gcp.labels are not supported, going on without "
					       "them");
	*ret = processor;
	return NULL;
}

static struct profcol_error *resource_detection_start(void *self)
{
	struct resource_detection *processor = self;

	return detection_start(processor->detection);
}

static struct profcol_error *resource_detection_shutdown(void *self, uint64_t deadline_ns)
{
	struct resource_detection *processor = self;

	(void)deadline_ns;
	detection_stop(processor->detection);
	return NULL;
}

static const char *const resource_detection_aliases[] = { "resourcedetection", NULL };

const struct profcol_component profcol_processor_resource_detection = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.capabilities = PROFCOL_MUTATES,
	.type = "resource_detection",
	.aliases = resource_detection_aliases,
	.summary = "adds to resources on which machine, in which cloud and cluster they are",
	.options = resource_detection_options,
	.config_size = sizeof(struct resource_detection_config),
	.validate = resource_detection_validate,
	.create = resource_detection_create,
	.start = resource_detection_start,
	.consume = resource_detection_consume,
	.shutdown = resource_detection_shutdown,
	.destroy = resource_detection_destroy,
};
