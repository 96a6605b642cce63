// SPDX-License-Identifier: Apache-2.0
/*
 * A server that says anything of a cluster: whatever is passed on keeps the promises of pod.h, and
 * is the same whatever pieces it comes in. The first byte says what is expected, and how large the
 * pieces are.
 */
#include "processors/k8s_attributes/pod_parse.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Adds to *@sum what @text is. */
static void check_text(uint64_t *sum, const char *text)
{
	size_t length = strlen(text);

	if (length > K8S_TEXT_MAX || !strings_is_utf8(text, length))
		abort();
	*sum = *sum * 31 + intern_hash(text, length);
}

static void check_pairs(uint64_t *sum, const struct k8s_pair *pairs, size_t count)
{
	if (count > K8S_LABELS_MAX)
		abort();
	for (size_t i = 0; i < count; i++) {
		check_text(sum, pairs[i].key);
		check_text(sum, pairs[i].value);
	}
}

static void check_metadata(uint64_t *sum, const struct k8s_metadata *metadata)
{
	if (!metadata->name[0] || !metadata->uid[0] || metadata->owner_count > K8S_OWNERS_MAX)
		abort();
	check_text(sum, metadata->name);
	check_text(sum, metadata->namespace);
	check_text(sum, metadata->uid);
	check_text(sum, metadata->creation_time);
	check_pairs(sum, metadata->labels, metadata->label_count);
	check_pairs(sum, metadata->annotations, metadata->annotation_count);
	for (size_t i = 0; i < metadata->owner_count; i++) {
		check_text(sum, metadata->owners[i].api_version);
		check_text(sum, metadata->owners[i].kind);
		check_text(sum, metadata->owners[i].name);
		check_text(sum, metadata->owners[i].uid);
	}
}

static void check_pod(uint64_t *sum, const struct k8s_pod *pod)
{
	check_text(sum, pod->node_name);
	check_text(sum, pod->hostname);
	check_text(sum, pod->ip);
	check_text(sum, pod->start_time);
	check_text(sum, pod->phase);
	if (pod->container_count > K8S_CONTAINERS_MAX)
		abort();
	for (size_t i = 0; i < pod->container_count; i++) {
		const struct k8s_container *container = &pod->containers[i];

		check_text(sum, container->name);
		check_text(sum, container->image);
		check_text(sum, container->image_id);
		check_text(sum, container->id);
		check_text(sum, container->previous_id);
		*sum = *sum * 31 + container->restart_count;
	}
}

static bool take(void *context, const struct pod_event *event)
{
	uint64_t *sum = context;

	*sum = *sum * 31 + event->type;
	check_text(sum, event->resource_version);
	check_text(sum, event->message);
	if (event->type == POD_EVENT_PUT || event->type == POD_EVENT_REMOVED)
		check_metadata(sum, event->metadata);
	if (event->pod)
		check_pod(sum, event->pod);
	return true;
}

static uint64_t parse(const char *text, size_t length, size_t piece, enum pod_form form,
		      enum k8s_kind kind)
{
	struct profcol_error *error = NULL;
	uint64_t sum = 0;
	struct pod_parse *parse = pod_parse_create(form, kind, take, &sum);

	for (size_t at = 0; parse && at < length && !error; at += piece)
		error = pod_parse_feed(parse, text + at, length - at < piece ? length - at : piece);
	if (parse && !error)
		error = pod_parse_end(parse);
	sum = sum * 2 + !error;
	profcol_error_destroy(error);
	if (parse && (strlen(pod_parse_version(parse)) > POD_PARSE_VERSION_MAX ||
		      strlen(pod_parse_continue(parse)) > POD_PARSE_CONTINUE_MAX))
		abort();
	pod_parse_destroy(parse);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[64];
	enum pod_form form;
	enum k8s_kind kind;
	size_t piece;

	if (size < 2)
		return 0;
	form = bytes[0] & 1 ? POD_FORM_WATCH : POD_FORM_LIST;
	kind = bytes[0] & 2 ? K8S_DEPLOYMENT : K8S_POD;
	piece = (bytes[0] >> 2) + 1u;
	if (parse((const char *)bytes + 1, size - 1, piece, form, kind) !=
	    parse((const char *)bytes + 1, size - 1, size, form, kind))
		abort();
	pod_parse_status((const char *)bytes + 1, size - 1, message, sizeof(message));
	if (!strings_is_utf8(message, strlen(message)))
		abort();
	return 0;
}
