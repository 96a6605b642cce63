// SPDX-License-Identifier: Apache-2.0
#include "resources.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

void resources_init(struct resources *resources, enum resource_by by, struct processes *processes,
		    struct process_memory *memory, struct containers *containers)
{
	*resources = (struct resources){
		.by = by,
		.processes = processes,
		.memory = memory,
		.containers = containers,
		.first_clock = clock_calibrate(),
	};
}

void resources_deinit(struct resources *resources)
{
	VECTOR_DEINIT(&resources->members);
	VECTOR_DEINIT(&resources->attributes);
}

/* ISO 8601 in UTC with milliseconds, as process.creation.time is written. */
static void format_time(char *text, size_t size, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm utc;
	size_t length;

	gmtime_r(&seconds, &utc);
	length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, size - length, ".%03uZ",
		 (unsigned int)(unix_ns / 1000000u % 1000u));
}

static bool add_text(struct resources *resources, struct profcol_builder *builder, const char *key,
		     const char *text)
{
	return VECTOR_PUSH(&resources->attributes, text_attribute(builder, key, text));
}

static bool add_pid(struct resources *resources, struct profcol_builder *builder,
		    const struct process_key *key)
{
	char created[40];

	if (!VECTOR_PUSH(&resources->attributes,
			 profcol_builder_attribute_int(builder, "process.pid", key->pid)))
		return false;
	if (!key->pid) // the idle tasks are no process
		return true;
	format_time(created, sizeof(created),
		    clock_boottime_to_unix(&resources->first_clock, key->start_boottime_ns));
	return add_text(resources, builder, "process.creation.time", created);
}

/* Its program, and what its environment says of it. */
static bool add_description(struct resources *resources, struct profcol_builder *builder,
			    const struct process_description *about)
{
	struct process_attributes rest = about->attributes;
	const char *slash = strrchr(about->executable, '/'), *key, *value;

	if (about->executable[0] &&
	    (!add_text(resources, builder, "process.executable.path", about->executable) ||
	     !add_text(resources, builder, "process.executable.name",
		       slash ? slash + 1 : about->executable)))
		return false;
	while (process_attributes_next(&rest, &key, &value))
		if (!add_text(resources, builder, key, value))
			return false;
	return true;
}

/* What its language runtime says of it, by @line: runtime.describe. */
static bool add_program(struct resources *resources, struct profcol_builder *builder,
			const struct frame_line *line)
{
	const struct {
		const char *key, *value;
	} told[] = {
		{ "process.runtime.name", line->system_name },
		{ "process.runtime.version", line->function },
		{ "profcol.process.main", line->file },
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (told[i].value[0] && !add_text(resources, builder, told[i].key, told[i].value))
			return false;
	return true;
}

/* Of the first runtime that says something: a program has one. */
static bool add_runtime(struct resources *resources, const struct capture *capture,
			uint32_t process, struct profcol_builder *builder)
{
	for (uint32_t number = 0; number < RUNTIMES; number++) {
		struct frame_question question = capture_program_question(capture, process, number);
		CLEANUP_FREE struct frame_name *name = NULL;

		if (all_runtimes[number] && all_runtimes[number]->describe &&
		    process_memory_find(resources->memory, &question, &name) == FRAME_NAMED &&
		    name->line_count)
			return add_program(resources, builder, &name->lines[0]);
	}
	return true;
}

/* Who is in a pod is in one of its containers. */
static bool add_container(struct resources *resources, struct profcol_builder *builder,
			  const struct process_description *about)
{
	return add_text(resources, builder, "container.id", about->container_id) &&
	       (!about->pod_uid[0] || add_text(resources, builder, "k8s.pod.uid", about->pod_uid));
}

/*
 * The attributes of @process are the last ones from @begin on, of its container first, up to
 * @container_end: share them out.
 */
static struct resource_member place(struct resources *resources, uint32_t process, uint32_t begin,
				    uint32_t container_end, struct profcol_builder *builder)
{
	struct resource_member member = { .begin = begin,
					  .end = (uint32_t)resources->attributes.count };

	switch (resources->by) {
	case RESOURCE_BY_PROCESS:
		member.group = process;
		member.resource = profcol_builder_attribute_list(
			builder, resources->attributes.items + begin, member.end - begin);
		member.begin = member.end;
		break;
	case RESOURCE_BY_CONTAINER:
		// By its id; 0 is the group of those in none.
		if (container_end > begin) {
			member.group = resources->attributes.items[begin];
			member.resource = profcol_builder_attribute_list(
				builder, resources->attributes.items + begin,
				container_end - begin);
			member.begin = container_end;
		}
		break;
	case RESOURCE_BY_HOST:
		break;
	}
	return member;
}

static bool build_member(struct resources *resources, const struct capture *capture,
			 uint32_t process, struct profcol_builder *builder)
{
	const struct capture_process *row = &capture->processes.items[process];
	uint32_t begin = (uint32_t)resources->attributes.count, container_end;
	struct process_description about = { .executable = "", .container_id = "" };

	if (row->key.pid)
		processes_describe(resources->processes, &row->key, row->first_ns, &about);
	if (about.container_id[0] && !add_container(resources, builder, &about))
		return false;
	// Of one outside of pods, nobody is going to hear more.
	if (resources->containers && about.container_id[0] && about.pod_uid[0])
		containers_meet(resources->containers, about.container_id, row->first_ns);
	container_end = (uint32_t)resources->attributes.count;
	return add_pid(resources, builder, &row->key) &&
	       add_description(resources, builder, &about) &&
	       add_runtime(resources, capture, process, builder) &&
	       VECTOR_PUSH(&resources->members,
			   place(resources, process, begin, container_end, builder));
}

bool resources_build(struct resources *resources, const struct capture *capture,
		     struct profcol_builder *builder)
{
	resources->members.count = 0;
	resources->attributes.count = 0;
	for (uint32_t process = 0; process < capture->processes.count; process++)
		if (!build_member(resources, capture, process, builder))
			return false;
	return true;
}
