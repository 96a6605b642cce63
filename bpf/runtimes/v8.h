/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The receiver tells the kernel side how frames and objects of V8 look in a process. V8 itself
 * says that to debuggers, in its variables v8dbg_* (tools/gen-postmortem-metadata.py of its
 * sources).
 *
 * All code of V8's has a frame pointer. Right below the saved one a frame has either a context,
 * then it is a function's of the program, or a number that says what else it is.
 */
#pragma once

#include "runtime_number.h"

enum {
	V8_OBJECT_WORDS = 8, /* of a SharedFunctionInfo that are read */
	V8_MARKERS = 64,     /* there are fewer types of frames */
};

/* Of a frame, as in unwind_runtime_frame(). */
enum v8_frame_kind {
	V8_INTERPRETED = 1, /* the object is a SharedFunctionInfo, the position what the frame has
			       of its place in the bytecode */
	V8_BUILTIN = 2,     /* the same, of a function that V8 has made; without position */
	V8_COMPILED = 3,    /* the same, of a function in made code; the position is its address */
	V8_CODE = 4,        /* the object is an address in made code; the position is the number
			       that its frame has, or 0 */
	V8_REGEXP = 5,      /* the object is the data of a regular expression, the position is
			       an address in made code */
	V8_WASM = 6,        /* the same, of an instance of WebAssembly */
	V8_UNSURE = 7,      /* the same, of either, or of neither */
	V8_KINDS = 8,
	V8_KIND_BITS = 3,
};

/*
 * An address in made code has 47 bits: the lower 32 are the position, 5 more lie in the kind above
 * its own bits, the rest in the lowest bits of the check. The other bits of the check are of a
 * function (v8_check) and, if there is an address, of the code there (v8_code_check), mixed; where
 * there is no function, of the code alone.
 */
enum {
	V8_LINE_BYTES = 64, /* of code, in which an address lies, that tell it from other code */
	V8_LINE_WORDS = V8_LINE_BYTES / 8,
	V8_CODE_IN_KIND = 5,
	V8_CODE_IN_CHECK = 10,
	V8_CHECK_BITS = 32 - V8_CODE_IN_CHECK,
};

/* How it looks: of the area of made code as well as of the loops. */
struct v8_view {
	__s8 function, bytecode_offset; /* of a frame: words from the frame pointer on */
	__u8 shared;                    /* words: of a JSFunction, its SharedFunctionInfo */
	__u8 script, builtin;           /* words, of that: its Script; what a builtin has as a
					   number */
	__u8 literal;                   /* of that: its number in its script, in units of 4 bytes */
	__u8 script_id;                 /* words, of a Script */
	__u8 wasm;        /* number that a frame of WebAssembly has, whose instance is next to it */
	__u8 regexp;      /* that of a regular expression; 0: it has none */
	__u8 regexp_slot; /* words from its frame pointer on: the JSRegExp, or its data; 0: nowhere
			   */
	__u8 regexp_data; /* words, of a JSRegExp, its data; 0: the frame has these */
	__u8 reserved[3];
	/* In an area, the kind of its range. */
	__u8 kind;
	__u8 reserved_too;
};

_Static_assert(sizeof(struct v8_view) == 16, "it fits into an area");
_Static_assert(__builtin_offsetof(struct v8_view, kind) == UNWIND_AREA_KIND, "around the kind");

struct v8_data {
	/* Its loops are the builtins: those with an odd number interpret, the others do not. */
	struct runtime_data runtime;
	struct v8_view view;
};

_Static_assert(sizeof(struct v8_data) <= RUNTIME_DATA_BYTES && sizeof(struct v8_data) % 8 == 0,
	       "it is told as it is");

/* The check word of a function mixes its number in its script with the number of the script. */
static inline __u32 v8_check(__u32 literal, __u32 script)
{
	__u64 mixed = ((__u64)script << 32 | literal) * 0x9e3779b97f4a7c15ull;

	return (__u32)((mixed ^ mixed >> 29) >> V8_CODE_IN_CHECK & ((1u << V8_CHECK_BITS) - 1))
	       << V8_CODE_IN_CHECK;
}

/* Where the line begins that @address lies in. No page ends within. */
static inline __u64 v8_line(__u64 address)
{
	return address & ~(V8_LINE_BYTES - 1ull);
}

/* The check word of code at an address mixes the words of its line. */
static inline __u32 v8_code_check(const __u64 line[V8_LINE_WORDS])
{
	__u64 mixed = 0;

	for (__u32 i = 0; i < V8_LINE_WORDS; i++) {
		mixed = (mixed ^ line[i]) * 0x9e3779b97f4a7c15ull;
		mixed ^= mixed >> 29;
	}
	return (__u32)(mixed >> 20);
}

/* The bits of a check word that are not those of an address. */
static inline __u32 v8_check_part(__u32 check)
{
	return check & ~((1u << V8_CODE_IN_CHECK) - 1);
}
