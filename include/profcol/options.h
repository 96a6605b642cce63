/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a component, declared once. From this table come decoding,
 * defaults, bounds, unknown-key errors with the nearest key, documentation and
 * the JSON schema; nothing else reads the YAML tree.
 *
 * A table is an array that ends with PROFCOL_OPTION_END. Each macro names the
 * key, the component's configuration struct and the field that receives the
 * value, and does not compile when the field has another type. Grammar and
 * spelling are those of the OpenTelemetry Collector; defaults are written as
 * they would be in YAML.
 *
 * The decoded struct is owned by the host and valid until destroy; strings,
 * lists and maps in it live in the host's memory.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum profcol_option_type {
	PROFCOL_OPTION_BOOL,     /* bool */
	PROFCOL_OPTION_INT,      /* int64_t, with bounds */
	PROFCOL_OPTION_DOUBLE,   /* double, with bounds */
	PROFCOL_OPTION_DURATION, /* uint64_t nanoseconds; Go syntax: 300ms, 1.5h, 0 */
	PROFCOL_OPTION_BYTES,    /* uint64_t; a number or 512KiB, 32MiB, 1GiB */
	PROFCOL_OPTION_STRING,   /* const char *, never NULL once decoded */
	PROFCOL_OPTION_SECRET,   /* as STRING, shown as [REDACTED] everywhere */
	PROFCOL_OPTION_ENUM,     /* int: index into .names */
	PROFCOL_OPTION_LIST,     /* struct profcol_list of strings */
	PROFCOL_OPTION_MAP,      /* struct profcol_map of string to string; in the file also a
				  * list of {name, value} */
	PROFCOL_OPTION_NESTED,   /* a struct described by .nested */
	PROFCOL_OPTION_SECTIONS, /* struct profcol_sections of structs described by .nested */
	PROFCOL_OPTION_ANY,      /* struct profcol_any: whatever is written */
};

/* What `validate` looks for, of the file system, at the path that a text is. */
enum profcol_path_use {
	PROFCOL_PATH_NONE,    /* it is no path, or one that may lead nowhere */
	PROFCOL_PATH_READ,    /* a file that is there */
	PROFCOL_PATH_CREATED, /* a file or directory; that which it lies in is there */
};

struct profcol_list {
	const char *const *items;
	size_t count;
};

struct profcol_map {
	const char *const *keys; /* in the order of the file */
	const char *const *values;
	size_t count;
};

struct profcol_sections {
	const void *items; /* an array of the struct that the option's macro names */
	size_t count;
};

/* A value of the file with the type that it has there. */
struct profcol_any {
	enum profcol_any_type {
		PROFCOL_ANY_NONE, /* not given, or null */
		PROFCOL_ANY_TEXT,
		PROFCOL_ANY_BOOL,
		PROFCOL_ANY_INT,
		PROFCOL_ANY_DOUBLE,
		PROFCOL_ANY_LIST,
		PROFCOL_ANY_MAP,
	} type;
	union {
		const char *text;
		bool boolean;
		int64_t integer;
		double real;
		struct {
			const struct profcol_any *items;
			const char *const *keys; /* of a MAP, in the order of the file */
			size_t count;
		};
	};
};

struct profcol_option {
	const char *key;      /* lower_snake_case, or an attribute's name; NULL ends the table */
	const char *doc;      /* one line: what it does, units, range */
	const char *fallback; /* default as YAML text; NULL = zero value, "" for strings */
	enum profcol_option_type type;
	size_t offset;    /* of the field in the configuration struct */
	int64_t min, max; /* INT: inclusive; DURATION (ns) and BYTES: inclusive, max 0 = none */
	double double_min, double_max; /* DOUBLE: inclusive */
	/* ENUM: accepted words, NULL-terminated; an empty first one means "not given" and is not
	 * shown. SECTIONS: NULL, or one word: an item may also be a text, which then stands for
	 * the one item of the LIST of that name in the section; all items are texts, or none. With
	 * a second word, of no meaning, all texts together are that LIST of one section. */
	const char *const *names;
	const struct profcol_option *nested; /* NESTED: table relative to the field, an empty one:
					      * what is in it is not read; SECTIONS: relative to
					      * each item */
	size_t item_size;                    /* SECTIONS: of an item, bytes */
	size_t named;  /* NESTED: 0, or 1 + offset of a bool: the key is there, be it empty, and
			* not switched off by `enabled: false` */
	bool required; /* absent or null is an error */
	bool null_is_absent;        /* NESTED with @named: null does not name it */
	enum profcol_path_use path; /* STRING */
};

/* Does not compile unless @field of @config has exactly the C type @c_type. */
#define PROFCOL_FIELD(config, field, c_type)                                                       \
	(offsetof(config, field) +                                                                 \
	 0 * sizeof(char[_Generic(((config *)0)->field, c_type: 1, default: -1)]))

#define PROFCOL_OPTION_BOOL(key_, config, field, fallback_, doc_)                                  \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_BOOL,                                                             \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, bool) }
#define PROFCOL_OPTION_INT(key_, config, field, fallback_, min_, max_, doc_)                       \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_INT,                                                              \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .min = (min_),                                                                           \
	  .max = (max_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, int64_t) }
#define PROFCOL_OPTION_DOUBLE(key_, config, field, fallback_, min_, max_, doc_)                    \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_DOUBLE,                                                           \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .double_min = (min_),                                                                    \
	  .double_max = (max_),                                                                    \
	  .offset = PROFCOL_FIELD(config, field, double) }
#define PROFCOL_OPTION_DURATION(key_, config, field, fallback_, min_ns_, max_ns_, doc_)            \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_DURATION,                                                         \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .min = (min_ns_),                                                                        \
	  .max = (max_ns_),                                                                        \
	  .offset = PROFCOL_FIELD(config, field, uint64_t) }
#define PROFCOL_OPTION_BYTES(key_, config, field, fallback_, min_, max_, doc_)                     \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_BYTES,                                                            \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .min = (min_),                                                                           \
	  .max = (max_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, uint64_t) }
#define PROFCOL_OPTION_STRING(key_, config, field, fallback_, doc_)                                \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_STRING,                                                           \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, const char *) }
#define PROFCOL_OPTION_REQUIRED_STRING(key_, config, field, doc_)                                  \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_STRING,                                                           \
	  .doc = (doc_),                                                                           \
	  .required = true,                                                                        \
	  .offset = PROFCOL_FIELD(config, field, const char *) }
/* The path of a file that the component reads when it starts. */
#define PROFCOL_OPTION_READ_FILE(key_, config, field, doc_)                                        \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_STRING,                                                           \
	  .doc = (doc_),                                                                           \
	  .path = PROFCOL_PATH_READ,                                                               \
	  .offset = PROFCOL_FIELD(config, field, const char *) }
/* A REQUIRED_STRING: the path of what the component makes where there is none. */
#define PROFCOL_OPTION_REQUIRED_PATH(key_, config, field, doc_)                                    \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_STRING,                                                           \
	  .doc = (doc_),                                                                           \
	  .required = true,                                                                        \
	  .path = PROFCOL_PATH_CREATED,                                                            \
	  .offset = PROFCOL_FIELD(config, field, const char *) }
#define PROFCOL_OPTION_SECRET(key_, config, field, doc_)                                           \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_SECRET,                                                           \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, const char *) }
#define PROFCOL_OPTION_ENUM(key_, config, field, fallback_, names_, doc_)                          \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_ENUM,                                                             \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .names = (names_),                                                                       \
	  .offset = PROFCOL_FIELD(config, field, int) }
#define PROFCOL_OPTION_LIST(key_, config, field, fallback_, doc_)                                  \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_LIST,                                                             \
	  .fallback = (fallback_),                                                                 \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, struct profcol_list) }
#define PROFCOL_OPTION_MAP(key_, config, field, doc_)                                              \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_MAP,                                                              \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, struct profcol_map) }
#define PROFCOL_OPTION_NESTED(key_, config, field, nested_, doc_)                                  \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_NESTED,                                                           \
	  .doc = (doc_),                                                                           \
	  .nested = (nested_),                                                                     \
	  .offset = offsetof(config, field) }
/*
 * A NESTED whose absence means something: the bool @named_ says whether the key is there, be it
 * null. `enabled: false` in it is as good as absence; `enabled: true` says nothing new; unless
 * @nested_ has a key of that name itself.
 */
#define PROFCOL_OPTION_SECTION(key_, config, field, named_, nested_, doc_)                         \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_NESTED,                                                           \
	  .doc = (doc_),                                                                           \
	  .nested = (nested_),                                                                     \
	  .named = PROFCOL_FIELD(config, named_, bool) + 1,                                        \
	  .offset = offsetof(config, field) }
/* As SECTION, but null is as good as absence: it takes at least {} to name it. */
#define PROFCOL_OPTION_OPTIONAL(key_, config, field, named_, nested_, doc_)                        \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_NESTED,                                                           \
	  .doc = (doc_),                                                                           \
	  .nested = (nested_),                                                                     \
	  .named = PROFCOL_FIELD(config, named_, bool) + 1,                                        \
	  .null_is_absent = true,                                                                  \
	  .offset = offsetof(config, field) }
/* A list of maps; @item_ is the struct that @nested_ describes. */
#define PROFCOL_OPTION_SECTIONS(key_, config, field, item_, nested_, doc_)                         \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_SECTIONS,                                                         \
	  .doc = (doc_),                                                                           \
	  .nested = (nested_),                                                                     \
	  .item_size = sizeof(item_),                                                              \
	  .offset = PROFCOL_FIELD(config, field, struct profcol_sections) }
/* As SECTIONS, of which an item may be a text: that in the LIST @names_[0] of a section. */
#define PROFCOL_OPTION_SECTIONS_OR_TEXTS(key_, config, field, item_, nested_, names_, doc_)        \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_SECTIONS,                                                         \
	  .doc = (doc_),                                                                           \
	  .names = (names_),                                                                       \
	  .nested = (nested_),                                                                     \
	  .item_size = sizeof(item_),                                                              \
	  .offset = PROFCOL_FIELD(config, field, struct profcol_sections) }
#define PROFCOL_OPTION_ANY(key_, config, field, doc_)                                              \
	{ .key = (key_),                                                                           \
	  .type = PROFCOL_OPTION_ANY,                                                              \
	  .doc = (doc_),                                                                           \
	  .offset = PROFCOL_FIELD(config, field, struct profcol_any) }
#define PROFCOL_OPTION_END { .key = NULL }

#define PROFCOL_MILLISECOND INT64_C(1000000)
#define PROFCOL_SECOND      (1000 * PROFCOL_MILLISECOND)
#define PROFCOL_MINUTE      (60 * PROFCOL_SECOND)
#define PROFCOL_HOUR        (60 * PROFCOL_MINUTE)
