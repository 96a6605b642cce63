// SPDX-License-Identifier: Apache-2.0
#include "json_shapes.h"

#define SHAPE(name)                                                                                \
	static const struct json_shape name = {                                                    \
		.fields = name##_fields,                                                           \
		.count = sizeof(name##_fields) / sizeof(name##_fields[0]),                         \
	}

static const struct json_shape any_value; /* it holds itself */

static const struct json_field key_value_fields[] = {
	{ 1, JSON_STRING, false, "key", NULL },
	{ 2, JSON_MESSAGE, false, "value", &any_value },
	{ 3, JSON_INT32, false, "keyStrindex", NULL },
};
SHAPE(key_value);

static const struct json_field array_value_fields[] = {
	{ 1, JSON_MESSAGE, true, "values", &any_value },
};
SHAPE(array_value);

static const struct json_field key_value_list_fields[] = {
	{ 1, JSON_MESSAGE, true, "values", &key_value },
};
SHAPE(key_value_list);

static const struct json_field any_value_fields[] = {
	{ 1, JSON_STRING, false, "stringValue", NULL },
	{ 2, JSON_BOOL, false, "boolValue", NULL },
	{ 3, JSON_INT64, false, "intValue", NULL },
	{ 4, JSON_DOUBLE, false, "doubleValue", NULL },
	{ 5, JSON_MESSAGE, false, "arrayValue", &array_value },
	{ 6, JSON_MESSAGE, false, "kvlistValue", &key_value_list },
	{ 7, JSON_BYTES, false, "bytesValue", NULL },
	{ 8, JSON_INT32, false, "stringValueStrindex", NULL },
};
SHAPE(any_value);

static const struct json_field entity_ref_fields[] = {
	{ 1, JSON_STRING, false, "schemaUrl", NULL },
	{ 2, JSON_STRING, false, "type", NULL },
	{ 3, JSON_STRING, true, "idKeys", NULL },
	{ 4, JSON_STRING, true, "descriptionKeys", NULL },
};
SHAPE(entity_ref);

static const struct json_field resource_fields[] = {
	{ 1, JSON_MESSAGE, true, "attributes", &key_value },
	{ 2, JSON_UINT32, false, "droppedAttributesCount", NULL },
	{ 3, JSON_MESSAGE, true, "entityRefs", &entity_ref },
};
SHAPE(resource);

static const struct json_field scope_fields[] = {
	{ 1, JSON_STRING, false, "name", NULL },
	{ 2, JSON_STRING, false, "version", NULL },
	{ 3, JSON_MESSAGE, true, "attributes", &key_value },
	{ 4, JSON_UINT32, false, "droppedAttributesCount", NULL },
};
SHAPE(scope);

static const struct json_field value_type_fields[] = {
	{ 1, JSON_INT32, false, "typeStrindex", NULL },
	{ 2, JSON_INT32, false, "unitStrindex", NULL },
};
SHAPE(value_type);

static const struct json_field sample_fields[] = {
	{ 1, JSON_INT32, false, "stackIndex", NULL },
	{ 2, JSON_INT32, true, "attributeIndices", NULL },
	{ 3, JSON_INT32, false, "linkIndex", NULL },
	{ 4, JSON_INT64, true, "values", NULL },
	{ 5, JSON_FIXED64, true, "timestampsUnixNano", NULL },
};
SHAPE(sample);

static const struct json_field profile_fields[] = {
	{ 1, JSON_MESSAGE, false, "sampleType", &value_type },
	{ 2, JSON_MESSAGE, true, "samples", &sample },
	{ 3, JSON_FIXED64, false, "timeUnixNano", NULL },
	{ 4, JSON_UINT64, false, "durationNano", NULL },
	{ 5, JSON_MESSAGE, false, "periodType", &value_type },
	{ 6, JSON_INT64, false, "period", NULL },
	{ 7, JSON_ID, false, "profileId", NULL },
	{ 8, JSON_UINT32, false, "droppedAttributesCount", NULL },
	{ 9, JSON_STRING, false, "originalPayloadFormat", NULL },
	{ 10, JSON_BYTES, false, "originalPayload", NULL },
	{ 11, JSON_INT32, true, "attributeIndices", NULL },
};
SHAPE(profile);

static const struct json_field scope_profiles_fields[] = {
	{ 1, JSON_MESSAGE, false, "scope", &scope },
	{ 2, JSON_MESSAGE, true, "profiles", &profile },
	{ 3, JSON_STRING, false, "schemaUrl", NULL },
};
SHAPE(scope_profiles);

static const struct json_field resource_profiles_fields[] = {
	{ 1, JSON_MESSAGE, false, "resource", &resource },
	{ 2, JSON_MESSAGE, true, "scopeProfiles", &scope_profiles },
	{ 3, JSON_STRING, false, "schemaUrl", NULL },
};
SHAPE(resource_profiles);

static const struct json_field mapping_fields[] = {
	{ 1, JSON_UINT64, false, "memoryStart", NULL },
	{ 2, JSON_UINT64, false, "memoryLimit", NULL },
	{ 3, JSON_UINT64, false, "fileOffset", NULL },
	{ 4, JSON_INT32, false, "filenameStrindex", NULL },
	{ 5, JSON_INT32, true, "attributeIndices", NULL },
};
SHAPE(mapping);

static const struct json_field line_fields[] = {
	{ 1, JSON_INT32, false, "functionIndex", NULL },
	{ 2, JSON_INT64, false, "line", NULL },
	{ 3, JSON_INT64, false, "column", NULL },
};
SHAPE(line);

static const struct json_field location_fields[] = {
	{ 1, JSON_INT32, false, "mappingIndex", NULL },
	{ 2, JSON_UINT64, false, "address", NULL },
	{ 3, JSON_MESSAGE, true, "lines", &line },
	{ 4, JSON_INT32, true, "attributeIndices", NULL },
};
SHAPE(location);

static const struct json_field function_fields[] = {
	{ 1, JSON_INT32, false, "nameStrindex", NULL },
	{ 2, JSON_INT32, false, "systemNameStrindex", NULL },
	{ 3, JSON_INT32, false, "filenameStrindex", NULL },
	{ 4, JSON_INT64, false, "startLine", NULL },
};
SHAPE(function);

static const struct json_field span_link_fields[] = {
	{ 1, JSON_ID, false, "traceId", NULL },
	{ 2, JSON_ID, false, "spanId", NULL },
};
SHAPE(span_link);

static const struct json_field attribute_fields[] = {
	{ 1, JSON_INT32, false, "keyStrindex", NULL },
	{ 2, JSON_MESSAGE, false, "value", &any_value },
	{ 3, JSON_INT32, false, "unitStrindex", NULL },
};
SHAPE(attribute);

static const struct json_field stack_fields[] = {
	{ 1, JSON_INT32, true, "locationIndices", NULL },
};
SHAPE(stack);

static const struct json_field dictionary_fields[] = {
	{ 1, JSON_MESSAGE, true, "mappingTable", &mapping },
	{ 2, JSON_MESSAGE, true, "locationTable", &location },
	{ 3, JSON_MESSAGE, true, "functionTable", &function },
	{ 4, JSON_MESSAGE, true, "linkTable", &span_link },
	{ 5, JSON_STRING, true, "stringTable", NULL },
	{ 6, JSON_MESSAGE, true, "attributeTable", &attribute },
	{ 7, JSON_MESSAGE, true, "stackTable", &stack },
};
SHAPE(dictionary);

static const struct json_field request_fields[] = {
	{ 1, JSON_MESSAGE, true, "resourceProfiles", &resource_profiles },
	{ 2, JSON_MESSAGE, false, "dictionary", &dictionary },
};

const struct json_shape otlp_json_request = {
	.fields = request_fields,
	.count = sizeof(request_fields) / sizeof(request_fields[0]),
};

static const struct json_field partial_success_fields[] = {
	{ 1, JSON_INT64, false, "rejectedProfiles", NULL },
	{ 2, JSON_STRING, false, "errorMessage", NULL },
};
SHAPE(partial_success);

static const struct json_field response_fields[] = {
	{ 1, JSON_MESSAGE, false, "partialSuccess", &partial_success },
};

const struct json_shape otlp_json_response = {
	.fields = response_fields,
	.count = sizeof(response_fields) / sizeof(response_fields[0]),
};

static const struct json_field status_fields[] = {
	{ 1, JSON_INT32, false, "code", NULL },
	{ 2, JSON_STRING, false, "message", NULL },
};

const struct json_shape otlp_json_status = {
	.fields = status_fields,
	.count = sizeof(status_fields) / sizeof(status_fields[0]),
};
