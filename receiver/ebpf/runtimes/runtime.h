/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language runtime: all that the profiler knows of one, as the core asks for it.
 *
 * Code that a runtime makes or interprets has no tables: the process alone says what its frames
 * look like. A runtime knows where it says that. Its user side is a folder of this one, NAME/; its
 * kernel side bpf/runtimes/NAME.bpf.h; both agree on bpf/runtimes/NAME.h. registry.c lists all.
 * Outside of these no runtime is named.
 *
 * The core chooses which files and processes are asked, when again, and under which bounds; it
 * keeps the answers and hands them to the kernel side.
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
	RUNTIME_LINES = 128, /* of one frame: functions that were inlined into it, and its own */
	RUNTIME_VERSION_BYTES = 24, /* of a version's text, with its NUL */
};

/* A file as the worker sees it. */
struct runtime_file {
	const struct elf_view *view;
	const struct unwind_source *source; /* what it says of its frames */
};

/* The memory of one process, as the worker reads it. */
struct runtime_memory {
	/* @bytes at @address to @to. False: they cannot be read, or the worker has read enough. */
	bool (*read)(void *context, uint64_t address, void *to, size_t bytes);
	/* What is read from now on is as it is now; else it may be as it was a moment ago. */
	void (*renew)(void *context);
	void *context;
	/* Of the request, which is about one process: no other one has it. 0: none has. */
	uint64_t number;
};

/* The 8 bytes at each of @count addresses to @words; false when one cannot be read. */
bool runtime_read_words(const struct runtime_memory *memory, const uint64_t *addresses,
			size_t count, uint64_t *words);

/* Of an area that is all executable memory of no file that the process has, or will have. */
#define RUNTIME_ANYWHERE       0ull
#define RUNTIME_ANYWHERE_LIMIT (1ull << 47)

/* Executable memory of no file in which the kernel side walks by the runtime's own code. */
struct runtime_area {
	uint64_t start, limit; /* addresses, whole pages of 4 KiB; from RUNTIME_ANYWHERE on: all */
	uint64_t area[2];      /* as struct unwind_range has it, but for the kind */
};

/* Why nothing is known of the frames of a process, and never will be. */
enum runtime_refusal {
	RUNTIME_ACCEPTED,
	RUNTIME_REFUSED_VERSION, /* none that is known */
	RUNTIME_REFUSED_LAYOUT,  /* what it says of itself does not add up */
	RUNTIME_REFUSED_MEMORY,  /* it cannot be read, or does not answer */
	RUNTIME_REFUSED_KERNEL,  /* does not load the program that walks its stacks */
	RUNTIME_REFUSALS,
};

/* The findings of a runtime in one process. */
struct runtime_found {
	struct runtime_area areas[RUNTIME_AREAS]; /* by address, without overlap */
	size_t area_count;
	/* A runtime that interprets hands these to the kernel side: they begin with a
	 * struct runtime_data, whose loops the core fills in. */
	uint64_t data[RUNTIME_DATA_BYTES / sizeof(uint64_t)];
	size_t data_bytes; /* 0: nothing */
	/* How much of what there may be is known. More of it is worth telling; 0: nothing is. */
	uint64_t progress;
	uint32_t complete; /* 1: unless there is more the next time, that is all */
	uint32_t refused;  /* enum runtime_refusal; unless 0, there is nothing */
	char version[RUNTIME_VERSION_BYTES]; /* as people know it, printable ASCII; or "" */
};

/* A program that has loaded a runtime, as is known of it. */
struct runtime_process {
	const struct runtime *runtime;
	uint64_t base; /* where the ELF address 0 of the runtime's file lies */
	uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)];
	uint64_t data[RUNTIME_DATA_BYTES / sizeof(uint64_t)]; /* as attach has found it */
	size_t data_bytes;
};

/* A frame, as the kernel side has told it (UNWIND_FRAME_RUNTIME). */
struct runtime_frame {
	uint64_t object;          /* address of what says what runs */
	uint32_t position, check; /* in it; and by which to tell whether it is still the same */
	uint32_t kind;            /* of frame, the runtime's own number */
	uint32_t reserved;        /* 0 */
};

/* No kind of frame: what is asked for is the name of thread `object`, the profiler's number of it;
 * `position` is its number in the PID namespace that it was made in, `check` tells by which name
 * the system knew it when it was sampled: a thread that names itself anew mostly changes that. */
enum { RUNTIME_THREAD = 1 << 8 };

/* No kind of frame, either: what is asked for is what the process runs; `object` is 0. */
enum { RUNTIME_PROGRAM = RUNTIME_THREAD + 1 };

/* A function that runs in a frame: UTF-8, without NUL. What is not known is 0, or empty. */
struct runtime_line {
	const char *function, *file;
	const char *system_name; /* as the runtime has it, where `function` is told for people */
	size_t function_bytes, file_bytes, system_name_bytes;
	uint32_t line, start_line, column; /* from 1 on */
	bool is_gap; /* no function: it stands for frames of the program that are not here */
};

/* Takes the lines of a frame, the innermost first. */
struct runtime_lines {
	/* False: there is no room for it, and the frame is given up. */
	bool (*add)(void *context, const struct runtime_line *line);
	void *context;
};

/* What became of a frame's name. */
enum runtime_outcome {
	RUNTIME_NAMED,
	RUNTIME_GONE,       /* the object is another one by now */
	RUNTIME_UNREADABLE, /* its memory cannot be read */
	RUNTIME_MALFORMED,  /* what lies there is no such object */
	RUNTIME_ENDED,      /* the program has: there is no memory; no runtime answers that */
	RUNTIME_OUTCOMES,
};

/* How a frame of a file stands in the stacks that its runtime itself prints. */
enum runtime_trace {
	RUNTIME_WRAPPER = 1,        /* code that a compiler has made leads to another function: it
				       is left out, */
	RUNTIME_SHOWS_WRAPPERS = 2, /* unless it has called this one */
	RUNTIME_TRACES = 4,         /* one more than all of them */
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
	 * In the worker: find in a process that has loaded the file of @layout, whose ELF address
	 * 0 lies at @base, what the kernel side is to be told. What is read is hostile; bounded in
	 * reads. False: there is nothing (yet). It is asked again, later and later, until what it
	 * finds is complete. NULL: there never is.
	 */
	bool (*attach)(const void *layout, uint64_t base, const struct runtime_memory *memory,
		       struct runtime_found *ret);

	/*
	 * What attach finds in every process that has the file of @layout at @base, once it has
	 * found all of it in one that has. NULL: each has something of its own. Without an attach
	 * the file alone says all, and nobody looks into the process.
	 */
	void (*foresee)(const void *layout, uint64_t base, struct runtime_found *ret);

	/*
	 * In the worker: what runs in @frame, of a process in which attach has found something. It
	 * says so only if the object is still what it was. NULL: its frames are addresses.
	 */
	enum runtime_outcome (*resolve)(const struct runtime_process *process,
					const struct runtime_memory *memory,
					const struct runtime_frame *frame,
					const struct runtime_lines *to);

	/*
	 * In the worker: give @to one line, whose function is the name that the program itself has
	 * given thread number @thread, of the PID namespace it was made in. As resolve, but that
	 * names change: it is asked again. NULL: its threads are called what the system calls them.
	 */
	enum runtime_outcome (*name_thread)(const struct runtime_process *process,
					    const struct runtime_memory *memory, uint32_t thread,
					    const struct runtime_lines *to);

	/*
	 * In the worker: give @to one line, whose function is the runtime's version, its system
	 * name the runtime's name, and its file what the process runs, without folders: the last
	 * two may be empty. None of it may be of the program's arguments. As resolve. NULL: nothing
	 * is said of that.
	 */
	enum runtime_outcome (*describe)(const struct runtime_process *process,
					 const struct runtime_memory *memory,
					 const struct runtime_lines *to);

	/*
	 * In the worker: which functions run at @address, an ELF address of @file, of which
	 * source->go alone may have been read? Files that it recognises only. They are given to
	 * @to, and what the frame is to *@trace_ret, of enum runtime_trace. False: it does not
	 * know, whatever it has given. Every byte is hostile; bounded in time and memory; nothing
	 * is allocated. NULL: files say nothing about that.
	 */
	bool (*lines)(const struct runtime_file *file, uint64_t address,
		      const struct runtime_lines *to, uint32_t *trace_ret);

	/* Programs give what their threads run labels, and the data for the kernel side say where
	 * these lie: it reads them with each sample (runtimes_find_labels). Of one runtime only. */
	bool has_labels;

	/* Of its frames, as the semantic conventions have it (profile.frame.type). */
	const char *frame_type;

	/* Which stacks of its processes, which have mapped @files files, may be copied instead of
	 * walked: UNWIND_COPIES. NULL: those that may be of any other program, but none where
	 * there is an attach. Of a process with several what all of them allow. */
	uint32_t (*copies)(size_t files);
};

/* All there are, by number; all_runtimes[i] for i < RUNTIMES, NULL where there is none. */
extern const struct runtime *const all_runtimes[RUNTIMES];

/* The one with this number, which may be any; NULL. */
const struct runtime *runtime_find(uint32_t number);

/*
 * The area that begins at @start, or is anywhere; NULL when none does. That, or that there is none,
 * is so up to *@until, which is lowered for it: memory from @start on, which ends there.
 */
const struct runtime_area *runtime_areas_at(const struct runtime_found *found, uint64_t start,
					    uint64_t *until);

/* Does one of them hold @address? */
bool runtime_areas_hold(const struct runtime_found *found, uint64_t address);

/* Can @found, of which no byte is believed, be what a runtime says? Text is made printable. */
bool runtime_found_check(struct runtime_found *found);
