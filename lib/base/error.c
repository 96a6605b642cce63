// SPDX-License-Identifier: Apache-2.0
/* Implements include/profcol/errors.h. */
#include <profcol/errors.h>

#include "cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profcol_error {
	enum profcol_code code;
	bool counted;
	uint64_t delay_ns;
	char *message; /* owned */
};

/* Reporting that memory ran out must not need memory. Never written to, never freed. */
static struct profcol_error no_memory = {
	.code = PROFCOL_NO_MEMORY,
	.message = (char *)"out of memory",
};

/* What profcol_error_set_counted() gives for it: the mark must survive as well. */
static struct profcol_error no_memory_counted = {
	.code = PROFCOL_NO_MEMORY,
	.counted = true,
	.message = (char *)"out of memory",
};

static bool error_is_static(const struct profcol_error *error)
{
	return error == &no_memory || error == &no_memory_counted;
}

static struct profcol_error *error_with_message(enum profcol_code code, char *message)
{
	struct profcol_error *error = message ? calloc(1, sizeof(*error)) : NULL;

	if (!error) {
		free(message);
		return &no_memory;
	}
	error->code = code;
	error->message = message;
	return error;
}

static char *format_text(const char *format, va_list arguments)
{
	char *text;

	return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

struct profcol_error *profcol_error_create(enum profcol_code code, const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	message = format_text(format, arguments);
	va_end(arguments);
	return error_with_message(code, message);
}

struct profcol_error *profcol_error_errno(int errnum, const char *format, ...)
{
	CLEANUP_FREE char *context = NULL;
	char buffer[128], *message;
	va_list arguments;

	va_start(arguments, format);
	context = format_text(format, arguments);
	va_end(arguments);
	if (!context ||
	    asprintf(&message, "%s: %s", context, strerror_r(errnum, buffer, sizeof(buffer))) < 0)
		message = NULL;
	return error_with_message(errnum == ENOMEM ? PROFCOL_NO_MEMORY : PROFCOL_SYSTEM, message);
}

/* Give @error a new message, which it takes; without one it keeps the old. */
static struct profcol_error *error_replace_message(struct profcol_error *error, char *message)
{
	if (!message)
		return error;
	if (error_is_static(error)) {
		struct profcol_error *fresh = error_with_message(PROFCOL_NO_MEMORY, message);

		return error->counted ? profcol_error_set_counted(fresh) : fresh;
	}
	free(error->message);
	error->message = message;
	return error;
}

struct profcol_error *profcol_error_prefix(struct profcol_error *error, const char *format, ...)
{
	CLEANUP_FREE char *context = NULL;
	va_list arguments;
	char *message;

	if (!error)
		return NULL;
	va_start(arguments, format);
	context = format_text(format, arguments);
	va_end(arguments);
	if (!context || asprintf(&message, "%s: %s", context, error->message) < 0)
		return error;
	return error_replace_message(error, message);
}

struct profcol_error *profcol_error_join(struct profcol_error *first, struct profcol_error *second)
{
	char *message;

	if (!first || !second)
		return first ? first : second;
	if (asprintf(&message, "%s\n%s", first->message, second->message) < 0)
		message = NULL;
	first = error_replace_message(first, message);
	profcol_error_destroy(second);
	return first;
}

void profcol_error_destroy(struct profcol_error *error)
{
	if (!error || error_is_static(error))
		return;
	free(error->message);
	free(error);
}

enum profcol_code profcol_error_code(const struct profcol_error *error)
{
	return error->code;
}

const char *profcol_error_message(const struct profcol_error *error)
{
	return error->message;
}

bool profcol_error_is_retryable(const struct profcol_error *error)
{
	return error->code == PROFCOL_UNAVAILABLE || error->code == PROFCOL_THROTTLED ||
	       error->code == PROFCOL_NO_MEMORY;
}

uint64_t profcol_error_delay(const struct profcol_error *error)
{
	return error->delay_ns;
}

void profcol_error_set_delay(struct profcol_error *error, uint64_t delay_ns)
{
	if (!error_is_static(error))
		error->delay_ns = delay_ns;
}

bool profcol_error_is_counted(const struct profcol_error *error)
{
	return error->counted;
}

struct profcol_error *profcol_error_set_counted(struct profcol_error *error)
{
	if (error_is_static(error))
		return &no_memory_counted;
	error->counted = true;
	return error;
}

const char *profcol_code_name(enum profcol_code code)
{
	switch (code) {
	case PROFCOL_NO_MEMORY:
		return "no_memory";
	case PROFCOL_SYSTEM:
		return "system";
	case PROFCOL_CONFIG:
		return "config";
	case PROFCOL_BAD_DATA:
		return "bad_data";
	case PROFCOL_UNSUPPORTED:
		return "unsupported";
	case PROFCOL_UNAVAILABLE:
		return "unavailable";
	case PROFCOL_THROTTLED:
		return "throttled";
	case PROFCOL_REJECTED:
		return "rejected";
	case PROFCOL_SHUTDOWN:
		return "shutdown";
	}
	return "unknown";
}
