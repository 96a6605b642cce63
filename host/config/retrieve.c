// SPDX-License-Identifier: Apache-2.0
#include "retrieve.h"

#include "yaml.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum retrieve_scheme scheme;
} schemes[] = {
	{ "env", RETRIEVE_ENV },
	{ "file", RETRIEVE_FILE },
	{ "yaml", RETRIEVE_YAML },
};

void retriever_deinit(struct retriever *retriever)
{
	VECTOR_DEINIT(&retriever->files);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(const char *name, size_t length)
{
	if (!length || is_digit(*name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_letter(name[i]) && !is_digit(name[i]) && name[i] != '_')
			return false;
	return true;
}

/* The Collector's pattern: ^[A-Za-z][A-Za-z0-9+.-]+ */
static bool is_scheme(const char *scheme, size_t length)
{
	if (length < 2 || !is_letter(*scheme))
		return false;
	for (size_t i = 1; i < length; i++)
		if (!is_letter(scheme[i]) && !is_digit(scheme[i]) && !strchr("+.-", scheme[i]))
			return false;
	return true;
}

static int shown(size_t length)
{
	return length < RETRIEVE_SHOWN_MAX ? (int)length : RETRIEVE_SHOWN_MAX;
}

/* What a message has for @name. */
static const char *show(const struct retriever *retriever, const char *name, size_t *length)
{
	if (!retriever->shown)
		return name;
	*length = strlen(retriever->shown);
	return retriever->shown;
}

static void refuse_scheme(const char *location, size_t length, size_t scheme_length,
			  char why[RETRIEVE_WHY_MAX])
{
	const char *rest = location + scheme_length + 1;

	if (is_name(location, scheme_length) && scheme_length + 1 < length && *rest == '-')
		snprintf(why, RETRIEVE_WHY_MAX,
			 "scheme \"%.*s\" is not supported for uri \"%.*s\"; write ${env:%.*s} for "
			 "a variable with a default",
			 shown(scheme_length), location, shown(length), location, shown(length),
			 location);
	else if (!is_scheme(location, scheme_length))
		snprintf(why, RETRIEVE_WHY_MAX,
			 "invalid uri: \"%.*s\"; write ${env:NAME}, or $$ for a '$' that names no "
			 "variable",
			 shown(length), location);
	else
		snprintf(why, RETRIEVE_WHY_MAX,
			 "scheme \"%.*s\" is not supported for uri \"%.*s\"; supported: env, as in "
			 "${env:NAME:-default}, file and yaml",
			 shown(scheme_length), location, shown(length), location);
}

bool retrieve_scheme_parse(const struct retriever *retriever, const char *location, size_t length,
			   enum retrieve_scheme *ret, size_t *rest_ret, char why[RETRIEVE_WHY_MAX])
{
	const char *colon = memchr(location, ':', length);
	size_t scheme_length = colon ? (size_t)(colon - location) : 0;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (!colon || strlen(schemes[i].name) != scheme_length ||
		    memcmp(schemes[i].name, location, scheme_length) != 0)
			continue;
		*ret = schemes[i].scheme;
		*rest_ret = scheme_length + 1;
		return true;
	}
	if (retriever->shown)
		snprintf(why, RETRIEVE_WHY_MAX,
			 "\"%.*s\" becomes an invalid uri; supported: env, as in "
			 "${env:NAME:-default}, file and yaml",
			 RETRIEVE_SHOWN_MAX, retriever->shown);
	else
		refuse_scheme(location, length, scheme_length, why);
	return false;
}

static bool without_memory(char why[RETRIEVE_WHY_MAX])
{
	why[0] = '\0';
	return false;
}

static bool retrieve_variable(struct retriever *retriever, const char *rest, size_t length,
			      struct retrieved *ret, char why[RETRIEVE_WHY_MAX])
{
	const char *fallback = memmem(rest, length, ":-", 2), *text, *name;
	size_t name_length = fallback ? (size_t)(fallback - rest) : length;

	if (!is_name(rest, name_length)) {
		const char *seen = show(retriever, rest, &name_length);

		snprintf(why, RETRIEVE_WHY_MAX,
			 "environment variable \"%.*s\" has invalid name: must match regex "
			 "^[a-zA-Z_][a-zA-Z0-9_]*$; write $$ for a '$' that names no variable",
			 shown(name_length), seen);
		return false;
	}
	name = arena_strndup(retriever->memory, rest, name_length);
	if (!name)
		return without_memory(why);
	text = getenv(name);
	*ret = (struct retrieved){ .text = text ? text : "" };
	ret->length = strlen(ret->text);
	if (!text && fallback) {
		ret->is_default = true;
		ret->text = fallback + 2;
		ret->length = (size_t)(rest + length - ret->text);
	} else if (!text) {
		ret->unset = name;
	}
	if (strings_is_utf8(ret->text, ret->length))
		return true;
	snprintf(why, RETRIEVE_WHY_MAX,
		 "environment variable \"%.*s\" is not valid UTF-8; correct its value",
		 RETRIEVE_SHOWN_MAX, show(retriever, name, &name_length));
	return false;
}

/* For a reload on change, also when the file could not be read this time. */
static bool remember_file(struct retriever *retriever, const char *path, char why[RETRIEVE_WHY_MAX])
{
	CLEANUP_FREE char *directory = NULL;
	const char *absolute = path;

	if (*path != '/') {
		directory = get_current_dir_name();
		// Without a current directory there is nothing to watch.
		if (!directory)
			return errno != ENOMEM || without_memory(why);
		absolute = arena_printf(retriever->memory, "%s/%s", directory, path);
	}
	if (!absolute)
		return without_memory(why);
	for (size_t i = 0; i < retriever->files.count; i++)
		if (!strcmp(retriever->files.items[i], absolute))
			return true;
	if (retriever->files.count >= RETRIEVE_FILES_MAX) {
		snprintf(why, RETRIEVE_WHY_MAX, "more than %d files are read; name fewer",
			 RETRIEVE_FILES_MAX);
		return false;
	}
	if (retriever->note_file)
		retriever->note_file(absolute, retriever->context);
	return VECTOR_PUSH(&retriever->files, absolute) || without_memory(why);
}

bool retrieved_make_value(const struct retriever *retriever, struct retrieved *file,
			  char why[RETRIEVE_WHY_MAX])
{
	const char *seen = retriever->shown ? retriever->shown : file->file;

	if (!file->owned)
		return true;
	if (file->length && file->owned[file->length - 1] == '\n')
		file->length--;
	if (file->length && file->owned[file->length - 1] == '\r')
		file->length--;
	file->owned[file->length] = '\0';
	if (memchr(file->text, '\0', file->length))
		snprintf(why, RETRIEVE_WHY_MAX,
			 "the file '%.*s' contains NUL bytes; name a text file", RETRIEVE_SHOWN_MAX,
			 seen);
	else if (!strings_is_utf8(file->text, file->length))
		snprintf(why, RETRIEVE_WHY_MAX,
			 "the file '%.*s' is not valid UTF-8; save it as UTF-8 text",
			 RETRIEVE_SHOWN_MAX, seen);
	else
		return true;
	return false;
}

/* @result is file_read's. */
static void explain_file(const struct retriever *retriever, const char *path, int result,
			 char why[RETRIEVE_WHY_MAX])
{
	const char *seen = retriever->shown ? retriever->shown : path;

	if (result == -EFBIG)
		snprintf(why, RETRIEVE_WHY_MAX,
			 "the file '%.*s' is larger than %d bytes; shorten it", RETRIEVE_SHOWN_MAX,
			 seen, YAML_FILE_MAX);
	else if (result == -ETIMEDOUT)
		snprintf(why, RETRIEVE_WHY_MAX,
			 "the file '%.*s' does not end within %d s; does anything write to it?",
			 RETRIEVE_SHOWN_MAX, seen, FILE_READ_SECONDS);
	else
		snprintf(why, RETRIEVE_WHY_MAX,
			 "unable to read the file %s%.*s: %s; name a readable file",
			 retriever->shown ? "" : "file:", RETRIEVE_SHOWN_MAX, seen,
			 strerror(-result));
}

static bool retrieve_file(struct retriever *retriever, const char *rest, size_t length,
			  struct retrieved *ret, char why[RETRIEVE_WHY_MAX])
{
	struct retrieved file = { .file = arena_strndup(retriever->memory, rest, length) };
	int result;

	if (!file.file)
		return without_memory(why);
	if (!retriever->reads_files) {
		const char *seen = show(retriever, rest, &length);

		snprintf(why, RETRIEVE_WHY_MAX,
			 "unable to read the file file:%.*s: files are not read here",
			 shown(length), seen);
		return false;
	}
	if (!remember_file(retriever, file.file, why))
		return false;
	result = file_read(AT_FDCWD, file.file, YAML_FILE_MAX, &file.owned, &file.length);
	if (result == -ENOMEM)
		return without_memory(why);
	if (result < 0) {
		explain_file(retriever, file.file, result, why);
		return false;
	}
	file.text = file.owned;
	*ret = file;
	return true;
}

bool retrieve(struct retriever *retriever, enum retrieve_scheme scheme, const char *rest,
	      size_t length, struct retrieved *ret, char why[RETRIEVE_WHY_MAX])
{
	why[0] = '\0';
	switch (scheme) {
	case RETRIEVE_ENV:
		return retrieve_variable(retriever, rest, length, ret, why);
	case RETRIEVE_FILE:
		return retrieve_file(retriever, rest, length, ret, why);
	case RETRIEVE_YAML:
		break;
	}
	*ret = (struct retrieved){ .text = rest, .length = length };
	return true;
}
