// SPDX-License-Identifier: Apache-2.0
#include "stacks.h"

#include <string.h>

enum { BUILD_ID_MAX = 160 };

enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,
	FRAME_REMARK, /* of the profiler, where it gave up */
};

struct location_facts {
	uint32_t place;
	enum frame_kind kind;
	bool known;
	bool placed;      /* is `place` set? */
	bool leaving;     /* runs when a process gives up its memory: no user frames follow */
	bool kernel_root; /* where threads of the kernel begin */
};

struct profcol_value stacks_attribute(const struct profcol_batch *batch, uint32_t list,
				      const char *key)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (!strcmp(profcol_batch_string(batch, attribute.key).bytes, key))
			return attribute.value;
	}
	return (struct profcol_value){ 0 };
}

/* "" when it is no text. */
static const char *text_of(const struct profcol_batch *batch, uint32_t list, const char *key)
{
	struct profcol_value value = stacks_attribute(batch, list, key);

	return value.type == PROFCOL_VALUE_STRING ? profcol_batch_string(batch, value.string).bytes
						  : "";
}

/* ---- frames ---- */

static bool begins_with(const char *name, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

static bool is_kernel_root(const char *name)
{
	static const char *const roots[] = {
		"ret_from_fork",   "kthread",      "secondary_startup",
		"start_secondary", "start_kernel", "x86_64_start_kernel",
	};

	return begins_with(name, roots, sizeof(roots) / sizeof(roots[0]));
}

/* Past the point of no return: other frames of execve have the whole user stack below them. */
static bool is_leaving(const char *name)
{
	static const char *const names[] = { "begin_new_exec", "load_elf_binary", "do_exit" };
	size_t length = strcspn(name, "."); // compilers add .constprop.0 and the like

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	return false;
}

static uint32_t file_of(struct stacks *stacks, uint32_t mapping_id)
{
	static const char *const keys[3] = {
		"process.executable.build_id.htlhash",
		"process.executable.build_id.gnu",
		"process.executable.build_id.go",
	};
	struct profcol_mapping mapping = profcol_batch_mapping(stacks->batch, mapping_id);
	struct places_file file = {
		.path = profcol_batch_string(stacks->batch, mapping.filename).bytes,
	};
	char ids[3][BUILD_ID_MAX];

	for (size_t i = 0; i < 3; i++) {
		const char *id = text_of(stacks->batch, mapping.attributes, keys[i]);

		if (!*id)
			continue;
		snprintf(ids[i], sizeof(ids[i]), "%c:%s", "hgo"[i], id);
		file.ids[i] = ids[i];
	}
	return places_add_file(stacks->places, &file);
}

static struct profcol_text name_of(const struct profcol_batch *batch,
				   const struct profcol_location *location)
{
	uint32_t function = location->line_count ? location->lines[0].function : 0;

	return profcol_batch_string(batch, profcol_batch_function(batch, function).name);
}

static uint32_t add_place(struct stacks *stacks, uint32_t id, enum frame_kind kind)
{
	struct profcol_location location = profcol_batch_location(stacks->batch, id);
	struct profcol_text name = name_of(stacks->batch, &location);
	struct place place = {
		.name = places_add_text(stacks->places, name.bytes, name.length),
		.own = stacks->own,
	};

	if (kind == FRAME_KERNEL) {
		place.file = PLACE_KERNEL;
	} else if (location.mapping) {
		place.file = file_of(stacks, location.mapping);
		place.address = place.file ? location.address : 0;
	}
	return places_add(stacks->places, &place);
}

static struct location_facts look_at(const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_location location = profcol_batch_location(batch, id);
	const char *type = text_of(batch, location.attributes, "profile.frame.type");
	const char *name = name_of(batch, &location).bytes;
	struct location_facts facts = { .known = true };

	if (!strcmp(type, "abort-marker")) {
		facts.kind = FRAME_REMARK;
	} else if (!strcmp(type, "kernel")) {
		facts.kind = FRAME_KERNEL;
		facts.leaving = is_leaving(name);
		facts.kernel_root = is_kernel_root(name);
	}
	return facts;
}

/* Its place is set where that is of interest: of ours always, which names those of the other. */
static const struct location_facts *location_facts(struct stacks *stacks, uint32_t id, bool is_end)
{
	struct location_facts *facts = &stacks->locations[id];

	if (!facts->known)
		*facts = look_at(stacks->batch, id);
	if (!facts->placed && (is_end || stacks->own) && facts->kind != FRAME_REMARK) {
		facts->place = add_place(stacks, id, facts->kind);
		facts->placed = true;
	}
	return facts;
}

/* ---- stacks ---- */

static struct stack_facts judge(struct stacks *stacks, uint32_t stack)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_stack(stacks->batch, stack, &count);
	struct stack_facts facts = { .how = STACK_CUT };
	const struct location_facts *frame = NULL;
	bool leaving = false, kernel_only = true;

	for (uint32_t i = 0; i < count; i++) {
		frame = location_facts(stacks, ids[i], !i || i == count - 1);
		if (!i)
			facts.leaf = frame->place;
		leaving = leaving || frame->leaving;
		kernel_only = kernel_only && frame->kind == FRAME_KERNEL;
	}
	if (!frame)
		return facts;
	facts.end = frame->place;
	if (leaving || (kernel_only && frame->kernel_root))
		facts.how = STACK_WHOLE;
	else if (frame->kind == FRAME_USER)
		facts.how = STACK_IN_USER;
	return facts;
}

struct stack_facts stacks_facts(struct stacks *stacks, uint32_t stack)
{
	if (stack >= profcol_batch_count(stacks->batch, PROFCOL_STACKS))
		stack = 0;
	if (!stacks->known[stack]) {
		stacks->facts[stack] = judge(stacks, stack);
		stacks->known[stack] = true;
	}
	return stacks->facts[stack];
}

bool stacks_init(struct stacks *stacks, const struct profcol_batch *batch, struct places *places,
		 bool own)
{
	size_t locations = profcol_batch_count(batch, PROFCOL_LOCATIONS);
	size_t count = profcol_batch_count(batch, PROFCOL_STACKS);

	*stacks = (struct stacks){
		.batch = batch,
		.places = places,
		.own = own,
		.locations = calloc(locations + 1, sizeof(*stacks->locations)),
		.facts = calloc(count + 1, sizeof(*stacks->facts)),
		.known = calloc(count + 1, sizeof(*stacks->known)),
	};
	if (stacks->locations && stacks->facts && stacks->known)
		return true;
	stacks_deinit(stacks);
	return false;
}

void stacks_deinit(struct stacks *stacks)
{
	free(stacks->locations);
	free(stacks->facts);
	free(stacks->known);
	*stacks = (struct stacks){ 0 };
}
