/* SPDX-License-Identifier: Apache-2.0 */
/* What OTLP/JSON messages may hold, by name, for their reader and writer. Private to otlp/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_DEPTH_MAX = 256 }; /* messages; of nested values otlp_decode takes 64 levels of three */

enum json_kind {
	JSON_INT32,
	JSON_UINT32,
	JSON_INT64,
	JSON_UINT64,
	JSON_FIXED64,
	JSON_BOOL,
	JSON_DOUBLE,
	JSON_STRING,
	JSON_BYTES, /* base64 */
	JSON_ID,    /* hexadecimal */
	JSON_MESSAGE,
};

struct json_field {
	uint32_t number;
	enum json_kind kind;
	bool repeated;
	const char *name;
	const struct json_shape *message;
};

struct json_shape {
	const struct json_field *fields; /* in the order in which they are written */
	size_t count;
};

/* An ExportProfilesServiceRequest. */
extern const struct json_shape otlp_json_request;

/* Its answers: an ExportProfilesServiceResponse, and a google.rpc.Status. */
extern const struct json_shape otlp_json_response, otlp_json_status;
