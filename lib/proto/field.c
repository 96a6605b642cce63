// SPDX-License-Identifier: Apache-2.0
#include "proto.h"

enum { MAX_GROUPS = 64 };

bool proto_skip_group(struct reader *reader, uint32_t number)
{
	uint32_t open[MAX_GROUPS] = { number }, depth = 1;
	struct proto_field field;

	while (depth) {
		if (!reader_left(reader) || !proto_read_field(reader, &field))
			return false;
		if (field.wire == PROTO_GROUP_END && field.number != open[--depth])
			return false;
		if (field.wire != PROTO_GROUP)
			continue;
		if (depth == MAX_GROUPS)
			return false;
		open[depth++] = field.number;
	}
	return true;
}
