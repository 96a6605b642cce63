// SPDX-License-Identifier: Apache-2.0
#include "label_attributes.h"

#include "printable.h"
#include "sample_labels.h"

#include <string.h>

#define KEY_PREFIX "process.context.label."

enum { PREFIX_BYTES = sizeof(KEY_PREFIX) - 1 };

/* To @to, where there is room for a NUL, too; returns how many bytes. */
static size_t clean_text(char *to, const char *from, size_t bytes)
{
	strings_sanitize_utf8(to, from, bytes);
	printable_strip_controls(to, bytes);
	return bytes;
}

static uint32_t key_string(const struct label_text *text, struct profcol_builder *builder)
{
	char key[PREFIX_BYTES + SAMPLE_LABEL_KEY_BYTES + 1] = KEY_PREFIX;
	size_t bytes = clean_text(key + PREFIX_BYTES, text->key, text->key_bytes);

	return profcol_builder_string(builder, key, PREFIX_BYTES + bytes);
}

static uint32_t value_string(const struct label_text *text, struct profcol_builder *builder)
{
	char value[SAMPLE_LABEL_VALUE_BYTES + 1];
	size_t bytes = text->value_bytes;

	// The character that was cut in two.
	if (text->is_cut)
		bytes = strings_cut_utf8(text->value, bytes, bytes - 1);
	bytes = clean_text(value, text->value, bytes);
	return profcol_builder_string(builder, value, bytes);
}

static bool add(struct label_attributes *attributes, uint32_t attribute)
{
	return VECTOR_PUSH(&attributes->ids, attribute);
}

/* Keys of the attributes that describe the other thread of a wait. */
struct partner_keys {
	const char *name, *pid, *tid;
};

static const struct partner_keys keys_of_waker = {
	"profcol.waker.thread.name",
	"profcol.waker.process.pid",
	"profcol.waker.thread.id",
};

static const struct partner_keys keys_of_woken = {
	"profcol.woken.thread.name",
	"profcol.woken.process.pid",
	"profcol.woken.thread.id",
};

/* A thread in the midst of an exec has no name (kernel_comm, bpf/kernel.bpf.h). */
static bool add_partner_name(struct label_attributes *attributes, const char *key,
			     const struct wait_partner *partner, struct profcol_builder *builder)
{
	struct profcol_attribute name = { .value.type = PROFCOL_VALUE_STRING };
	char comm[sizeof(partner->comm) + 1];

	if (!partner->comm[0])
		return true;
	name.key = profcol_builder_cstring(builder, key);
	name.value.string = profcol_builder_string(
		builder, comm,
		clean_text(comm, partner->comm, strnlen(partner->comm, sizeof(partner->comm))));
	return add(attributes, profcol_builder_attribute(builder, &name));
}

/* Adds the attributes of the other thread of a wait, if that is known. */
static bool build_partner(struct label_attributes *attributes, const void *labels,
			  struct profcol_builder *builder)
{
	bool was_woken;
	const struct wait_partner *partner = sample_labels_partner(labels, &was_woken);
	const struct partner_keys *keys = was_woken ? &keys_of_woken : &keys_of_waker;

	return !partner ||
	       (add_partner_name(attributes, keys->name, partner, builder) &&
		add(attributes, profcol_builder_attribute_int(builder, keys->pid, partner->pid)) &&
		add(attributes, profcol_builder_attribute_int(builder, keys->tid, partner->tid)));
}

/* Those of one row. */
static bool build_row(struct label_attributes *attributes, const void *labels,
		      struct profcol_builder *builder)
{
	struct label_reader reader = sample_labels_begin(labels);
	uint32_t keys[SAMPLE_LABELS];
	struct label_text text;
	size_t count = 0;

	while (count < SAMPLE_LABELS && sample_labels_next(&reader, &text)) {
		struct profcol_attribute attribute = { .key = key_string(&text, builder) };
		size_t same = 0;

		while (same < count && keys[same] != attribute.key)
			same++;
		if (same < count)
			continue;
		keys[count++] = attribute.key;
		attribute.value.type = PROFCOL_VALUE_STRING;
		attribute.value.string = value_string(&text, builder);
		if (!VECTOR_PUSH(&attributes->ids, profcol_builder_attribute(builder, &attribute)))
			return false;
	}
	return build_partner(attributes, labels, builder) &&
	       VECTOR_PUSH(&attributes->limits, (uint32_t)attributes->ids.count);
}

bool label_attributes_build(struct label_attributes *attributes, const struct capture *capture,
			    struct profcol_builder *builder)
{
	attributes->ids.count = attributes->limits.count = 0;
	for (size_t i = 0; i < capture->labels.count; i++)
		if (!build_row(attributes, capture_labels(capture, (uint32_t)i), builder))
			return false;
	return true;
}

void label_attributes_deinit(struct label_attributes *attributes)
{
	VECTOR_DEINIT(&attributes->ids);
	VECTOR_DEINIT(&attributes->limits);
}
