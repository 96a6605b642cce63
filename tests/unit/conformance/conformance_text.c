// SPDX-License-Identifier: Apache-2.0
// On the bytes themselves: protobuf-c takes any, and ends its strings at the first NUL.
#include "checker.h"

#include "proto/proto.h"

void check_text(struct checker *checker, const ProtobufCMessageDescriptor *type,
		const uint8_t *bytes, size_t length)
{
	struct reader reader = reader_over(bytes, length);
	struct proto_field field;

	while (proto_next(&reader, &field)) {
		const ProtobufCFieldDescriptor *known =
			protobuf_c_message_descriptor_get_field(type, field.number);

		if (!known || field.wire != PROTO_BYTES)
			continue;
		if (known->type == PROTOBUF_C_TYPE_MESSAGE)
			check_text(checker, known->descriptor, field.bytes.at,
				   reader_left(&field.bytes));
		else if (known->type == PROTOBUF_C_TYPE_STRING &&
			 !strings_is_utf8((const char *)field.bytes.at, reader_left(&field.bytes)))
			checker_tell(checker, RULE_UTF8, "field %s of a %s is not", known->name,
				     type->short_name);
	}
}
