/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file as the worker knows it: its facts at once, unwind tables when somebody asks for them.
 * Not to be moved. One thread at a time.
 */
#pragma once

#include "elf_facts.h"
#include "text_pages.h"
#include "worker.h"

#include "runtimes/runtime.h"
#include "unwind/unwind.h"

#include <elf.h>

/* What runs here. Files of other machines are never seen on a stack. */
#if defined(__x86_64__)
enum { IMAGE_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { IMAGE_MACHINE = EM_AARCH64 };
#else
#error "unknown architecture"
#endif

struct image {
	const void *file; /* borrowed */
	size_t file_bytes;
	struct elf_facts facts;
	bool has_source; /* the next have been read */
	struct elf_view view;
	struct unwind_source source;
	struct text_pages text; /* the code */
	bool has_tables;        /* there are rules for it */
	struct image_runtime {
		const struct runtime *runtime;
		uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)];
	} runtimes[WORKER_MAX_RUNTIMES]; /* that recognise it, by number */
	size_t runtime_count;
	bool has_lines; /* so has what follows; of the source then only what it is read from */
	const struct runtime *lines_by; /* the runtime that knows which functions run where; or
					   NULL */
};

/* @file is borrowed until deinit. */
void image_init(struct image *image, const void *file, size_t file_bytes);
void image_deinit(struct image *image);

/* Read it unless that has been done. Returns 0, whatever the file holds, or -ENOMEM. */
int image_read_source(struct image *image);

/* The same for what says which functions run where. Whoever needs no more pays for no more. */
void image_read_lines(struct image *image);

/* The runtime that says which functions run where in @file; NULL: none. */
const struct runtime *image_lines_by(const struct runtime_file *file);

size_t image_memory(const struct image *image); /* bytes on the heap */
