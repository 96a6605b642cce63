// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <errno.h>
#include <string.h>

/* A function, by name and file of the code. */
struct hot {
	uint32_t name, file; /* string ids */
	int64_t self, total;
	uint32_t open; /* how often it is on the stack that is being looked at */
};

struct top {
	const struct flame *flame; /* borrowed */
	VECTOR(struct hot) functions;
	struct intern index;
	uint32_t *of_frames; /* owned; of each frame its function */
};

static void top_deinit(struct top *top)
{
	VECTOR_DEINIT(&top->functions);
	intern_deinit(&top->index);
	free(top->of_frames);
}

struct wanted {
	const struct top *top;
	uint32_t name, file;
};

static bool function_equal(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;
	const struct hot *hot = &wanted->top->functions.items[id];

	return hot->name == wanted->name && hot->file == wanted->file;
}

static bool find_functions(struct top *top)
{
	const struct flame *flame = top->flame;

	top->of_frames = malloc(flame->frames.count * sizeof(*top->of_frames));
	if (!top->of_frames)
		return false;
	for (size_t i = 0; i < flame->frames.count; i++) {
		const struct flame_frame *frame = &flame->frames.items[i];
		struct wanted wanted = { top, frame->name, frame->file };
		uint64_t key = (uint64_t)frame->name << 32 | frame->file;
		uint32_t hash = intern_hash_seeded(&key, sizeof(key), flame->hash_seed);
		uint32_t id = intern_find(&top->index, hash, function_equal, &wanted);

		if (id == INTERN_MISSING) {
			struct hot hot = { .name = frame->name, .file = frame->file };

			id = (uint32_t)top->functions.count;
			if (!VECTOR_PUSH(&top->functions, hot) ||
			    !intern_insert(&top->index, hash, id))
				return false;
		}
		top->of_frames[i] = id;
	}
	return true;
}

static bool is_of_program(const struct flame *flame, uint32_t frame)
{
	const char *kind = flame->strings.items[flame->frames.items[frame].kind].bytes;

	return frame && strcmp(kind, FLAME_KIND_GROUP) != 0 && strcmp(kind, FLAME_KIND_CUT) != 0;
}

/* The first child and the next sibling of each node, in one allocation. */
struct links {
	uint32_t *child, *sibling;
};

static bool links_init(struct links *links, const struct flame *flame)
{
	size_t count = flame->nodes.count;

	links->child = calloc(2 * count, sizeof(*links->child));
	if (!links->child)
		return false;
	links->sibling = links->child + count;
	for (uint32_t i = (uint32_t)count; i-- > 1;) {
		uint32_t parent = flame->nodes.items[i].parent;

		links->sibling[i] = links->child[parent];
		links->child[parent] = i;
	}
	return true;
}

static void enter(struct top *top, uint32_t node, enum flame_side side, const int64_t *totals)
{
	const struct flame_node *at = &top->flame->nodes.items[node];
	struct hot *hot = &top->functions.items[top->of_frames[at->frame]];

	if (!is_of_program(top->flame, at->frame))
		return;
	hot->self = flame_sum(hot->self, at->self[side]);
	// In a recursion the outermost call has it all.
	if (!hot->open++)
		hot->total = flame_sum(hot->total, totals[node]);
}

static void leave(struct top *top, uint32_t node)
{
	uint32_t frame = top->flame->nodes.items[node].frame;

	if (is_of_program(top->flame, frame))
		top->functions.items[top->of_frames[frame]].open--;
}

/* Down to the first callee, else on to the next one of the nearest caller that has another. */
static void walk(struct top *top, const struct links *links, enum flame_side side,
		 const int64_t *totals)
{
	uint32_t node = 0;

	enter(top, 0, side, totals);
	for (;;) {
		if (links->child[node]) {
			node = links->child[node];
			enter(top, node, side, totals);
			continue;
		}
		while (node && !links->sibling[node]) {
			leave(top, node);
			node = top->flame->nodes.items[node].parent;
		}
		if (!node)
			return;
		leave(top, node);
		node = links->sibling[node];
		enter(top, node, side, totals);
	}
}

static int compare_hot(const void *left, const void *right, void *context)
{
	const struct hot *a = left, *b = right;
	const struct profcol_text *strings = context;
	int order;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	order = strcmp(strings[a->name].bytes, strings[b->name].bytes);
	return order ? order : strcmp(strings[a->file].bytes, strings[b->file].bytes);
}

/* The hottest of all, copied. */
static struct profcol_error *pick(struct top *top, size_t limit, struct flame_function **ret,
				  size_t *count_ret)
{
	const struct profcol_text *strings = top->flame->strings.items;
	struct flame_function *functions;
	size_t count = 0;

	qsort_r(top->functions.items, top->functions.count, sizeof(*top->functions.items),
		compare_hot, (void *)(uintptr_t)strings);
	limit = limit < top->functions.count ? limit : top->functions.count;
	functions = calloc(limit + 1, sizeof(*functions));
	if (!functions)
		return profcol_error_errno(ENOMEM, "find the hottest functions");
	for (; count < limit; count++) {
		const struct hot *hot = &top->functions.items[count];

		if (!hot->self && !hot->total)
			break;
		functions[count] = (struct flame_function){
			.name = strings[hot->name],
			.file = strings[hot->file],
			.self = hot->self,
			.total = hot->total,
		};
	}
	*ret = functions;
	*count_ret = count;
	return NULL;
}

struct profcol_error *flame_top(struct flame *flame, enum flame_side side, size_t limit,
				struct flame_function **ret, size_t *count_ret)
{
	CLEANUP(top_deinit) struct top top = { .flame = flame };
	CLEANUP_FREE int64_t *totals = flame_totals(flame, side);
	struct links links;

	if (!totals || !find_functions(&top) || !links_init(&links, flame))
		return profcol_error_errno(ENOMEM, "find the hottest functions");
	walk(&top, &links, side, totals);
	free(links.child);
	return pick(&top, limit, ret, count_ret);
}
