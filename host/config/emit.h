/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a tree of values as YAML or JSON: begin and end a map or a list, give each
 * value of a map its key. Text is quoted where it would else be read as something
 * else. No allocation; one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct yaml_node;

enum emit_style {
	EMIT_YAML,
	EMIT_JSON,      /* indented, a newline at the end of the outermost value */
	EMIT_JSON_LINE, /* on one line, without a newline */
};

enum { EMIT_DEPTH_MAX = 160 }; /* what lies deeper is null */

struct emitter {
	FILE *to; /* borrowed */
	enum emit_style style;
	/*
	 * Write '$' so that a loader's expansion gives it back: what is written is a
	 * configuration.
	 */
	bool escapes_dollars;
	unsigned int depth;
	unsigned int skipped; /* levels beyond EMIT_DEPTH_MAX */
	struct {
		bool is_list;
		size_t count;
	} levels[EMIT_DEPTH_MAX];
	bool has_key; /* the next value belongs to a key that is written */
};

void emitter_init(struct emitter *emitter, enum emit_style style, FILE *to);

void emit_begin_map(struct emitter *emitter);
void emit_end_map(struct emitter *emitter);
void emit_begin_list(struct emitter *emitter);
void emit_end_list(struct emitter *emitter);

/* What follows is the value of @key in the map that is open. */
void emit_key(struct emitter *emitter, const char *key);

void emit_null(struct emitter *emitter);
void emit_bool(struct emitter *emitter, bool value);
void emit_int(struct emitter *emitter, int64_t value);
void emit_double(struct emitter *emitter, double value);
void emit_text(struct emitter *emitter, const char *text);

/* A whole tree as it was read. */
void emit_node(struct emitter *emitter, const struct yaml_node *node);
