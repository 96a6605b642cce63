/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition as a tree: first as it is written (parser.c), then with every name resolved
 * (resolve.c). All of it lies in the condition's arena and is immutable afterwards.
 */
#pragma once

#include "lexer.h"
#include "ottl.h"
#include "value.h"

#include "base/base.h"

struct function;
struct path;
struct path_writer;

/* What a part of a condition depends on. */
enum {
	READS_RESOURCE = 1 << 0,
	READS_SCOPE = 1 << 1,
	READS_PROFILE = 1 << 2,
	READS_SAMPLE = 1 << 3, /* other than its attributes and its stack */
	READS_SAMPLE_ATTRIBUTES = 1 << 4,
	READS_STACK = 1 << 5, /* the sample's stack */
	/* Of one frame of it: what is inside a comparison or converter that is asked per frame. */
	READS_FUNCTION = 1 << 6,
	READS_LOCATION = 1 << 7,
	READS_MAPPING = 1 << 8,
	READS_FRAME = READS_FUNCTION | READS_LOCATION | READS_MAPPING,
};

/* Tables whose entries a part of a condition is evaluated for once. */
enum memo_table {
	MEMO_NONE,
	MEMO_RESOURCES,
	MEMO_SCOPES,
	MEMO_PROFILES,
	MEMO_ATTRIBUTE_LISTS,
	MEMO_STACKS,
	MEMO_FUNCTIONS,
	MEMO_LOCATIONS,
	MEMO_MAPPINGS,
};

enum node_kind {
	NODE_LITERAL,
	NODE_LIST,
	NODE_MAP, /* children: key, value, key, value, ... */
	NODE_PATH,
	NODE_CALL,
	NODE_ENUM,
	NODE_SUM,     /* n terms */
	NODE_PRODUCT, /* n factors */
	NODE_NEGATION,
	NODE_COMPARISON,
	NODE_NOT,
	NODE_AND,
	NODE_OR,
};

/* Where the grammar lets an expression stand. */
enum {
	ROLE_VALUE = 1 << 0,
	ROLE_NUMBER = 1 << 1, /* in arithmetic */
	ROLE_BOOLEAN = 1 << 2,
};

enum { NO_SLOT = UINT32_MAX };

/* One name of a path, with what stands in brackets behind it. */
struct segment {
	const char *name;
	struct node **keys;
	uint32_t key_count;
};

struct node {
	enum node_kind kind;
	unsigned int roles;
	struct place place;

	struct node **children; /* of a resolved call by parameter, NULL where left out */
	uint32_t child_count;
	struct node **keys; /* of a call, or of a resolved path */
	uint32_t key_count;

	struct value literal;
	enum compare_operator compare;
	const char
		*operators; /* of a sum or product: that before each child; the first is unused */

	/* As written. */
	const char *name;            /* of a function or enum */
	const char **argument_names; /* of a call; NULL for each without */
	struct segment *segments;    /* of a path */
	uint32_t segment_count;

	/* Resolved. */
	const struct path *path;
	const struct path_writer *writer; /* of a path that an editor changes; else NULL */
	const struct function *function;
	const struct function *converter; /* of a name that stands for a converter; else NULL */
	struct ottl_pattern *pattern;     /* owned by the condition; NULL where it is no literal */
	uint32_t pattern_slot;            /* of a call that matches, else NO_SLOT */
	unsigned int reads;               /* of the node as others see it */
	bool is_per_frame;                /* true if true for any frame of the stack */
	unsigned int frame_reads;         /* of one that is asked per frame */
	enum memo_table memo_table, frame_memo_table;
	uint32_t memo_slot, frame_memo_slot;
};

struct ottl_condition {
	struct arena *arena;
	char *text;
	enum ottl_context context;
	struct node *root;      /* of a statement what stands behind `where`; NULL without */
	struct node *editor;    /* of a statement, else NULL */
	bool is_editing;        /* asked while rows change: nothing is remembered of them */
	enum memo_table *memos; /* by slot */
	uint32_t memo_count, pattern_count;
	VECTOR(struct ottl_pattern *) patterns; /* all of the nodes' */
};

/* An editor call, and when it is carried out. */
struct ottl_statement {
	struct ottl_condition program;
};
