// SPDX-License-Identifier: Apache-2.0
#include "named_profiles.h"

#include "keys.h"
#include "value_columns.h"

#include <string.h>

/* The newest so far of those that say the same. */
struct newest {
	uint32_t resource, name, column;
	uint32_t profile;
	uint64_t time_unix_ns;
};

struct search {
	VECTOR(struct newest) found;
	struct intern index;
	struct newest wanted;
};

static bool is_wanted(uint32_t row, const void *context)
{
	const struct search *search = context;
	const struct newest *found = &search->found.items[row], *wanted = &search->wanted;

	return found->resource == wanted->resource && found->name == wanted->name &&
	       found->column == wanted->column;
}

/* A profile that tells how things stand at its time. False without memory. */
static bool add_state(struct named_profiles *named, struct search *search)
{
	const struct newest *wanted = &search->wanted;
	uint32_t words[] = { wanted->resource, wanted->name, wanted->column };
	uint32_t hash = intern_hash(words, sizeof(words));
	uint32_t row = intern_find(&search->index, hash, is_wanted, search);
	struct newest *found;

	if (row == INTERN_MISSING)
		return VECTOR_PUSH(&search->found, *wanted) &&
		       intern_insert(&search->index, hash, (uint32_t)search->found.count - 1);
	found = &search->found.items[row];
	if (found->time_unix_ns > wanted->time_unix_ns) {
		named->is_superseded[wanted->profile] = true;
		return true;
	}
	named->is_superseded[found->profile] = true;
	*found = *wanted;
	return true;
}

static bool add_scope(struct named_profiles *named, struct search *search,
		      const struct profcol_batch *batch, const struct value_columns *columns,
		      uint32_t scope)
{
	struct profcol_range profiles, samples;
	struct profcol_value name;

	profcol_batch_scope(batch, scope, &profiles);
	for (uint32_t i = profiles.begin; i < profiles.end; i++) {
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);

		if (!attribute_find(batch, profile.attributes, PROFCOL_PROFILE_NAME,
				    PROFCOL_VALUE_STRING, &name))
			continue;
		named->names[i] = name.string;
		search->wanted.name = name.string;
		search->wanted.column = columns->profiles[i].own;
		search->wanted.profile = i;
		search->wanted.time_unix_ns = profile.time_unix_ns;
		if (!profile.duration_ns && !add_state(named, search))
			return false;
	}
	return true;
}

static bool add_all(struct named_profiles *named, struct search *search,
		    const struct profcol_batch *batch, const struct value_columns *columns)
{
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_range scopes;

	for (uint32_t i = 0; i < resources; i++) {
		profcol_batch_resource(batch, i, &scopes);
		search->wanted.resource = i;
		for (uint32_t j = scopes.begin; j < scopes.end; j++)
			if (!add_scope(named, search, batch, columns, j))
				return false;
	}
	return true;
}

bool named_profiles_init(struct named_profiles *named, const struct profcol_batch *batch,
			 const struct value_columns *columns)
{
	size_t count = profcol_batch_count(batch, PROFCOL_PROFILES) + 1ul;
	struct search search = { 0 };
	bool is_whole;

	named->names = calloc(count, sizeof(*named->names));
	named->is_superseded = calloc(count, sizeof(*named->is_superseded));
	is_whole = named->names && named->is_superseded && add_all(named, &search, batch, columns);
	VECTOR_DEINIT(&search.found);
	intern_deinit(&search.index);
	return is_whole;
}

void named_profiles_deinit(struct named_profiles *named)
{
	free(named->names);
	free(named->is_superseded);
}
