// SPDX-License-Identifier: Apache-2.0
#include "stacks.h"

#include <string.h>

/* How much of what a peer may make as long as it likes is looked at: anything may be shared by as
 * many as it likes. */
enum {
	BUILD_ID_MAX = 160,
	ATTRIBUTES_MAX = 64, /* of one list */
	PATH_MAX_BYTES = 4096,
};

enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,
	FRAME_REMARK, /* of the profiler, where it gave up */
};

struct location_facts {
	uint32_t place;
	enum frame_kind kind;
	bool placed;      /* is `place` set? */
	bool leaving;     /* runs when a process gives up its memory: no user frames follow */
	bool kernel_root; /* where threads of the kernel begin */
};

struct mapping_facts {
	uint32_t build_ids[PLACES_FILE_IDS]; /* string ids; 0 = has none */
	uint32_t file;
	bool placed; /* is `file` set? */
};

struct profcol_value stacks_attribute(const struct profcol_batch *batch, uint32_t list,
				      const char *key)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count && i < ATTRIBUTES_MAX; i++) {
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

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		// Compilers add .constprop.0 and the like.
		if (!strncmp(name, names[i], length) && (!name[length] || name[length] == '.'))
			return true;
	}
	return false;
}

static struct mapping_facts look_at_mapping(const struct profcol_batch *batch, uint32_t id)
{
	static const char *const keys[PLACES_FILE_IDS] = {
		"process.executable.build_id.htlhash",
		"process.executable.build_id.gnu",
		"process.executable.build_id.go",
	};
	uint32_t list = profcol_batch_mapping(batch, id).attributes;
	struct mapping_facts facts = { .placed = false };

	for (size_t i = 0; i < PLACES_FILE_IDS; i++) {
		struct profcol_value value = stacks_attribute(batch, list, keys[i]);

		if (value.type == PROFCOL_VALUE_STRING)
			facts.build_ids[i] = value.string;
	}
	return facts;
}

static uint32_t add_file(struct stacks *stacks, uint32_t mapping)
{
	const struct profcol_batch *batch = stacks->batch;
	const struct mapping_facts *facts = &stacks->mappings[mapping];
	struct profcol_text path =
		profcol_batch_string(batch, profcol_batch_mapping(batch, mapping).filename);
	struct places_file file = { .path = path.bytes };
	char ids[PLACES_FILE_IDS][BUILD_ID_MAX];

	if (path.length > PATH_MAX_BYTES)
		file.path += path.length - PATH_MAX_BYTES;
	for (size_t i = 0; i < PLACES_FILE_IDS; i++) {
		const char *id = profcol_batch_string(batch, facts->build_ids[i]).bytes;

		if (!*id)
			continue;
		snprintf(ids[i], sizeof(ids[i]), "%c:%.*s", "hgo"[i], BUILD_ID_MAX - 3, id);
		file.ids[i] = ids[i];
	}
	return places_add_file(stacks->places, &file);
}

static uint32_t file_of(struct stacks *stacks, uint32_t mapping)
{
	struct mapping_facts *facts;

	if (mapping >= profcol_batch_count(stacks->batch, PROFCOL_MAPPINGS))
		return PLACE_NO_FILE;
	facts = &stacks->mappings[mapping];
	if (!facts->placed) {
		facts->file = add_file(stacks, mapping);
		facts->placed = true;
	}
	return facts->file;
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

static struct location_facts look_at_location(const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_location location = profcol_batch_location(batch, id);
	const char *type = text_of(batch, location.attributes, "profile.frame.type");
	const char *name = name_of(batch, &location).bytes;
	struct location_facts facts = { .kind = FRAME_USER };

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
	uint32_t locations = profcol_batch_count(batch, PROFCOL_LOCATIONS);
	uint32_t mappings = profcol_batch_count(batch, PROFCOL_MAPPINGS);
	size_t count = profcol_batch_count(batch, PROFCOL_STACKS);

	*stacks = (struct stacks){
		.batch = batch,
		.places = places,
		.own = own,
		.locations = calloc((size_t)locations + 1, sizeof(*stacks->locations)),
		.mappings = calloc((size_t)mappings + 1, sizeof(*stacks->mappings)),
		.facts = calloc(count + 1, sizeof(*stacks->facts)),
		.known = calloc(count + 1, sizeof(*stacks->known)),
	};
	if (!stacks->locations || !stacks->mappings || !stacks->facts || !stacks->known) {
		stacks_deinit(stacks);
		return false;
	}
	for (uint32_t i = 0; i < locations; i++)
		stacks->locations[i] = look_at_location(batch, i);
	for (uint32_t i = 0; i < mappings; i++)
		stacks->mappings[i] = look_at_mapping(batch, i);
	return true;
}

void stacks_deinit(struct stacks *stacks)
{
	free(stacks->locations);
	free(stacks->mappings);
	free(stacks->facts);
	free(stacks->known);
	*stacks = (struct stacks){ 0 };
}
