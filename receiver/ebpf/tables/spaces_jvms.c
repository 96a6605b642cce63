// SPDX-License-Identifier: Apache-2.0
#include "spaces_parts.h"

#include <string.h>

void spaces_skip_jvms(struct spaces *spaces)
{
	spaces->skips_jvms = true;
}

/* The process is @jvm, or none. */
static void set_jvm(struct spaces *spaces, struct space_ranges *space, struct jvm *jvm)
{
	if (space->jvm)
		processes_account(spaces->processes, -(int64_t)sizeof(*space->jvm));
	if (jvm)
		processes_account(spaces->processes, sizeof(*jvm));
	jvm_destroy(&spaces->jvms, space->jvm);
	space->jvm = jvm;
}

void spaces_forget_jvm(struct spaces *spaces, struct space_ranges *space)
{
	set_jvm(spaces, space, NULL);
}

/* The library that makes a JVM of the process whose code was read; *@base_ret: where its ELF
 * address 0 lies. NULL: there is none. */
static const struct worker_hotspot *find_jvm(const struct spaces *spaces,
					     const struct space_ranges *space, uint64_t *base_ret)
{
	const struct worker_hotspot *layout = NULL;
	uint32_t file = PROCESS_NO_FILE;

	if (spaces->skips_jvms)
		return NULL;
	for (size_t i = 0; i < space->use_count && !layout; i++) {
		file = space->uses[i].file;
		layout = space->uses[i].is_jvm ? pages_hotspot(spaces->pages, file) : NULL;
	}
	for (size_t i = 0; layout && i < spaces->code.count; i++) {
		const struct process_code *code = &spaces->code.items[i];
		uint64_t address;

		if (code->file != file ||
		    !pages_address(spaces->pages, file, code->file_offset, &address))
			continue;
		*base_ret = code->start - address;
		return layout;
	}
	return NULL;
}

void spaces_meet_jvm(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	uint64_t base = 0;
	const struct worker_hotspot *layout = find_jvm(spaces, space, &base);

	if (space->jvm && layout && space->jvm->base == base &&
	    !memcmp(&space->jvm->layout, layout, sizeof(*layout)))
		jvm_changed(&spaces->jvms, space->jvm, now_ns);
	else if (space->jvm || layout)
		set_jvm(spaces, space,
			layout ? jvm_create(&spaces->jvms, &space->key, layout, base, now_ns)
			       : NULL);
}

uint64_t spaces_jvm_due_ns(const struct spaces *spaces)
{
	return jvms_due_ns(&spaces->jvms);
}

bool spaces_next_jvm(struct spaces *spaces, uint64_t now_ns, struct jvm *ret)
{
	return jvms_next(&spaces->jvms, now_ns, ret);
}

void spaces_learn_jvm(struct spaces *spaces, const struct jvm *looked_at,
		      const struct jvm_heaps *heaps, uint64_t spent_ns, uint64_t now_ns)
{
	struct space_ranges *space = spaces_find(spaces, &looked_at->key);

	jvms_rest(&spaces->jvms, spent_ns, now_ns);
	// It may have ended meanwhile, or have loaded another library.
	if (!space || !space->jvm || space->jvm->number != looked_at->number ||
	    !jvm_learn(&spaces->jvms, space->jvm, heaps, spent_ns, now_ns))
		return;
	// One that made room for others comes back with its next sample.
	if (!space->set && !space->waits)
		return;
	spaces_tell_again(spaces, space, now_ns);
}

bool spaces_has_heap(const struct spaces *spaces, const struct process_key *key, uint64_t address)
{
	const struct space_ranges *space = spaces_find(spaces, key);

	return space && space->jvm && jvm_heaps_hold(&space->jvm->heaps, address);
}
