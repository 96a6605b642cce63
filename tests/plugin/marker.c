// SPDX-License-Identifier: Apache-2.0
/*
 * The processor `marker`: gives every sample an attribute, and leaves out the samples of threads
 * of one name. Without threads; state is fixed at create.
 */
#include "copy.h"

#include <profcol/plugin.h>

#include <stdlib.h>
#include <string.h>

struct marker_config {
	const char *attribute;
	const char *value;
	const char *drop_thread;
};

static const struct profcol_option marker_options[] = {
	PROFCOL_OPTION_STRING("attribute", struct marker_config, attribute, "sample.plugin",
			      "key of the attribute that every sample gets"),
	PROFCOL_OPTION_STRING("value", struct marker_config, value, "marker", "its value"),
	PROFCOL_OPTION_STRING("drop_thread", struct marker_config, drop_thread, NULL,
			      "samples of threads of this name are left out"),
	PROFCOL_OPTION_END,
};

struct marker {
	const struct profcol_host *host; /* borrowed, as is the next */
	const struct marker_config *config;
};

static void marker_destroy(void *self)
{
	free(self);
}

static struct profcol_error *marker_create(const struct profcol_host *host, const void *config,
					   void **ret)
{
	struct marker *marker = calloc(1, sizeof(*marker));

	if (!marker)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	marker->host = host;
	marker->config = config;
	*ret = marker;
	return NULL;
}

static bool equals(struct profcol_text text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static bool is_dropped(const struct marker *marker, const struct profcol_batch *batch,
		       const uint32_t *attributes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, attributes[i]);

		if (attribute.value.type == PROFCOL_VALUE_STRING &&
		    equals(profcol_batch_string(batch, attribute.key), "thread.name") &&
		    equals(profcol_batch_string(batch, attribute.value.string),
			   marker->config->drop_thread))
			return true;
	}
	return false;
}

static bool mark(const struct profcol_batch *batch, struct profcol_builder *builder, uint32_t id,
		 uint32_t *list, void *context)
{
	const struct marker *marker = context;
	const struct marker_config *config = marker->config;
	struct profcol_sample sample = profcol_batch_sample(batch, id);
	uint32_t marked[64], count;
	const uint32_t *attributes = profcol_batch_attribute_list(batch, sample.attributes, &count);

	if (is_dropped(marker, batch, attributes, count))
		return false;
	if (count >= sizeof(marked) / sizeof(marked[0]))
		return true; // left as it is
	if (count)
		memcpy(marked, attributes, count * sizeof(marked[0]));
	marked[count++] = profcol_builder_attribute_string(builder, config->attribute,
							   config->value, strlen(config->value));
	*list = profcol_builder_attribute_list(builder, marked, count);
	return true;
}

static struct profcol_error *marker_consume(void *self, struct profcol_batch *batch)
{
	const struct marker *marker = self;
	const struct copy_choice choice = { .keep = mark, .context = self };
	uint64_t before = profcol_batch_events(batch), after;
	struct profcol_batch *marked = NULL;
	struct profcol_error *error = copy_batch(batch, &choice, &marked);

	profcol_batch_unref(batch);
	if (error)
		return profcol_error_prefix(error, "cannot mark a batch");
	after = profcol_batch_events(marked);
	if (after < before)
		marker->host->account(marker->host, PROFCOL_FILTERED, "thread_name",
				      before - after);
	return marker->host->consume_next(marker->host, marked);
}

static const struct profcol_component marker = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_DEVELOPMENT,
	.capabilities = PROFCOL_MUTATES,
	.type = "marker",
	.summary = "gives every sample an attribute, and leaves out a thread's samples",
	.options = marker_options,
	.config_size = sizeof(struct marker_config),
	.create = marker_create,
	.consume = marker_consume,
	.destroy = marker_destroy,
};

PROFCOL_PLUGIN(&marker);
