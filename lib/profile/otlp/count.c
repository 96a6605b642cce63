// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include "proto/proto.h"

enum { NESTING = 3 };

/* A field of this number leads to the next message on the way to a Profile. */
static const uint32_t way[NESTING] = {
	1, // ExportProfilesServiceRequest.resource_profiles
	2, // ResourceProfiles.scope_profiles
	2, // ScopeProfiles.profiles
};

uint64_t otlp_count_profiles(const uint8_t *bytes, size_t length)
{
	struct reader levels[NESTING] = { reader_over(bytes, length) };
	struct proto_field field;
	unsigned int level = 0;
	uint64_t count = 0;

	for (;;) {
		if (!proto_next(&levels[level], &field)) {
			if (!level--)
				return count;
			continue;
		}
		if (field.number != way[level] || field.wire != PROTO_BYTES)
			continue;
		if (level + 1 == NESTING)
			count++;
		else
			levels[++level] = field.bytes;
	}
}
