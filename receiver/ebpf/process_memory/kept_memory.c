// SPDX-License-Identifier: Apache-2.0
#include "kept_memory.h"

#include <fcntl.h>
#include <unistd.h>

static int copy_of(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* NULL: nothing is kept of it. */
static struct kept_program *find(struct kept_memory *kept, const struct process_key *key)
{
	for (size_t i = 0; i < kept->count; i++)
		if (process_key_equal(&kept->programs[i].key, key))
			return &kept->programs[i];
	return NULL;
}

static void drop(struct kept_memory *kept, struct kept_program *program)
{
	close(program->fd);
	*program = kept->programs[--kept->count];
}

static struct kept_program *used_longest_ago(struct kept_memory *kept)
{
	struct kept_program *found = kept->programs;

	for (size_t i = 1; i < kept->count; i++)
		if (kept->programs[i].used_ns < found->used_ns)
			found = &kept->programs[i];
	return found;
}

int kept_memory_copy(struct kept_memory *kept, const struct process_key *key, uint64_t now_ns,
		     uint64_t *opened_ns_ret)
{
	struct kept_program *program = find(kept, key);

	if (!program)
		return -1;
	program->used_ns = now_ns;
	*opened_ns_ret = program->opened_ns;
	return copy_of(program->fd);
}

void kept_memory_drop(struct kept_memory *kept, const struct process_key *key)
{
	struct kept_program *program = find(kept, key);

	if (program)
		drop(kept, program);
}

void kept_memory_add(struct kept_memory *kept, const struct process_key *key, int fd,
		     uint64_t opened_ns)
{
	int copy = copy_of(fd);

	if (copy < 0)
		return;
	kept_memory_drop(kept, key);
	if (kept->count == KEPT_MEMORIES)
		drop(kept, used_longest_ago(kept));
	kept->programs[kept->count++] = (struct kept_program){
		.key = *key,
		.opened_ns = opened_ns,
		.used_ns = opened_ns,
		.fd = copy,
	};
}

void kept_memory_trim(struct kept_memory *kept, uint64_t time_ns)
{
	for (size_t i = kept->count; i-- > 0;)
		if (kept->programs[i].used_ns < time_ns)
			drop(kept, &kept->programs[i]);
}
