// SPDX-License-Identifier: Apache-2.0
#include "code_files.h"

#include <stdlib.h>

enum { FIRST_CHAINS = 64 };

void code_files_init(struct code_files *files)
{
	*files = (struct code_files){ 0 };
	TAILQ_INIT(&files->all);
}

void code_files_deinit(struct code_files *files)
{
	struct code_file *file;

	while ((file = TAILQ_FIRST(&files->all)))
		code_files_remove(files, file);
	free(files->chains);
}

/* Ids are given one after the other: their last bits spread them evenly. */
static struct code_file **chain_of(const struct code_files *files, uint32_t id)
{
	return &files->chains[id & (files->chain_count - 1)];
}

struct code_file *code_files_find(const struct code_files *files, uint32_t id)
{
	struct code_file *file = files->chain_count ? *chain_of(files, id) : NULL;

	while (file && file->id != id)
		file = file->next;
	return file;
}

/* Without memory the chains just get longer, if there are any. */
static bool grow(struct code_files *files)
{
	size_t count = files->chain_count ? 2 * files->chain_count : FIRST_CHAINS;
	struct code_file **chains = calloc(count, sizeof(struct code_file *)), *file;

	if (!chains)
		return files->chain_count > 0;
	free(files->chains);
	files->chains = chains;
	files->chain_count = count;
	for (file = TAILQ_FIRST(&files->all); file; file = TAILQ_NEXT(file, others)) {
		struct code_file **chain = chain_of(files, file->id);

		file->next = *chain;
		*chain = file;
	}
	return true;
}

struct code_file *code_files_add(struct code_files *files, uint32_t id)
{
	struct code_file *file, **chain;

	if (files->count >= files->chain_count && !grow(files))
		return NULL;
	file = code_file_create(id);
	if (!file)
		return NULL;
	chain = chain_of(files, id);
	file->next = *chain;
	*chain = file;
	TAILQ_INSERT_TAIL(&files->all, file, others);
	files->count++;
	return file;
}

void code_files_remove(struct code_files *files, struct code_file *file)
{
	struct code_file **link = chain_of(files, file->id);

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	TAILQ_REMOVE(&files->all, file, others);
	files->count--;
	code_file_destroy(file);
}

size_t code_files_memory(const struct code_files *files)
{
	return files->chain_count * sizeof(*files->chains);
}
