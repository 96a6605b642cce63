// SPDX-License-Identifier: Apache-2.0
#include "import.h"
#include "profile.h"

#include <stdlib.h>

struct profile_carrier {
	struct import import;
};

struct profile_carrier *profile_carrier_create(const struct profcol_batch *from,
					       struct profcol_builder *to)
{
	struct profile_carrier *carrier = calloc(1, sizeof(*carrier));

	if (!carrier)
		return NULL;
	if (import_init(&carrier->import, from, to))
		return carrier;
	free(carrier);
	return NULL;
}

void profile_carrier_destroy(struct profile_carrier *carrier)
{
	if (!carrier)
		return;
	import_deinit(&carrier->import);
	free(carrier);
}

uint32_t profile_carry(struct profile_carrier *carrier, enum profcol_table table, uint32_t id)
{
	return import_id(&carrier->import, table, id);
}

size_t profile_builder_memory(const struct profcol_builder *builder)
{
	size_t bytes = sizeof(*builder) + profile_memory(builder->batch);

	for (unsigned int table = 0; table < DICTIONARY_TABLES; table++)
		bytes += intern_memory(&builder->indexes[table]);
	return bytes;
}

bool profile_builder_is_whole(const struct profcol_builder *builder)
{
	return !builder->out_of_memory && !builder->misplaced;
}
