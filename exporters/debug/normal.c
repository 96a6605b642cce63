// SPDX-License-Identifier: Apache-2.0
#include "normal.h"

#include "text.h"
#include "value.h"

#include <string.h>

/* " [url]", or nothing. */
static void normal_add_schema_url(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_text url = profcol_batch_string(batch, id);

	if (!url.length)
		return;
	text_add(text, " [");
	text_add_string(text, url);
	text_add(text, "]");
}

static void normal_add_profile(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	static const uint8_t unset[sizeof(((struct profcol_profile *)0)->profile_id)];
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);

	if (memcmp(profile.profile_id, unset, sizeof(unset)))
		for (size_t i = 0; i < sizeof(profile.profile_id); i++)
			text_add(text, "%02x", profile.profile_id[i]);
	text_add(text, " samples=%u", samples.end - samples.begin);
	value_add_pairs(text, batch, profile.attributes);
	text_add(text, "\n");
}

static void normal_add_scope(struct text *text, const struct profcol_batch *batch, uint32_t id,
			     uint32_t number)
{
	struct profcol_range profiles;
	struct profcol_scope scope = profcol_batch_scope(batch, id, &profiles);
	struct profcol_text name = profcol_batch_string(batch, scope.name);
	struct profcol_text version = profcol_batch_string(batch, scope.version);

	text_add(text, "ScopeProfiles #%u", number);
	if (name.length || version.length)
		text_add(text, " ");
	text_add_string(text, name);
	if (version.length)
		text_add(text, "@");
	text_add_string(text, version);
	normal_add_schema_url(text, batch, scope.schema_url);
	value_add_pairs(text, batch, scope.attributes);
	text_add(text, "\n");
	for (uint32_t i = profiles.begin; i < profiles.end && !text->cut; i++)
		normal_add_profile(text, batch, i);
}

void normal_print(struct text *text, const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);

	for (uint32_t i = 0; i < count && !text->cut; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		text_add(text, "ResourceProfiles #%u", i);
		normal_add_schema_url(text, batch, resource.schema_url);
		value_add_pairs(text, batch, resource.attributes);
		text_add(text, "\n");
		for (uint32_t j = scopes.begin; j < scopes.end; j++)
			normal_add_scope(text, batch, j, j - scopes.begin);
	}
}
