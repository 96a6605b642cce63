/* SPDX-License-Identifier: Apache-2.0 */
/* The files of pages.h, found by their ids, which are sparse. One thread at a time. */
#pragma once

#include "code_file.h"

struct code_files {
	TAILQ_HEAD(, code_file) all; /* owned */
	size_t count;
	struct code_file **chains; /* owned: a power of two of them, by id; NULL before the first */
	size_t chain_count;
};

void code_files_init(struct code_files *files);
void code_files_deinit(struct code_files *files);

struct code_file *code_files_find(const struct code_files *files, uint32_t id); /* or NULL */

/* A new one; @id must not be there. NULL without memory. */
struct code_file *code_files_add(struct code_files *files, uint32_t id);

/* Destroys @file. */
void code_files_remove(struct code_files *files, struct code_file *file);

size_t code_files_memory(const struct code_files *files); /* bytes, of the index alone */
