/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converters: the functions of conditions; and what editors (editors.h) share with them. Names,
 * parameters and results are the Collector's (pkg/ottl/ottlfuncs of opentelemetry-collector-contrib
 * 0.159).
 */
#pragma once

#include "evaluate.h"

enum parameter_kind {
	PARAMETER_ANY,
	PARAMETER_STRING,      /* nothing else */
	PARAMETER_TEXT,        /* what can be made into text; nil stays nil */
	PARAMETER_INT,         /* nothing else */
	PARAMETER_INT_LIKE,    /* what can be made into an integer */
	PARAMETER_DOUBLE_LIKE, /* what can be made into a float */
	PARAMETER_TEXT_LIST,   /* a list in brackets, of PARAMETER_TEXT */
	PARAMETER_FLAG,        /* true or false, as a literal */
	PARAMETER_MAP,
	PARAMETER_LIST,
	PARAMETER_STRING_LIST,   /* a list in brackets, of PARAMETER_STRING */
	PARAMETER_LITERAL_INT,   /* a number that is written there */
	PARAMETER_LITERAL_TEXT,  /* a string that is written there */
	PARAMETER_LITERAL_TEXTS, /* a list of strings that is written there */
	PARAMETER_TARGET,        /* of editors: a path that can be changed */
	PARAMETER_MAP_TARGET,    /* the same, of a map */
	PARAMETER_FUNCTION,      /* the name of a converter of one string */
	PARAMETER_VALUE_LIST,    /* a list in brackets, of anything */
};

struct parameter {
	const char *name;
	enum parameter_kind kind;
	bool is_optional;
};

enum { PARAMETERS_MAX = 6 };

struct function {
	const char *name;
	enum value_type result; /* VALUE_NIL: not always the same */
	struct parameter parameters[PARAMETERS_MAX];
	uint32_t parameter_count;
	uint32_t pattern; /* 1 + the parameter that is a regular expression; 0 = none */
	bool is_glob;     /* that one is a glob instead */
	/* False with a message when there is no value. */
	bool (*call)(struct evaluation *evaluation, const struct node *node, struct value *ret);
};

/* NULL when there is none. */
const struct function *function_find(const char *name);

/* The nearest name; NULL when none is near. */
const char *function_nearest(const char *name);

/* All names, with commas between them. */
const char *function_names(void);

/* Can an argument of @kind be @value? If not, *@expected_ret says what it has to be. */
bool parameter_takes(enum parameter_kind kind, const struct value *value,
		     const char **expected_ret);
