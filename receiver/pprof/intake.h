/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a pprof file into the pipelines, wherever it comes from: decoded within bounds, told
 * where it comes from, handed on, booked. Any thread.
 */
#pragma once

#include "base/base.h"

#include <profcol/component.h>

enum intake_source { INTAKE_FILE, INTAKE_REMOTE, INTAKE_SERVER, INTAKE_SOURCES };

/* The size that a file from elsewhere may have, as it comes. */
#define INTAKE_MAX_BYTES ((size_t)64 << 20)

struct intake {
	const struct profcol_host *host; /* borrowed */
	struct memory_budget budget;     /* for all that is read and decoded at the same time */
	struct {
		struct profcol_metric *accepted, *refused, *unread;
		_Atomic uint64_t notice_after_ns; /* CLOCK_MONOTONIC: no line about these before */
	} sources[INTAKE_SOURCES];
};

/* The server and the name of a profile; texts are borrowed. */
struct intake_origin {
	const char *address, *port, *path, *name;
	const char *container_id, *pod_uid; /* in which the server is; "" = not known, or none */
};

void intake_init(struct intake *intake, const struct profcol_host *host);

/* Registers the metrics of a source that is configured. */
void intake_register(struct intake *intake, enum intake_source source);

/*
 * @bytes, of which a file has @largest at most, as a batch; @origin may be NULL. What it takes in
 * memory is taken of @share. BAD_DATA and NO_MEMORY as pprof_decode().
 */
PROFCOL_MUST_CHECK struct profcol_error *intake_decode(struct intake *intake, const uint8_t *bytes,
						       size_t length, size_t largest,
						       const struct intake_origin *origin,
						       struct memory_share *share,
						       struct profcol_batch **ret);

/* Takes @batch. The error is that of who follows; it is booked. */
PROFCOL_MUST_CHECK struct profcol_error *
intake_pass_on(struct intake *intake, enum intake_source source, struct profcol_batch *batch);

/*
 * Something of @name could not be had, or was refused by who follows, which is counted there:
 * counts it, and logs a line a minute.
 */
void intake_refuse(struct intake *intake, enum intake_source source, const char *name,
		   const struct profcol_error *error);
