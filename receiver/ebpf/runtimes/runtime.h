/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language runtime: all that the profiler knows of one, as the core asks for it.
 *
 * Code that a runtime makes or interprets has no tables: the process alone says what its frames
 * look like. A runtime knows where it says that. Its user side is a folder of this one, NAME/; its
 * kernel side bpf/runtimes/NAME.bpf.h; both agree on bpf/runtimes/NAME.h. registry.c lists all.
 * Outside of these no runtime is named.
 *
 * The core owns what is common: which files and processes are asked, when again, under which
 * bounds; what is kept, and who is told.
 */
#pragma once

#include "runtimes/runtime_number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_view;
struct unwind_source;

enum {
	RUNTIME_LAYOUT_BYTES = 512, /* of a layout, at most */
	RUNTIME_AREAS = 16,         /* of one process */
	RUNTIME_WORDS_MOST = 64,    /* of memory that are read at once */
};

/* A file as the worker sees it. */
struct runtime_file {
	const struct elf_view *view;
	const struct unwind_source *source; /* what it says of its frames */
};

/* The memory of one process. */
struct runtime_memory {
	/* The 8 bytes at each of @count addresses, at most RUNTIME_WORDS_MOST; false when one
	 * cannot be read. */
	bool (*read)(void *context, const uint64_t *addresses, size_t count, uint64_t *words);
	void *context;
};

/* Executable memory of no file in which the kernel side walks by the runtime's own code. */
struct runtime_area {
	uint64_t start, limit; /* addresses, whole pages of 4 KiB */
	uint64_t area[2];      /* as struct unwind_range has it, but for the kind */
};

/* What a runtime has found in a process. */
struct runtime_found {
	struct runtime_area areas[RUNTIME_AREAS]; /* by address, without overlap */
	size_t area_count;
	/* What the kernel side is told of the process by a runtime that interprets: it begins with
	 * a struct runtime_data, whose loops the core fills in. */
	uint64_t data[RUNTIME_DATA_BYTES / sizeof(uint64_t)];
	size_t data_bytes; /* 0: nothing */
	/* How much of what there may be is known. More of it is worth telling; 0: nothing is. */
	uint64_t progress;
	bool complete; /* unless there is more the next time, that is all */
};

struct runtime {
	enum runtime_number number;
	const char *name; /* as below `interpreters`, and in metrics */

	/* Of what is known of a file: a structure of its own, a multiple of 8 bytes. It travels
	 * from the worker to the profiler as it is, and may be kept on disk. */
	size_t layout_bytes;

	/* In the worker: is @file this runtime's, and what does it say of itself? Every byte is
	 * hostile; bounded in time and memory; nothing is allocated. */
	bool (*recognise)(const struct runtime_file *file, void *layout_ret);

	/* In the profiler, before a layout is used: can it be? What the worker said is hostile. */
	bool (*check)(const void *layout);

	/*
	 * The pieces of the file's code in which programs are interpreted, as ELF addresses;
	 * returns how many there are. Walks ask the runtime there (bpf/runtimes/runtimes.bpf.h).
	 * NULL: there are none.
	 */
	size_t (*loops)(const void *layout, struct runtime_loop ret[RUNTIME_LOOPS]);

	/*
	 * In the profiler: find in a process that has loaded the file of @layout, whose ELF address
	 * 0 lies at @base, what the kernel side is to be told. What is read is hostile. False:
	 * there is nothing (yet). It is asked again, later and later, until what it finds is
	 * complete. NULL: there never is. Holds no lock; may wait as long as @memory lets it.
	 */
	bool (*attach)(const void *layout, uint64_t base, const struct runtime_memory *memory,
		       struct runtime_found *ret);

	/* Which stacks of its processes, which have mapped @files files, may be copied instead of
	 * walked: UNWIND_COPIES. NULL: those that may be of any other program. */
	uint32_t (*copies)(size_t files);
};

/* All there are, by number; runtimes[i] for i < RUNTIMES, NULL where there is none. */
extern const struct runtime *const runtimes[RUNTIMES];

/* The one with this number, which may be any; NULL. */
const struct runtime *runtime_find(uint32_t number);

/*
 * The area that begins at @start; NULL when none does. That, or that there is none, is so up to
 * *@until, which is lowered for it: memory from @start on, which ends there.
 */
const struct runtime_area *runtime_areas_at(const struct runtime_found *found, uint64_t start,
					    uint64_t *until);

/* Does one of them hold @address? */
bool runtime_areas_hold(const struct runtime_found *found, uint64_t address);
