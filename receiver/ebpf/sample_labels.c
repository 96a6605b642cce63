// SPDX-License-Identifier: Apache-2.0
#include "sample_labels.h"

#include "sample.h"

#include <stdint.h>

/* Of a label's text, with the zeros behind it. */
static size_t text_bytes(const struct sample_label *label)
{
	return ((size_t)label->key_bytes + label->value_bytes + 7) & ~(size_t)7;
}

bool sample_labels_check(const void *labels, size_t bytes)
{
	const struct sample_labels *head = labels;
	size_t at = sizeof(*head);

	if (bytes < sizeof(*head) || bytes > SAMPLE_MAX_LABEL_BYTES || head->count > SAMPLE_LABELS)
		return false;
	for (size_t i = 0; i < head->count; i++) {
		const struct sample_label *label = (const void *)((const char *)labels + at);

		if (bytes - at < sizeof(*label) || !label->key_bytes ||
		    label->key_bytes > SAMPLE_LABEL_KEY_BYTES ||
		    label->value_bytes > SAMPLE_LABEL_VALUE_BYTES)
			return false;
		at += sizeof(*label);
		if (bytes - at < text_bytes(label))
			return false;
		at += text_bytes(label);
	}
	if (head->flags & SAMPLE_LABELS_PARTNER)
		at += sizeof(struct wait_partner);
	return at == bytes;
}

const struct wait_partner *sample_labels_partner(const void *labels, bool *was_woken_ret)
{
	struct label_reader reader = sample_labels_begin(labels);
	const struct sample_labels *head = labels;
	struct label_text text;

	*was_woken_ret = head->flags & SAMPLE_LABELS_WOKEN;
	if (!(head->flags & SAMPLE_LABELS_PARTNER))
		return NULL;
	while (sample_labels_next(&reader, &text))
		;
	return (const void *)reader.at;
}

struct label_reader sample_labels_begin(const void *labels)
{
	const struct sample_labels *head = labels;

	return (struct label_reader){ .at = (const char *)(head + 1), .left = head->count };
}

bool sample_labels_next(struct label_reader *reader, struct label_text *ret)
{
	const struct sample_label *label = (const void *)reader->at;

	if (!reader->left)
		return false;
	*ret = (struct label_text){
		.key = (const char *)(label + 1),
		.key_bytes = label->key_bytes,
		.value = (const char *)(label + 1) + label->key_bytes,
		.value_bytes = label->value_bytes,
		.is_cut = label->is_cut,
	};
	reader->at += sizeof(*label) + text_bytes(label);
	reader->left--;
	return true;
}
