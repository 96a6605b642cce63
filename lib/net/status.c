// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include "base/base.h"
#include "proto/proto.h"

#include "otlp.pb-c.h"
#include "status.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1024,
	RETRY_MAX_SECONDS = 24 * 60 * 60,
	/* Answers are small: a few details, a remark. */
	STATUS_MAX_BYTES = 1 << 20,
	STATUS_MAX_ELEMENTS = 4096,
};

const char *net_code_name(enum net_code code)
{
	static const char *const names[NET_CODES] = {
		[NET_OK] = "ok",
		[NET_CANCELED] = "canceled",
		[NET_UNKNOWN] = "unknown",
		[NET_INVALID_ARGUMENT] = "invalid_argument",
		[NET_DEADLINE_EXCEEDED] = "deadline_exceeded",
		[NET_NOT_FOUND] = "not_found",
		[NET_ALREADY_EXISTS] = "already_exists",
		[NET_PERMISSION_DENIED] = "permission_denied",
		[NET_RESOURCE_EXHAUSTED] = "resource_exhausted",
		[NET_FAILED_PRECONDITION] = "failed_precondition",
		[NET_ABORTED] = "aborted",
		[NET_OUT_OF_RANGE] = "out_of_range",
		[NET_UNIMPLEMENTED] = "unimplemented",
		[NET_INTERNAL] = "internal",
		[NET_UNAVAILABLE] = "unavailable",
		[NET_DATA_LOSS] = "data_loss",
		[NET_UNAUTHENTICATED] = "unauthenticated",
	};

	return (unsigned int)code < NET_CODES ? names[code] : names[NET_UNKNOWN];
}

char *status_copy_text(const char *text, size_t length)
{
	char *copy;

	if (length > TEXT_MAX)
		length = TEXT_MAX;
	copy = malloc(length + 1);
	if (!copy)
		return NULL;
	strings_sanitize_utf8(copy, text, length);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = ' ';
	return copy;
}

/* protobuf-c bounds nothing: see first that @bytes is a small message of @shape. */
static bool status_is_sound(const uint8_t *bytes, size_t length, const struct proto_shape *shape)
{
	static const struct proto_limits limits = {
		.max_depth = 8,
		.max_elements = STATUS_MAX_ELEMENTS,
	};
	size_t offset;

	return length <= STATUS_MAX_BYTES && !proto_check(bytes, length, shape, &limits, &offset);
}

static const struct proto_shape flat_shape = { 0 };

/* ---- google.rpc.Status ---- */

static bool status_is_retry_info(const Rpc__Any *detail)
{
	const char *name = strrchr(detail->type_url, '/');

	return !strcmp(name ? name + 1 : detail->type_url, "google.rpc.RetryInfo");
}

static uint64_t status_delay(const Rpc__Duration *delay)
{
	if (!delay || delay->seconds < 0 || (!delay->seconds && delay->nanos <= 0))
		return 0;
	if (delay->seconds >= RETRY_MAX_SECONDS)
		return RETRY_MAX_SECONDS * UINT64_C(1000000000);
	if (delay->nanos < 0 || delay->nanos > 999999999)
		return (uint64_t)delay->seconds * 1000000000;
	return (uint64_t)delay->seconds * 1000000000 + (uint64_t)delay->nanos;
}

static bool status_decode_retry(const ProtobufCBinaryData *bytes, uint64_t *delay_ns_ret)
{
	static const struct proto_field_shape fields[] = { { 1, &flat_shape } };
	static const struct proto_shape shape = { .fields = fields, .count = 1 };
	Rpc__RetryInfo *info;

	if (!status_is_sound(bytes->data, bytes->len, &shape))
		return false;
	info = rpc__retry_info__unpack(NULL, bytes->len, bytes->data);
	if (!info)
		return false;
	*delay_ns_ret = status_delay(info->retry_delay);
	rpc__retry_info__free_unpacked(info, NULL);
	return true;
}

bool net_status_find_retry(const uint8_t *bytes, size_t length, uint64_t *delay_ns_ret)
{
	static const struct proto_field_shape fields[] = { { 3, &flat_shape } };
	static const struct proto_shape shape = { .fields = fields, .count = 1 };
	Rpc__Status *status;
	bool found = false;

	if (!status_is_sound(bytes, length, &shape))
		return false;
	status = rpc__status__unpack(NULL, length, bytes);
	for (size_t i = 0; status && i < status->n_details && !found; i++)
		found = status_is_retry_info(status->details[i]) &&
			status_decode_retry(&status->details[i]->value, delay_ns_ret);
	if (status)
		rpc__status__free_unpacked(status, NULL);
	return found;
}

char *status_find_message(const uint8_t *bytes, size_t length)
{
	static const struct proto_field_shape fields[] = { { 3, &flat_shape } };
	static const struct proto_shape shape = { .fields = fields, .count = 1 };
	Rpc__Status *status;
	char *text = NULL;

	if (!status_is_sound(bytes, length, &shape))
		return NULL;
	status = rpc__status__unpack(NULL, length, bytes);
	if (!status)
		return NULL;
	if (status->message && status->message[0])
		text = status_copy_text(status->message, strlen(status->message));
	rpc__status__free_unpacked(status, NULL);
	return text;
}

/* The RetryInfo of @answer, packed; free(). NULL without memory. */
static uint8_t *status_pack_retry(const struct net_answer *answer, size_t *length_ret)
{
	Rpc__Duration delay;
	Rpc__RetryInfo info;
	uint8_t *packed;

	rpc__duration__init(&delay);
	rpc__retry_info__init(&info);
	delay.seconds = (int64_t)(answer->retry_delay_ns / 1000000000);
	delay.nanos = (int32_t)(answer->retry_delay_ns % 1000000000);
	info.retry_delay = &delay;
	packed = malloc(rpc__retry_info__get_packed_size(&info) + 1);
	if (packed)
		*length_ret = rpc__retry_info__pack(&info, packed);
	return packed;
}

uint8_t *status_encode(const struct net_answer *answer, size_t *length_ret)
{
	Rpc__Any detail, *details = &detail;
	CLEANUP_FREE uint8_t *packed = NULL;
	Rpc__Status status;
	uint8_t *bytes;

	rpc__any__init(&detail);
	rpc__status__init(&status);
	status.code = (int32_t)answer->code;
	if (answer->message)
		status.message = answer->message;
	if (answer->has_retry) {
		packed = status_pack_retry(answer, &detail.value.len);
		if (!packed)
			return NULL;
		detail.type_url = (char *)(uintptr_t)"type.googleapis.com/google.rpc.RetryInfo";
		detail.value.data = packed;
		status.details = &details;
		status.n_details = 1;
	}
	bytes = malloc(rpc__status__get_packed_size(&status) + 1);
	if (bytes)
		*length_ret = rpc__status__pack(&status, bytes);
	return bytes;
}

/* ---- answers of OTLP services ---- */

struct profcol_error *net_export_result_decode(const uint8_t *bytes, size_t length,
					       struct net_export_result *result)
{
	static const struct proto_field_shape fields[] = { { 1, &flat_shape } };
	static const struct proto_shape shape = { .fields = fields, .count = 1 };
	Otlp__ExportProfilesServiceResponse *response = NULL;
	const Otlp__ExportProfilesPartialSuccess *partial;

	if (status_is_sound(bytes, length, &shape))
		response = otlp__export_profiles_service_response__unpack(NULL, length, bytes);
	if (!response)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "the peer's answer is no response of an OTLP service");
	*result = (struct net_export_result){ 0 };
	partial = response->partial_success;
	if (partial && partial->rejected_profiles > 0)
		result->rejected = (uint64_t)partial->rejected_profiles;
	if (partial && partial->error_message && partial->error_message[0])
		result->message =
			status_copy_text(partial->error_message, strlen(partial->error_message));
	otlp__export_profiles_service_response__free_unpacked(response, NULL);
	return NULL;
}

void net_export_result_deinit(struct net_export_result *result)
{
	free(result->message);
	*result = (struct net_export_result){ 0 };
}
