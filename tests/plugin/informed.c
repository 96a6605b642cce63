// SPDX-License-Identifier: Apache-2.0
/*
 * The processor `informed`: knows all containers but one, and that one as soon as a file is there.
 * Writes on each resource with a container whether it knows that. Without threads; state is fixed
 * at create.
 */
#include <profcol/batch.h>
#include <profcol/plugin.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct informed_config {
	const char *container, *file;
	int64_t version; /* means nothing: another one makes the processor another one */
};

static const struct profcol_option informed_options[] = {
	PROFCOL_OPTION_REQUIRED_STRING("container", struct informed_config, container,
				       "id of a container that is not known at first"),
	PROFCOL_OPTION_REQUIRED_STRING("file", struct informed_config, file,
				       "which is there when the container is known"),
	PROFCOL_OPTION_INT("version", struct informed_config, version, "0", 0, 1000, "no effect"),
	PROFCOL_OPTION_END,
};

struct informed {
	const struct profcol_host *host; /* borrowed, as is the next */
	const struct informed_config *config;
};

static void informed_destroy(void *self)
{
	free(self);
}

static struct profcol_error *informed_create(const struct profcol_host *host, const void *config,
					     void **ret)
{
	struct informed *informed = calloc(1, sizeof(*informed));

	if (!informed)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	informed->host = host;
	informed->config = config;
	*ret = informed;
	return NULL;
}

static bool informed_knows(void *self, const char *key, const char *value)
{
	const struct informed_config *config = ((const struct informed *)self)->config;

	return strcmp(key, "container.id") != 0 || strcmp(value, config->container) != 0 ||
	       access(config->file, F_OK) == 0;
}

static const char *find_container(const struct profcol_batch *batch, const uint32_t *attributes,
				  uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, attributes[i]);

		if (attribute.value.type == PROFCOL_VALUE_STRING &&
		    !strcmp(profcol_batch_string(batch, attribute.key).bytes, "container.id"))
			return profcol_batch_string(batch, attribute.value.string).bytes;
	}
	return NULL;
}

static void inform(struct informed *informed, const struct profcol_batch *batch, uint32_t resource,
		   struct profcol_builder *builder)
{
	struct profcol_range scopes;
	uint32_t informed_of[64], count;
	const uint32_t *attributes = profcol_batch_attribute_list(
		batch, profcol_batch_resource(batch, resource, &scopes).attributes, &count);
	const char *container = find_container(batch, attributes, count), *word;

	if (!container || count >= sizeof(informed_of) / sizeof(informed_of[0]))
		return;
	word = informed_knows(informed, "container.id", container) ? "yes" : "no";
	memcpy(informed_of, attributes, count * sizeof(informed_of[0]));
	informed_of[count++] =
		profcol_builder_attribute_string(builder, "container.informed", word, strlen(word));
	profcol_builder_set_resource_attributes(
		builder, resource, profcol_builder_attribute_list(builder, informed_of, count));
}

static struct profcol_error *informed_consume(void *self, struct profcol_batch *batch)
{
	struct informed *informed = self;
	struct profcol_builder *builder = profcol_builder_from(batch);
	struct profcol_batch *changed = NULL;
	struct profcol_error *error;

	if (!builder) {
		profcol_batch_unref(batch);
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_RESOURCES); i++)
		inform(informed, batch, i, builder);
	profcol_batch_unref(batch);
	error = profcol_builder_seal(builder, &changed);
	return error ? error : informed->host->consume_next(informed->host, changed);
}

static const struct profcol_component informed = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_DEVELOPMENT,
	.capabilities = PROFCOL_MUTATES,
	.type = "informed",
	.summary = "writes on each resource whether it knows the container",
	.options = informed_options,
	.config_size = sizeof(struct informed_config),
	.create = informed_create,
	.consume = informed_consume,
	.destroy = informed_destroy,
	.knows = informed_knows,
};

PROFCOL_PLUGIN(&informed);
