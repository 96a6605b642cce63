/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error type of profcol: a code that says what the caller can do, and a
 * message that grows by context on its way up ("pprof/node: create file: ...").
 *
 * A function that can fail returns `struct profcol_error *`: NULL is success,
 * anything else is owned by the caller, who passes it on, or decides and
 * destroys it. Nobody logs and returns. The lowest floor (single system calls,
 * parsers of bytes) may return a negative errno instead.
 *
 * Threads: an error belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Named by what the caller does about it, not by who failed. */
enum profcol_code {
	PROFCOL_NO_MEMORY = 1, /* an allocation or a memory budget failed */
	PROFCOL_SYSTEM,        /* the operating system refused */
	PROFCOL_CONFIG,        /* the configuration has to change */
	PROFCOL_BAD_DATA,      /* this input is broken: skip and count it */
	PROFCOL_UNSUPPORTED,   /* kernel, file or peer lacks what is needed */
	PROFCOL_UNAVAILABLE,   /* the same call may succeed later: retry */
	PROFCOL_THROTTLED,     /* as UNAVAILABLE, but not before profcol_error_delay() */
	PROFCOL_REJECTED,      /* refused for good: never retry */
	PROFCOL_SHUTDOWN,      /* the callee is stopping */
};

struct profcol_error;

#define PROFCOL_MUST_CHECK __attribute__((warn_unused_result))

/* What is declared up to the pop is the program's, also to a plugin: it is not linked with it. */
#pragma GCC visibility push(default)

/*
 * Text is lower case, failure first, subject in single quotes, no full stop;
 * it ends with the remedy where there is one ("...; mount it with ...").
 * Never returns NULL: without memory a static NO_MEMORY error is returned.
 */
struct profcol_error *profcol_error_create(enum profcol_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, warn_unused_result));

/* As above with ": " and the text of @errnum (a positive errno) appended, code SYSTEM
 * (NO_MEMORY for ENOMEM). */
struct profcol_error *profcol_error_errno(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, warn_unused_result));

/* Put "context: " in front of the message. Takes @error (may be NULL, then NULL comes back). */
struct profcol_error *profcol_error_prefix(struct profcol_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

/*
 * Join two errors: messages on a line each, code of @first unless it is NULL.
 * Takes both; either may be NULL.
 */
struct profcol_error *profcol_error_join(struct profcol_error *first, struct profcol_error *second)
	__attribute__((warn_unused_result));

/* Accepts NULL. */
void profcol_error_destroy(struct profcol_error *error);

enum profcol_code profcol_error_code(const struct profcol_error *error);

/* Borrowed until the error is prefixed, joined or destroyed. */
const char *profcol_error_message(const struct profcol_error *error);

/* True for UNAVAILABLE, THROTTLED and NO_MEMORY. */
bool profcol_error_is_retryable(const struct profcol_error *error);

/* The least delay before a retry in nanoseconds; 0 when the peer named none. */
uint64_t profcol_error_delay(const struct profcol_error *error);
void profcol_error_set_delay(struct profcol_error *error, uint64_t delay_ns);

/*
 * True once the samples that this error cost have been counted; the edge of the
 * graph nearest to the failure counts, the ones above see the mark.
 */
bool profcol_error_is_counted(const struct profcol_error *error);
/* Takes @error and returns the marked one: the same, unless it is the static NO_MEMORY error. */
struct profcol_error *profcol_error_set_counted(struct profcol_error *error)
	__attribute__((returns_nonnull));

/* Short name of a code as it appears in metrics and the exit line, e.g. "unavailable". */
const char *profcol_code_name(enum profcol_code code);

#pragma GCC visibility pop

static inline void profcol_error_cleanup(struct profcol_error **error)
{
	profcol_error_destroy(*error);
}

/* For a local that may hold an error nobody takes. */
#define PROFCOL_CLEANUP_ERROR __attribute__((cleanup(profcol_error_cleanup)))
