// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

/*
 * A dictionary table holds each entry once. So when all entries of a batch are added to an empty
 * builder in their order, each gets the id that it had, and what refers to it needs no
 * translation. Entry 0 is there from the start.
 */
static void copy_texts(const struct profcol_batch *batch, struct profcol_builder *builder)
{
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_STRINGS); i++) {
		struct profcol_text text = profcol_batch_string(batch, i);

		profcol_builder_string(builder, text.bytes, text.length);
	}
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_BLOBS); i++) {
		struct profcol_text blob = profcol_batch_blob(batch, i);

		profcol_builder_blob(builder, blob.bytes, blob.length);
	}
}

static void copy_attributes(const struct profcol_batch *batch, struct profcol_builder *builder)
{
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_ATTRIBUTES); i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, i);

		profcol_builder_attribute(builder, &attribute);
	}
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_ATTRIBUTE_LISTS); i++) {
		uint32_t count;
		const uint32_t *list = profcol_batch_attribute_list(batch, i, &count);

		profcol_builder_attribute_list(builder, list, count);
	}
}

static void copy_code(const struct profcol_batch *batch, struct profcol_builder *builder)
{
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_FUNCTIONS); i++) {
		struct profcol_function function = profcol_batch_function(batch, i);

		profcol_builder_function(builder, &function);
	}
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_MAPPINGS); i++) {
		struct profcol_mapping mapping = profcol_batch_mapping(batch, i);

		profcol_builder_mapping(builder, &mapping);
	}
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_LOCATIONS); i++) {
		struct profcol_location location = profcol_batch_location(batch, i);

		profcol_builder_location(builder, &location);
	}
}

static void copy_stacks(const struct profcol_batch *batch, struct profcol_builder *builder)
{
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_STACKS); i++) {
		uint32_t count;
		const uint32_t *stack = profcol_batch_stack(batch, i, &count);

		profcol_builder_stack(builder, stack, count);
	}
	for (uint32_t i = 1; i < profcol_batch_count(batch, PROFCOL_LINKS); i++) {
		struct profcol_link link = profcol_batch_link(batch, i);

		profcol_builder_link(builder, &link);
	}
}

static void copy_samples(const struct profcol_batch *batch, struct profcol_builder *builder,
			 struct profcol_range samples, const struct copy_choice *choice)
{
	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct profcol_sample sample = profcol_batch_sample(batch, i);

		if (choice->keep(batch, builder, i, &sample.attributes, choice->context))
			profcol_builder_add_sample(builder, &sample);
	}
}

static void copy_scopes(const struct profcol_batch *batch, struct profcol_builder *builder,
			struct profcol_range scopes, const struct copy_choice *choice)
{
	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		struct profcol_range profiles, samples;
		struct profcol_scope scope = profcol_batch_scope(batch, i, &profiles);

		profcol_builder_add_scope(builder, &scope);
		for (uint32_t j = profiles.begin; j < profiles.end; j++) {
			struct profcol_profile profile = profcol_batch_profile(batch, j, &samples);

			profcol_builder_add_profile(builder, &profile);
			copy_samples(batch, builder, samples, choice);
		}
	}
}

struct profcol_error *copy_batch(const struct profcol_batch *batch,
				 const struct copy_choice *choice, struct profcol_batch **ret)
{
	struct profcol_builder *builder = profcol_builder_create();

	if (!builder)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	copy_texts(batch, builder);
	copy_attributes(batch, builder);
	copy_code(batch, builder);
	copy_stacks(batch, builder);
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_RESOURCES); i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		profcol_builder_add_resource(builder, &resource);
		copy_scopes(batch, builder, scopes, choice);
	}
	return profcol_builder_seal(builder, ret);
}
