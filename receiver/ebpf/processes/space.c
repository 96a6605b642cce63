// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include "proc_text.h"

#include <string.h>

void space_pool_init(struct space_pool *pool, size_t max_text_bytes)
{
	*pool = (struct space_pool){ 0 };
	texts_init(&pool->texts, max_text_bytes);
}

void space_pool_deinit(struct space_pool *pool)
{
	texts_deinit(&pool->texts);
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
		pool->memory -= sizeof(*space) + mappings_memory(&space->mappings);
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

int space_add(struct space_pool *pool, struct space *space, const struct mapping *mapping)
{
	size_t before = mappings_memory(&space->mappings);
	int status = mappings_add(&space->mappings, &pool->texts, mapping);

	pool->memory += mappings_memory(&space->mappings) - before;
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

void space_set_executable(struct space_pool *pool, struct space *space, const char *path,
			  size_t length)
{
	struct text *text = texts_take(&pool->texts, path, proc_path_length(path, length));

	if (!text)
		return;
	texts_release(&pool->texts, space->executable);
	space->executable = text;
}

const char *space_executable(const struct space *space)
{
	for (; space; space = space->parent)
		if (space->executable)
			return space->executable->bytes;
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

void space_forget(struct space_pool *pool, struct space *space, uint64_t time_ns)
{
	size_t before = mappings_memory(&space->mappings);

	if (space->children && space->oldest_child_ns < time_ns)
		time_ns = space->oldest_child_ns;
	mappings_forget(&space->mappings, &pool->texts, time_ns);
	pool->memory -= before - mappings_memory(&space->mappings);
}
