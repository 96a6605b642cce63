/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiler and worker say to each other over a stream socket. Both are the
 * same program on the same machine, so structs travel as they are; the profiler
 * still treats every byte of an answer as hostile (answer_read).
 *
 *   profiler: hello                     once
 *   worker:   header, text              once: ready, or why not
 *   profiler: request, asked            with descriptors, sent along with the first byte
 *   worker:   header, facts, segments, ranges, text             to FUNCTIONS
 *             header, facts, segments, index, text              to INDEX
 *             header, facts, segments, tables, runtimes, pages, rules, contents, text   to PAGES
 *             header, found                               to ATTACH
 *             header, names, named, lines, text           to NAMES, MAP and LINES
 */
#pragma once

#include "worker.h"

#include "runtimes/runtime.h"
#include "unwind/unwind.h"

#include <stdint.h>

enum {
	PROTOCOL_MAGIC = 0x70635731, /* "1Wcp" */
	PROTOCOL_MAX_TEXT = 4 << 20, /* of an answer: 4,096 functions with 1 KiB of names each */
	PROTOCOL_MAX_COMPLAINT = 256,
	PROTOCOL_MAX_FILES = 3, /* descriptors that come with a request */
	PROTOCOL_MAX_ASKED = WORKER_MAX_OFFSETS,
	PROTOCOL_MAX_RULES = UNWIND_RULES - WORKER_FIRST_RULE,
};

enum protocol_kind {
	PROTOCOL_FUNCTIONS, /* asked: file offsets; of an index */
	PROTOCOL_PAGES,     /* asked: page numbers; of a file */
	PROTOCOL_INDEX,     /* asked: enum worker_debug; of a file, to an index, by a debug file */
	PROTOCOL_LINES,     /* asked: ELF addresses; of a file */
	/* The descriptor is the memory of a process: */
	PROTOCOL_ATTACH, /* asked: struct protocol_process, with its layout and data */
	PROTOCOL_NAMES,  /* asked: the same, and frames */
	/* The descriptor is a file in which a program names its code: */
	PROTOCOL_MAP, /* asked: frames, by the addresses of their code, ascending */
	PROTOCOL_KINDS,
};

struct protocol_hello {
	uint32_t magic;
	uint32_t uid; /* whom to become */
};

/* Followed by what is asked, 8 bytes each. */
struct protocol_request {
	uint32_t magic;
	uint32_t id; /* counts up; the answer repeats it */
	uint64_t content;
	uint32_t asked_count;
	uint32_t kind; /* enum protocol_kind */
};

struct protocol_header {
	uint32_t magic;
	uint32_t id;     /* 0: the worker's first word */
	uint32_t status; /* 0, or a positive errno: then the body is text or nothing */
	uint32_t body_bytes;
};

/* `name`s are offsets into the text, which begins and ends with NUL. */
struct protocol_facts {
	char htlhash[33];
	uint8_t partial;
	uint16_t segment_count;
	uint32_t range_count;
	uint32_t text_bytes;
	uint32_t build_id_gnu;
	uint32_t build_id_go;
	uint32_t tables_bytes; /* from tables to contents, or of index; 0 in answers to FUNCTIONS */
};

struct protocol_index {
	uint64_t bytes;
	uint32_t source;        /* enum worker_source */
	uint32_t link;          /* in the text; 0: none */
	uint32_t debug_refused; /* 0 or 1 */
	uint32_t has_tables;    /* 0 or 1 */
	uint32_t lines_by;      /* enum runtime_number */
	uint32_t reserved;      /* 0 */
};

struct protocol_tables {
	uint16_t has_tables;    /* 0 or 1 */
	uint16_t runtime_count; /* so many follow, each with its layout */
	uint32_t page_count;
	uint32_t pages_failed;
	uint32_t rule_count;
};

/* Its layout follows. */
struct protocol_runtime {
	uint32_t number; /* enum runtime_number; ascending */
	uint32_t bytes;  /* of the layout: what that runtime's has */
};

/* Its contents are PAGE_HEAD_BYTES and the rows (unwind/page.h). */
struct protocol_page {
	uint32_t number;
	uint32_t row_count;
};

/* The layout follows, then the data, then frames (struct runtime_frame). */
struct protocol_process {
	uint64_t base;
	uint32_t number; /* enum runtime_number */
	uint16_t layout_bytes, data_bytes;
};

struct protocol_names {
	uint32_t named_count; /* one for each frame or address asked for, in that order */
	uint32_t line_count;  /* of all of them */
	uint32_t text_bytes;
	uint32_t reserved; /* 0 */
};

_Static_assert(sizeof(struct protocol_hello) == 8, "no padding");
_Static_assert(sizeof(struct protocol_process) == 16, "no padding, 8-byte multiple");
_Static_assert(sizeof(struct protocol_names) == 16, "no padding");
_Static_assert(sizeof(struct runtime_frame) == 24, "no padding, 8-byte multiple");
_Static_assert(sizeof(struct protocol_request) == 24, "no padding");
_Static_assert(sizeof(struct protocol_header) == 16, "no padding");
_Static_assert(sizeof(struct protocol_facts) == 56, "no padding, 8-byte multiple");
_Static_assert(sizeof(struct protocol_tables) == 16, "no padding, 8-byte multiple");
_Static_assert(sizeof(struct protocol_page) == 8, "no padding");
_Static_assert(sizeof(struct worker_segment) == 40, "no padding");
_Static_assert(sizeof(struct worker_range) == 32, "no padding");
_Static_assert(sizeof(struct worker_named) == 12, "no padding");
_Static_assert(sizeof(struct protocol_index) == 32, "no padding, 8-byte multiple");
_Static_assert(sizeof(struct protocol_runtime) == 8, "no padding");

enum {
	PROTOCOL_MAX_TABLES =
		sizeof(struct protocol_tables) +
		WORKER_MAX_RUNTIMES * (sizeof(struct protocol_runtime) + RUNTIME_LAYOUT_BYTES) +
		WORKER_MAX_PAGES * (sizeof(struct protocol_page) + PAGE_MAX_BYTES) +
		PROTOCOL_MAX_RULES * sizeof(struct unwind_rule),
	/* Of an answer of any kind: those about functions, or lines, are the largest. */
	PROTOCOL_MAX_BODY = sizeof(struct protocol_facts) +
			    WORKER_MAX_SEGMENTS * sizeof(struct worker_segment) +
			    WORKER_MAX_OFFSETS * sizeof(struct worker_range) +
			    WORKER_MAX_LINES * sizeof(struct worker_line) + PROTOCOL_MAX_TEXT,
};

_Static_assert((size_t)PROTOCOL_MAX_TABLES < PROTOCOL_MAX_TEXT, "tables are smaller than names");
_Static_assert(sizeof(struct protocol_process) + RUNTIME_LAYOUT_BYTES + RUNTIME_DATA_BYTES +
			       WORKER_MAX_FRAMES * sizeof(struct runtime_frame) <=
		       PROTOCOL_MAX_ASKED * sizeof(uint64_t),
	       "frames fit where offsets do");
_Static_assert((size_t)WORKER_MAX_PAGES <= PROTOCOL_MAX_ASKED, "pages fit where offsets do");
_Static_assert((size_t)WORKER_MAX_PLACES <= PROTOCOL_MAX_ASKED, "places do, too");
