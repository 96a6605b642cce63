// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include "proc_text.h"

#include <string.h>

enum {
	/* Of the memory there is for texts, one process has this part for paths of what it maps. */
	PATH_SHARE = 8,
	/* Of the memory there is for spaces, one has this part for its mappings, in any case... */
	SURE_SHARE = 16,
	/* ...and all together this part for what they have beyond. */
	EXCESS_SHARE = 2,
	/* What one may have beyond it grows by this part of what is sure: rarely, not each time. */
	STEP_SHARE = 8,
};

void space_pool_init(struct space_pool *pool, size_t max_bytes, size_t max_text_bytes)
{
	size_t alone = max_bytes / SURE_SHARE + max_bytes / EXCESS_SHARE / 2;

	*pool = (struct space_pool){
		.max_bytes = max_bytes,
		.most_mappings = alone / sizeof(struct mapping),
	};
	texts_init(&pool->texts, max_text_bytes);
}

void space_pool_deinit(struct space_pool *pool)
{
	texts_deinit(&pool->texts);
}

/* What mappings of one space take beyond the share that is sure. */
static size_t excess_of(const struct space_pool *pool, size_t bytes)
{
	size_t sure = pool->max_bytes / SURE_SHARE;

	return bytes > sure ? bytes - sure : 0;
}

/* The mappings of one space take @after bytes, where they took @before. */
static void account(struct space_pool *pool, size_t before, size_t after)
{
	pool->memory += after - before;
	pool->excess += excess_of(pool, after) - excess_of(pool, before);
}

/* How many mappings a space may have whose mappings take @bytes. */
static size_t most_mappings(const struct space_pool *pool, size_t bytes)
{
	size_t sure = pool->max_bytes / SURE_SHARE, step = sure / STEP_SHARE;
	size_t limit = pool->max_bytes / EXCESS_SHARE, most;
	size_t left = pool->excess < limit ? limit - pool->excess : 0;
	size_t excess = (excess_of(pool, bytes) + left) / 2;

	most = (sure + excess / step * step) / sizeof(struct mapping);
	return most < pool->most_mappings ? most : pool->most_mappings;
}

struct space *space_create(struct space_pool *pool, uint64_t begin_ns)
{
	struct space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->references = 1;
	space->begin_ns = begin_ns;
	pool->memory += sizeof(*space);
	return space;
}

static void leave_parent(struct space_pool *pool, struct space *space)
{
	struct space *parent = space->parent;

	if (!parent)
		return;
	space->parent = NULL;
	parent->children--;
	space_unref(pool, parent);
}

void space_unref(struct space_pool *pool, struct space *space)
{
	// A loop, not a recursion: a process may have exec'd any number of times.
	while (space && !--space->references) {
		struct space *older = space->older;

		leave_parent(pool, space);
		account(pool, mappings_memory(&space->mappings), 0);
		pool->memory -= sizeof(*space);
		mappings_deinit(&space->mappings, &pool->texts);
		texts_release(&pool->texts, space->executable);
		texts_release(&pool->texts, space->attributes);
		free(space);
		space = older;
	}
}

static void refer_to(struct space *space, struct space *parent, uint64_t time_ns)
{
	space->parent = parent;
	space->parent_ns = time_ns;
	space->depth = parent->depth + 1;
	parent->references++;
	if (!parent->children++ || time_ns < parent->oldest_child_ns)
		parent->oldest_child_ns = time_ns;
}

static bool shows_in(const struct space *space, uint64_t start, uint64_t limit)
{
	for (; space; space = space->parent)
		if (mappings_overlap(&space->mappings, start, limit))
			return true;
	return false;
}

int space_add(struct space_pool *pool, struct space *space, const struct mapping *mapping)
{
	size_t before = mappings_memory(&space->mappings);
	int status =
		mappings_add(&space->mappings, &pool->texts, mapping, most_mappings(pool, before));

	account(pool, before, mappings_memory(&space->mappings));
	if (mapping->begin_ns > space->covered_ns &&
	    shows_in(space->parent, mapping->start, mapping->limit))
		space->covered_ns = mapping->begin_ns;
	if (status && space->complete) {
		space->complete = false;
		space->suspect_ns = mapping->begin_ns;
	}
	return status;
}

/* Give @space mappings of its own: what @from and its parents show at @time_ns. */
static void copy_visible(struct space_pool *pool, struct space *space, const struct space *from,
			 uint64_t time_ns)
{
	const struct space *line[SPACE_DEEPEST + 1];
	uint64_t times[SPACE_DEEPEST + 1];
	size_t count = 0;

	for (; from && count <= SPACE_DEEPEST; from = from->parent) {
		line[count] = from;
		times[count++] = time_ns;
		if (from->parent_ns < time_ns)
			time_ns = from->parent_ns;
	}
	// The eldest first: what a child mapped itself covers what it inherited.
	while (count--) {
		const struct mappings *mappings = &line[count]->mappings;

		for (size_t i = 0; i < mappings->past.count; i++)
			if (past_mapping_held(&mappings->past.items[i], times[count]))
				space_add(pool, space, &mappings->past.items[i].mapping);
		for (size_t i = 0; i < mappings->now.count; i++)
			if (mappings->now.items[i].begin_ns <= times[count])
				space_add(pool, space, &mappings->now.items[i]);
	}
}

/* What @space has of its parents becomes its own. */
static void part_from_parent(struct space_pool *pool, struct space *space)
{
	struct mappings own = space->mappings;
	size_t before;

	// What was its own covers what it inherited.
	space->mappings = (struct mappings){
		.changes = own.changes,
		.repeats = own.repeats,
		.ended_ns = own.ended_ns,
	};
	account(pool, mappings_memory(&own), 0);
	copy_visible(pool, space, space->parent, space->parent_ns);
	for (size_t i = 0; i < own.now.count; i++)
		space_add(pool, space, &own.now.items[i]);
	before = mappings_memory(&space->mappings);
	for (; own.past.count; own.past.count--) {
		struct past_mapping *past = &own.past.items[own.past.count - 1];

		if (space->mappings.past.count >= MAPPINGS_PAST_MAX ||
		    !VECTOR_PUSH(&space->mappings.past, *past))
			break;
	}
	account(pool, before, mappings_memory(&space->mappings));
	mappings_deinit(&own, &pool->texts);
	leave_parent(pool, space);
	space->depth = 0;
}

int space_end(struct space_pool *pool, struct space *space, uint64_t start, uint64_t limit,
	      uint64_t time_ns)
{
	size_t before;
	int status;

	if (space->parent && shows_in(space->parent, start, limit))
		part_from_parent(pool, space);
	before = mappings_memory(&space->mappings);
	status = mappings_end(&space->mappings, &pool->texts, start, limit, time_ns);
	account(pool, before, mappings_memory(&space->mappings));
	if (status && space->complete) {
		space->complete = false;
		space->suspect_ns = time_ns;
	}
	return status;
}

struct space *space_fork(struct space_pool *pool, struct space *parent, uint64_t time_ns)
{
	struct space *space = space_create(pool, time_ns);

	if (!space)
		return NULL;
	space->complete = parent->complete;
	space->suspect_ns = parent->suspect_ns;
	space->executable_read = parent->executable_read;
	memcpy(space->comm, parent->comm, sizeof(space->comm));
	space->executable = parent->executable;
	texts_share(&pool->texts, space->executable);
	space->environment_read = parent->environment_read;
	space->attributes = texts_share(&pool->texts, parent->attributes);
	// A parent that has nothing of its own need not stay for its child's sake.
	while (parent->parent && !parent->mappings.now.count) {
		if (parent->parent_ns < time_ns)
			time_ns = parent->parent_ns;
		parent = parent->parent;
	}
	if (parent->depth < SPACE_DEEPEST)
		refer_to(space, parent, time_ns);
	else
		copy_visible(pool, space, parent, time_ns);
	return space;
}

const struct mapping *space_find(const struct space *space, uint64_t time_ns, uint64_t address)
{
	for (; space; space = space->parent) {
		const struct mapping *found = mappings_find(&space->mappings, time_ns, address);

		if (found)
			return found;
		if (space->parent_ns < time_ns)
			time_ns = space->parent_ns;
	}
	return NULL;
}

/* Give @space a mapping of its own for @shown, which one of its parents has. */
static void renew_inherited(struct space_pool *pool, struct space *space,
			    const struct mapping *shown, uint64_t time_ns)
{
	struct mapping mapping = *shown;

	if (space_find(space, time_ns, shown->start) != shown)
		return;
	mapping.begin_ns = time_ns;
	mapping.again_ns = 0;
	mapping.file = MAPPING_FILE_UNRESOLVED;
	space_add(pool, space, &mapping);
}

bool space_renew(struct space_pool *pool, struct space *space, uint32_t file, uint64_t time_ns)
{
	size_t before = mappings_memory(&space->mappings);
	uint64_t changes = space->mappings.changes;

	mappings_renew(&space->mappings, &pool->texts, file, time_ns);
	account(pool, before, mappings_memory(&space->mappings));
	for (struct space *parent = space->parent; parent; parent = parent->parent) {
		const struct mappings *mappings = &parent->mappings;

		for (size_t i = 0; i < mappings->now.count; i++)
			if (mappings->now.items[i].file == file)
				renew_inherited(pool, space, &mappings->now.items[i], time_ns);
		for (size_t i = 0; i < mappings->past.count; i++)
			if (mappings->past.items[i].mapping.file == file)
				renew_inherited(pool, space, &mappings->past.items[i].mapping,
						time_ns);
	}
	return space->mappings.changes != changes;
}

uint64_t space_ended_ns(const struct space *space)
{
	uint64_t ended_ns = 0;

	for (; space; space = space->parent) {
		if (space->mappings.ended_ns > ended_ns)
			ended_ns = space->mappings.ended_ns;
		if (space->covered_ns > ended_ns)
			ended_ns = space->covered_ns;
	}
	return ended_ns;
}

static bool has_place(const struct mapping *mapping, uint64_t time_ns,
		      const struct process_place *place)
{
	return mapping->file == place->file && mapping->begin_ns <= time_ns &&
	       place->offset - mapping->file_offset < mapping->limit - mapping->start;
}

static bool shows_at(const struct space *space, uint64_t time_ns, uint64_t address,
		     const struct process_place *place)
{
	const struct mapping *shown = space_find(space, time_ns, address);

	return shown && has_place(shown, time_ns, place) &&
	       shown->start + (place->offset - shown->file_offset) == address;
}

/* What is known of a place once some mappings have been looked at. */
enum finding { FOUND_NOT, FOUND_ONCE, FOUND_SHOWN };

/* Add to @finding what @mapping, of @space or of a parent, says of @place. */
static enum finding look_at(const struct space *space, const struct mapping *mapping,
			    uint64_t time_ns, struct process_place *place, enum finding finding)
{
	uint64_t address = mapping->start + (place->offset - mapping->file_offset);

	if (finding == FOUND_SHOWN || !has_place(mapping, time_ns, place))
		return finding;
	if (!shows_at(space, time_ns, address, place))
		return FOUND_ONCE;
	place->address = address;
	return FOUND_SHOWN;
}

bool space_has_lost(const struct space *space, uint64_t time_ns, struct process_place *place)
{
	enum finding finding = FOUND_NOT;

	if (place->address && shows_at(space, time_ns, place->address, place))
		return false;
	for (const struct space *layer = space; layer; layer = layer->parent) {
		const struct mappings *mappings = &layer->mappings;

		if (place->visits < mappings->now.count + mappings->past.count)
			return false;
		place->visits -= mappings->now.count + mappings->past.count;
		for (size_t i = 0; i < mappings->now.count; i++)
			finding = look_at(space, &mappings->now.items[i], time_ns, place, finding);
		for (size_t i = 0; i < mappings->past.count; i++)
			finding = look_at(space, &mappings->past.items[i].mapping, time_ns, place,
					  finding);
	}
	return finding == FOUND_ONCE;
}

void space_set_executable(struct space_pool *pool, struct space *space, const char *path,
			  size_t length)
{
	struct text *text = texts_take(&pool->texts, path, length);

	if (!text)
		return;
	texts_release(&pool->texts, space->executable);
	space->executable = text;
}

const char *space_executable(const struct space *space)
{
	for (; space; space = space->parent)
		if (space->executable)
			return text_lend(space->executable);
	return "";
}

void space_set_attributes(struct space_pool *pool, struct space *space, const char *bytes,
			  size_t length)
{
	texts_release(&pool->texts, space->attributes);
	// Without memory they are left out.
	space->attributes = length ? texts_take(&pool->texts, bytes, length) : NULL;
	space->environment_read = true;
}

struct text *space_take_path(struct space_pool *pool, struct space *space, const char *path,
			     size_t length, bool *left_out)
{
	struct texts *texts = &pool->texts;
	size_t before = texts->memory;
	struct text *text = NULL;

	if (space->path_bytes <= texts->max_bytes / PATH_SHARE)
		text = texts_take(texts, path, length);
	if (texts->memory > before)
		space->path_bytes += texts->memory - before;
	*left_out = !text;
	return text ? text : texts_take(texts, "", 0);
}

/* Of the paths of its mappings, each as often as it stands there without another one between. */
static size_t path_bytes(const struct mappings *mappings)
{
	const struct text *last = NULL;
	size_t bytes = 0;

	for (size_t i = 0; i < mappings->now.count; i++) {
		const struct text *path = mappings->now.items[i].path;

		bytes += path != last ? path->length / path->references : 0;
		last = path;
	}
	for (size_t i = 0; i < mappings->past.count; i++) {
		const struct text *path = mappings->past.items[i].mapping.path;

		bytes += path != last ? path->length / path->references : 0;
		last = path;
	}
	return bytes;
}

void space_forget(struct space_pool *pool, struct space *space, uint64_t time_ns)
{
	size_t before = mappings_memory(&space->mappings);

	if (space->children && space->oldest_child_ns < time_ns)
		time_ns = space->oldest_child_ns;
	mappings_forget(&space->mappings, &pool->texts, time_ns);
	// What is gone by now is not held against it.
	if (space->path_bytes > pool->texts.max_bytes / PATH_SHARE / 2)
		space->path_bytes = path_bytes(&space->mappings);
	account(pool, before, mappings_memory(&space->mappings));
}
