// SPDX-License-Identifier: Apache-2.0
#include "cpython.h"

enum { LEAST = 6, MOST_KNOWN = 12, LEAST_TOLD = 13, MOST_TOLD = 15 };

/* As compilers for 64-bit machines lay them out; builds for debugging are like others from 3.8 on.
 */
static const struct cpython_offsets known[MOST_KNOWN - LEAST + 1] = {
	[6 - LEAST] = {
		.runtime_interpreters = 0,
		.interpreter_next = 0, .interpreter_threads = 8,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 152, .thread_frame = 24,
		.frame_position = 120,
		.code_firstlineno = 36, .code_filename = 96, .code_name = 104, .code_qualname = 104,
		.code_linetable = 112, .code_check = 32, .code_check_words = 11,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 144, .flags = CPYTHON_OBJECTS,
	},
	[7 - LEAST] = {
		.runtime_interpreters = 24,
		.interpreter_next = 0, .interpreter_threads = 8,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 176, .thread_frame = 24,
		.frame_position = 104,
		.code_firstlineno = 36, .code_filename = 96, .code_name = 104, .code_qualname = 104,
		.code_linetable = 112, .code_check = 32, .code_check_words = 11,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 144, .flags = CPYTHON_OBJECTS,
	},
	[8 - LEAST] = {
		.runtime_interpreters = 32,
		.interpreter_next = 0, .interpreter_threads = 8,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 176, .thread_frame = 24,
		.frame_position = 104,
		.code_firstlineno = 40, .code_filename = 104, .code_name = 112, .code_qualname = 112,
		.code_linetable = 120, .code_check = 40, .code_check_words = 11,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 176, .flags = CPYTHON_OBJECTS,
	},
	[9 - LEAST] = {
		.runtime_interpreters = 32,
		.interpreter_next = 0, .interpreter_threads = 8,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 176, .thread_frame = 24,
		.frame_position = 104,
		.code_firstlineno = 40, .code_filename = 104, .code_name = 112, .code_qualname = 112,
		.code_linetable = 120, .code_check = 40, .code_check_words = 11,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 176, .flags = CPYTHON_OBJECTS,
	},
	[10 - LEAST] = {
		.runtime_interpreters = 32,
		.interpreter_next = 0, .interpreter_threads = 8,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 176, .thread_frame = 24,
		.frame_position = 96,
		.code_firstlineno = 40, .code_filename = 104, .code_name = 112, .code_qualname = 112,
		.code_linetable = 120, .code_check = 40, .code_check_words = 11,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 176, .flags = CPYTHON_OBJECTS,
	},
	[11 - LEAST] = {
		.runtime_interpreters = 40,
		.interpreter_next = 0, .interpreter_threads = 16,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 152, .thread_frame = 56,
		.cframe_frame = 8, .cframe_previous = 16,
		.frame_owner = 68,
		.code_firstlineno = 72, .code_filename = 112, .code_name = 120, .code_qualname = 128,
		.code_linetable = 136, .code_instructions = 184, .code_check = 72,
		.code_check_words = 9,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 48, .text_compact = 72, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 184, .flags = CPYTHON_CFRAMES | CPYTHON_ENTRIES,
	},
	[12 - LEAST] = {
		.runtime_interpreters = 40,
		.interpreter_next = 0, .interpreter_threads = 72,
		.thread_previous = 0, .thread_next = 8, .thread_interpreter = 16,
		.thread_id = 136, .thread_frame = 56,
		.cframe_frame = 0, .cframe_previous = 8,
		.frame_owner = 70,
		.code_firstlineno = 68, .code_filename = 112, .code_name = 120, .code_qualname = 128,
		.code_linetable = 136, .code_instructions = 192, .code_check = 64,
		.code_check_words = 10,
		.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,
		.text_ascii = 40, .text_compact = 56, .bytes_length = 16, .bytes_data = 32,
		.code_bytes = 192, .flags = CPYTHON_CFRAMES,
	},
};

const struct cpython_offsets *cpython_known_offsets(uint32_t minor)
{
	return minor >= LEAST && minor <= MOST_KNOWN ? &known[minor - LEAST] : NULL;
}

/* Which word of _Py_DebugOffsets says what: the first of a structure's, and of single ones. */
static const struct told {
	uint8_t thread_previous, thread_next, thread_interpreter, thread_frame, thread_id;
	uint8_t frame; /* size, previous, executable, instr_ptr, localsplus, owner */
	uint8_t code;  /* size, filename, name, qualname, linetable, firstlineno */
	uint8_t instructions;
	uint8_t object, type, bytes, text; /* from their sizes on */
	uint8_t count;                     /* words that are read */
} told[MOST_TOLD - LEAST_TOLD + 1] = {
	[13 - LEAST_TOLD] = { 20, 21, 22, 23, 24, 28, 34, 43, 44, 46, 64, 67, 71 },
	[14 - LEAST_TOLD] = { 23, 24, 25, 26, 27, 31, 39, 48, 50, 52, 74, 77, 81 },
	[15 - LEAST_TOLD] = { 23, 24, 25, 26, 30, 39, 47, 56, 58, 60, 86, 89, 93 },
};

enum {
	TOLD_INTERPRETERS = 5,
	TOLD_INTERPRETER_NEXT = 8,
	TOLD_INTERPRETER_THREADS = 9,
	TOLD_FREE_THREADED = 2,
	FREE_THREADED = 13, /* the minor version whose builds without the GIL are known */
	/* What the kernel side goes by (cpython.bpf.h). */
	CHAIN_CODE = 0,
	CHAIN_PREVIOUS = 8,
	CHAIN_INSTRUCTION = 56,
	CHAIN_BYTES = 8 * CPYTHON_CHAIN_WORDS,
	MARK_AT_LEAST = 64,
};

/* From which word on a code object has what never changes, up to where its table of lines is named.
 */
static bool set_check(struct cpython_offsets *offsets)
{
	offsets->code_check = offsets->code_firstlineno & ~7;
	if (offsets->code_linetable <= offsets->code_check)
		return false;
	offsets->code_check_words = (offsets->code_linetable - offsets->code_check) / 8 + 1;
	return offsets->code_check_words <= CPYTHON_CHECK_WORDS;
}

/*
 * Where objects have their type, texts and bytes their lengths: the same for all versions. Builds
 * without the GIL have 16 bytes more in front of it.
 */
static bool has_known_objects(const struct told *at, const uint64_t *words)
{
	uint64_t more = words[TOLD_FREE_THREADED] ? 16 : 0;

	return words[at->object + 1] == 8 + more && words[at->bytes + 1] == 16 + more &&
	       words[at->text + 1] == 32 + more && words[at->text + 2] == 16 + more;
}

bool cpython_told_offsets(uint32_t minor, const uint64_t *words, size_t count,
			  struct cpython_offsets *ret)
{
	const struct told *at;

	if (minor < LEAST_TOLD || minor > MOST_TOLD)
		return false;
	at = &told[minor - LEAST_TOLD];
	if (count < at->count || words[TOLD_FREE_THREADED] > (minor == FREE_THREADED))
		return false;
	for (size_t i = 3; i < at->count; i++)
		if (i != 3 && i != 6 && words[i] > UINT16_MAX)
			return false;
	if (words[at->frame + 1] != CHAIN_PREVIOUS || words[at->frame + 2] != CHAIN_CODE ||
	    words[at->frame + 3] != CHAIN_INSTRUCTION || words[at->frame + 5] < MARK_AT_LEAST ||
	    words[at->frame + 5] >= CHAIN_BYTES || words[at->frame] < CHAIN_BYTES)
		return false;
	if (!has_known_objects(at, words))
		return false;
	*ret = (struct cpython_offsets){
		.runtime_interpreters = (uint16_t)words[TOLD_INTERPRETERS],
		.interpreter_next = (uint16_t)words[TOLD_INTERPRETER_NEXT],
		.interpreter_threads = (uint16_t)words[TOLD_INTERPRETER_THREADS],
		.thread_previous = (uint16_t)words[at->thread_previous],
		.thread_next = (uint16_t)words[at->thread_next],
		.thread_interpreter = (uint16_t)words[at->thread_interpreter],
		.thread_frame = (uint16_t)words[at->thread_frame],
		.thread_id = (uint16_t)words[at->thread_id],
		.frame_owner = (uint16_t)words[at->frame + 5],
		.code_filename = (uint16_t)words[at->code + 1],
		.code_name = (uint16_t)words[at->code + 2],
		.code_qualname = (uint16_t)words[at->code + 3],
		.code_linetable = (uint16_t)words[at->code + 4],
		.code_firstlineno = (uint16_t)words[at->code + 5],
		.code_instructions = (uint16_t)words[at->instructions],
		.object_type = (uint16_t)words[at->object + 1],
		.type_name = (uint16_t)words[at->type + 1],
		.text_length = (uint16_t)words[at->text + 2],
		.text_state = (uint16_t)words[at->text + 1],
		.text_ascii = (uint16_t)words[at->text + 3],
		.text_compact = (uint16_t)words[at->text],
		.bytes_length = (uint16_t)words[at->bytes + 1],
		.bytes_data = (uint16_t)words[at->bytes + 2],
		.flags = words[TOLD_FREE_THREADED] ? CPYTHON_FREE_THREADED : 0,
	};
	// The structure of all texts has a pointer to data that are elsewhere at its end.
	ret->text_compact = (uint16_t)(ret->text_compact - sizeof(uint64_t));
	return set_check(ret);
}
