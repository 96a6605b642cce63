/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython, 3.6 to 3.15: what a file with an interpreter says of it, and how its objects are read.
 *
 * From 3.13 on the interpreter tells where what lies in its structures (_Py_DebugOffsets, Include/
 * internal/pycore_debug_offsets.h of its sources, in section .PyRuntime). Before, that is known by
 * the version (offsets.c), and checked in each process.
 */
#pragma once

#include "runtimes/cpython.h"
#include "runtimes/runtime.h"

/* Where in structures what is read lies, in bytes. */
struct cpython_offsets {
	uint16_t runtime_interpreters; /* the pointer to the first one, in _PyRuntime */
	uint16_t interpreter_next, interpreter_threads;
	uint16_t thread_previous, thread_next, thread_interpreter, thread_id, thread_frame;
	uint16_t cframe_frame, cframe_previous; /* 3.11, 3.12 */
	uint16_t frame_owner;                   /* from 3.11 on */
	uint16_t frame_position;                /* up to 3.10 */
	uint16_t code_firstlineno, code_filename, code_name, code_qualname, code_linetable;
	uint16_t code_instructions;
	uint16_t code_check, code_check_words;
	uint16_t object_type;
	uint16_t type_name;
	uint16_t text_length, text_state;
	uint16_t text_ascii, text_compact; /* how long what stands before characters is */
	uint16_t bytes_length, bytes_data;
	uint16_t code_bytes; /* how large a code object is; 0: the file has said all of this */
	uint16_t flags;      /* enum cpython_flag */
};

/* The same, of tasks of asyncio: as struct cpython_data has it. All 0: nothing is known of them. */
struct cpython_tasks {
	uint16_t thread, awaiter, marks, coroutine, name;
	uint16_t coroutine_frame, coroutine_state, coroutine_waits, frame_stack, frame_awaited;
	uint16_t reserved[2];
};

/* What a file says of its interpreter. */
struct cpython_layout {
	uint64_t runtime;                         /* ELF address of _PyRuntime; of 3.6, of the
						     pointer to the first interpreter */
	uint64_t code_type;                       /* the same of PyCode_Type; or 0 */
	uint64_t coroutine_type, generator_type;  /* and of PyCoro_Type, PyGen_Type, */
	uint64_t text_type;                       /* PyUnicode_Type */
	struct runtime_loop loops[RUNTIME_LOOPS]; /* ELF addresses; both 0: none */
	uint32_t version; /* as PY_VERSION_HEX; the rest is not known up to 3.10 */
	uint32_t refused; /* enum runtime_refusal */
	struct cpython_offsets offsets;
	uint16_t reserved[2];
	struct cpython_tasks tasks;
};

_Static_assert(sizeof(struct cpython_layout) % sizeof(uint64_t) == 0, "8-byte multiple");
_Static_assert(sizeof(struct cpython_layout) <= RUNTIME_LAYOUT_BYTES, "as large as one may be");

/* Which minor version of Python 3. */
static inline uint32_t cpython_minor(const struct cpython_layout *layout)
{
	return layout->version >> 16 & 0xff;
}

/* The offsets of version 3.@minor, up to 12; NULL: not known. */
const struct cpython_offsets *cpython_known_offsets(uint32_t minor);

/* Read those that an interpreter of 3.@minor, from 13 on, has at @words. False: they are none that
 * are understood. */
bool cpython_told_offsets(uint32_t minor, const uint64_t *words, size_t count,
			  struct cpython_offsets *ret);

enum { CPYTHON_SAID_WORDS = 13 }; /* of struct Py_AsyncioModuleDebugOffsets */

/*
 * Tasks of an interpreter of 3.@minor that has @words as above. @said: what the module _asyncio
 * says, section .AsyncioDebug; NULL where that is another file: the places are then those that the
 * version has, and the kernel side follows a task whose coroutine it has met. False, and nothing is
 * known: they are none that are understood.
 */
bool cpython_find_tasks(uint32_t minor, const uint64_t *words, size_t count, const uint64_t *said,
			struct cpython_tasks *ret);

/* As in struct runtime. */
bool cpython_recognise(const struct runtime_file *file, void *layout_ret);
bool cpython_check(const void *layout);
size_t cpython_loops(const void *layout, struct runtime_loop ret[RUNTIME_LOOPS]);
bool cpython_attach(const void *layout, uint64_t base, const struct runtime_memory *memory,
		    struct runtime_found *ret);
void cpython_foresee(const void *layout, uint64_t base, struct runtime_found *ret);
enum runtime_outcome cpython_resolve(const struct runtime_process *process,
				     const struct runtime_memory *memory,
				     const struct runtime_frame *frame,
				     const struct runtime_lines *to);

/*
 * The line of what is at @position of a code object, in its table of lines (@table, @bytes), of
 * version 3.@minor; @first: its first line. 0: none. The formats: Objects/lnotab_notes.txt up
 * to 3.9, PEP 626 for 3.10, InternalDocs/code_objects.md ("Source code locations") from 3.11 on.
 */
uint32_t cpython_line(uint32_t minor, const uint8_t *table, size_t bytes, uint32_t first,
		      uint32_t position);
