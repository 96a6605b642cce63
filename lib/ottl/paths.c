// SPDX-License-Identifier: Apache-2.0
#include "paths.h"

#include <stdio.h>
#include <string.h>

enum { FULL_NAME_SIZE = 256, OWN_PATHS_MAX = 32 };

/* Names that a path may begin with: whose it is, and the outermost context that has it. */
static const struct owner {
	const char *written, *name;
	enum ottl_context context;
} owners[] = {
	{ "resource", "resource", OTTL_RESOURCE },
	{ "scope", "scope", OTTL_SCOPE },
	{ "instrumentation_scope", "scope", OTTL_SCOPE },
	{ "profile", "profile", OTTL_PROFILE },
	{ "sample", "sample", OTTL_SAMPLE },
	{ "profilesample", "sample", OTTL_SAMPLE },
	{ "frame", "frame", OTTL_SAMPLE },
	{ "mapping", "mapping", OTTL_SAMPLE },
	{ "stack", "stack", OTTL_SAMPLE },
};

enum { OWNER_COUNT = sizeof(owners) / sizeof(owners[0]) };

/* The context in which @owner's own paths need no name in front. */
static enum ottl_context context_of_owner(const struct owner *owner)
{
	if (!strcmp(owner->name, "frame"))
		return OTTL_FRAME;
	return strcmp(owner->name, "mapping") != 0 ? owner->context : OTTL_MAPPING;
}

bool ottl_context_parse(const char *name, enum ottl_context *ret)
{
	for (size_t i = 0; i < OWNER_COUNT; i++) {
		if (strcmp(owners[i].written, name) != 0)
			continue;
		if (owners[i].context == OTTL_SAMPLE && strcmp(owners[i].name, "sample") != 0)
			return false;
		*ret = owners[i].context;
		return true;
	}
	return false;
}

const char *ottl_context_name(enum ottl_context context)
{
	static const char *const names[] = {
		[OTTL_RESOURCE] = "resource",    [OTTL_SCOPE] = "scope", [OTTL_PROFILE] = "profile",
		[OTTL_SAMPLE] = "profilesample", [OTTL_FRAME] = "frame", [OTTL_MAPPING] = "mapping",
	};

	return names[context];
}

/* ---- resolving ---- */

static const struct owner *owner_find(const char *written)
{
	for (size_t i = 0; i < OWNER_COUNT; i++)
		if (!strcmp(owners[i].written, written))
			return &owners[i];
	return NULL;
}

/* Whose @context's own paths are. */
static const char *owner_of_context(enum ottl_context context)
{
	return context == OTTL_SAMPLE ? "sample" : ottl_context_name(context);
}

bool path_context(const struct node *node, enum ottl_context *ret)
{
	const struct owner *owner =
		node->segment_count > 1 ? owner_find(node->segments[0].name) : NULL;

	if (owner)
		*ret = owner->context;
	return owner != NULL;
}

bool path_is_of(const struct node *node, enum ottl_context context)
{
	const struct owner *owner = node->kind == NODE_PATH && node->segment_count > 1
					    ? owner_find(node->segments[0].name)
					    : NULL;

	return owner && context_of_owner(owner) == context;
}

/* The names of @node from @begin on, with dots between them. */
static void full_name(const struct node *node, uint32_t begin, char to[static FULL_NAME_SIZE])
{
	size_t length = 0;

	to[0] = '\0';
	for (uint32_t i = begin; i < node->segment_count && length < FULL_NAME_SIZE; i++)
		length += (size_t)snprintf(to + length, FULL_NAME_SIZE - length, "%s%s",
					   i > begin ? "." : "", node->segments[i].name);
}

static const struct path *path_find(const char *owner, const char *name)
{
	size_t count;
	const struct path *paths = path_table(&count);

	for (size_t i = 0; i < count; i++)
		if ((!paths[i].owner || !strcmp(paths[i].owner, owner)) &&
		    !strcmp(paths[i].name, name))
			return &paths[i];
	return NULL;
}

/* Of @owner's paths, that nearest to @name; all of them where none is near. */
static struct profcol_error *unknown_path(const struct node *node, const char *owner,
					  uint32_t begin)
{
	const char *names[OWN_PATHS_MAX], *nearest, *segment = node->segments[begin].name;
	char full[FULL_NAME_SIZE], rest[FULL_NAME_SIZE], all[512] = "";
	size_t all_count, count = 0, length = 0;
	const struct path *paths = path_table(&all_count);

	for (size_t i = 0; i < all_count && count < OWN_PATHS_MAX; i++)
		if (paths[i].owner && !strcmp(paths[i].owner, owner))
			names[count++] = paths[i].name;
	for (size_t i = 0; i < count && length < sizeof(all); i++)
		length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s",
					   i ? ", " : "", names[i]);
	full_name(node, 0, full);
	full_name(node, begin, rest);
	nearest = strings_nearest(rest, names, count);
	if (!nearest)
		nearest = strings_nearest(segment, names, count);
	if (nearest)
		return place_error(node->place,
				   "segment \"%.60s\" from path \"%.100s\" is not a valid path nor "
				   "a valid OTTL keyword for the %s context; did you mean \"%s\"?",
				   segment, full, owner, nearest);
	return place_error(node->place,
			   "segment \"%.60s\" from path \"%.100s\" is not a valid path nor a valid "
			   "OTTL keyword for the %s context; it has: %s",
			   segment, full, owner, all);
}

/* @owner's path of that name is one the Collector has, with more behind it. */
static struct profcol_error *unused_segment(const struct node *node, const char *owner,
					    uint32_t begin)
{
	const char *first = node->segments[begin].name;
	size_t count;
	const struct path *paths = path_table(&count);

	for (size_t i = 0; i < count; i++)
		if (paths[i].owner && !strcmp(paths[i].owner, owner) &&
		    !strncmp(paths[i].name, first, strlen(first)) &&
		    paths[i].name[strlen(first)] == '.')
			return unknown_path(node, owner, begin);
	return place_error(node->place,
			   "the path section \"%.60s\" was not used by the context - this likely "
			   "means you are using extra path sections",
			   node->segments[begin + 1].name);
}

static struct profcol_error *missing_path(const struct node *node, const char *owner,
					  uint32_t begin)
{
	if (node->segment_count > begin + 1 && path_find(owner, node->segments[begin].name))
		return unused_segment(node, owner, begin);
	return unknown_path(node, owner, begin);
}

/* Can paths of @owner be used in @context? */
static bool context_has(enum ottl_context context, const struct owner *owner)
{
	if (context == OTTL_FRAME || context == OTTL_MAPPING)
		return context_of_owner(owner) == context ||
		       context_of_owner(owner) == OTTL_MAPPING;
	return owner->context <= context;
}

/* A context that does not have the path's owner. */
static struct profcol_error *outer_context(const struct node *node, const struct owner *owner,
					   enum ottl_context context)
{
	char full[FULL_NAME_SIZE];

	full_name(node, 0, full);
	if (context == OTTL_FRAME || context == OTTL_MAPPING)
		return place_error(
			node->place,
			"context \"%s\" from path \"%.100s\" is not valid: a %s is one for "
			"all samples that it occurs in, so statements that change it "
			"can use %s only",
			owner->written, full, ottl_context_name(context),
			context == OTTL_FRAME ? "frame and mapping" : "mapping");
	return place_error(node->place,
			   "context \"%s\" from path \"%.100s\" is not valid: conditions of the %s "
			   "context cannot use it, those of the %s context can",
			   owner->written, full, ottl_context_name(context),
			   ottl_context_name(owner->context));
}

static struct profcol_error *missing_owner(const struct node *node)
{
	char full[FULL_NAME_SIZE];

	full_name(node, 0, full);
	return place_error(node->place,
			   "missing context name for path \"%.100s\", possibly valid options are: "
			   "\"resource.%.60s\", \"scope.%.60s\", \"profile.%.60s\", "
			   "\"profilesample.%.60s\"",
			   full, full, full, full, full);
}

static struct profcol_error *check_keys(const struct node *node, const struct path *path)
{
	for (uint32_t i = 0; i < node->segment_count; i++) {
		bool is_last = i + 1 == node->segment_count;

		if (node->segments[i].key_count && !(is_last && (path->attributes || !path->owner)))
			return place_error(node->place,
					   "the keys indexing \"%.60s\" were not used by the "
					   "context - this likely means you are trying to index a "
					   "path that does not support indexing",
					   node->segments[i].name);
	}
	if (node->keys && node->keys[0]->kind == NODE_LITERAL &&
	    node->keys[0]->literal.type != VALUE_STRING)
		return place_error(node->keys[0]->place,
				   "attributes are indexed by their keys, which are strings");
	return NULL;
}

/* Where the path's own names begin, and whose they are. */
static struct profcol_error *find_owner(enum ottl_context context, bool needs_owner,
					const struct node *node, const char **owner_ret,
					uint32_t *begin_ret)
{
	const char *first = node->segments[0].name;
	const struct owner *owner = node->segment_count > 1 ? owner_find(first) : NULL;

	*owner_ret = owner ? owner->name : owner_of_context(context);
	*begin_ret = owner ? 1 : 0;
	if (owner && !context_has(context, owner))
		return outer_context(node, owner, context);
	if (node->segment_count > 1 && !strcmp(first, "otelcol"))
		return place_error(node->place, "context \"otelcol\" is not available: a batch "
						"does not know the request it came with");
	if (owner && !strcmp(node->segments[1].name, "cache") &&
	    strcmp(owner->name, owner_of_context(context)) != 0)
		return place_error(node->place,
				   "access to cache must be performed using the same context, "
				   "please replace \"%s.cache\" with \"%s.cache\"",
				   owner->written, ottl_context_name(context));
	return owner || !needs_owner ? NULL : missing_owner(node);
}

struct profcol_error *path_resolve(enum ottl_context context, bool needs_owner, struct node *node)
{
	const struct segment *last = &node->segments[node->segment_count - 1];
	char name[FULL_NAME_SIZE];
	const char *owner;
	uint32_t begin;
	struct profcol_error *error = find_owner(context, needs_owner, node, &owner, &begin);

	if (error)
		return error;
	full_name(node, begin, name);
	node->path = path_find(owner, name);
	if (!node->path)
		return missing_path(node, owner, begin);
	node->keys = last->keys;
	node->key_count = last->key_count;
	node->reads |= node->path->reads;
	return check_keys(node, node->path);
}
