/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a location holds, as the Collector's providers have it:
 *
 * env:NAME, env:NAME:-default     an environment variable
 * file:PATH                       a file of at most YAML_FILE_MAX bytes
 * yaml:TEXT                       the text itself
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum {
	RETRIEVE_WHY_MAX = 1024,
	RETRIEVE_FILES_MAX = 1000,
	RETRIEVE_SHOWN_MAX = 200, /* bytes of a location that a message shows */
};

enum retrieve_scheme { RETRIEVE_ENV, RETRIEVE_FILE, RETRIEVE_YAML };

struct retriever {
	struct arena *memory; /* borrowed */
	bool reads_files;     /* else file: is refused */
	const char *shown;    /* what messages name instead of a location; NULL: the location */
	struct {
		const char **items; /* absolute paths of files that were asked for, each once */
		size_t count, capacity;
	} files; /* owned; the paths lie in the arena */
	/* Told of each of them before it is read; may be NULL. */
	void (*note_file)(const char *path, void *context);
	void *context;
};

struct retrieved {
	const char *text; /* of @owned, of the environment or of the location; ends with a NUL or
			   * with the location */
	size_t length;
	char *owned;       /* to be freed, or NULL */
	const char *file;  /* its path, in the arena; NULL when it is none */
	bool is_default;   /* what stands after ":-" */
	const char *unset; /* name of the variable that is neither set nor has a default, in the
			    * arena: null; else NULL */
};

void retriever_deinit(struct retriever *retriever);

/*
 * The scheme of @location ("file:/etc/x") and where what it is about begins. False when
 * there is none, or one that is not supported; @why says so.
 */
bool retrieve_scheme_parse(const struct retriever *retriever, const char *location, size_t length,
			   enum retrieve_scheme *ret, size_t *rest_ret, char why[RETRIEVE_WHY_MAX]);

/* What @rest, the location without its scheme, holds. False with @why; "" without memory. */
bool retrieve(struct retriever *retriever, enum retrieve_scheme scheme, const char *rest,
	      size_t length, struct retrieved *ret, char why[RETRIEVE_WHY_MAX]);

/* What is pasted into values is text, and the line end at the end of a file is none of it.
 * False with @why. */
bool retrieved_make_value(const struct retriever *retriever, struct retrieved *retrieved,
			  char why[RETRIEVE_WHY_MAX]);
