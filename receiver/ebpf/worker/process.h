/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker process seen from the profiler: a socket, and at most one request at
 * a time. Nothing here blocks, but for worker_tell_end. One thread at a time.
 */
#pragma once

#include "origin.h"
#include "protocol.h"

#include <profcol/component.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct worker_request {
	struct worker_request *next;
	uint32_t file;
	struct origin origin;
	uint64_t since_ns;           /* CLOCK_MONOTONIC, when it was asked */
	int fds[PROTOCOL_MAX_FILES]; /* owned; -1: none, or sent */
	/* as sent: */
	struct protocol_request head;
	uint64_t asked[]; /* offsets, or numbers of pages */
};

void worker_request_destroy(struct worker_request *request); /* accepts NULL */

enum worker_state {
	WORKER_NONE,
	WORKER_STARTING, /* has not said that it is shut in */
	WORKER_IDLE,
	WORKER_BUSY,
};

struct worker_process {
	enum worker_state state;
	struct origin
		origin; /* whose bytes it reads (OWNER_NOBODY: none yet), and where the last lay */
	int socket;     /* owned */
	pid_t pid;      /* ours to reap */
	uint64_t since_ns; /* of the last step forward: state, request sent, answer begun */
	/* When the worker was seen to be late; of an earlier step unless after since_ns. */
	uint64_t late_ns;
	struct worker_request *request; /* owned; while BUSY */
	size_t sent;                    /* bytes of head and asked */
	struct protocol_header header;
	size_t received; /* bytes of header and body */
	void *body;      /* owned; complete when worker_advance says so */
};

enum worker_event {
	WORKER_WAITS,
	WORKER_SPOKE,   /* a whole message is in header and body */
	WORKER_ENDED,   /* it closed the socket: it is dead or dying */
	WORKER_BABBLED, /* what it sends is no message */
};

/* @process is NONE. On success it is STARTING, as user @uid if it can be. */
PROFCOL_MUST_CHECK struct profcol_error *worker_start(struct worker_process *process,
						      const struct profcol_host *host, uint32_t uid,
						      uint64_t now_ns);

/* Hand @request (taken) to an IDLE process; worker_advance sends it. */
void worker_give(struct worker_process *process, struct worker_request *request, uint64_t now_ns);

/* Part of a request is still to be sent. */
bool worker_is_sending(const struct worker_process *process);

/* Send and receive as much as goes without waiting. */
enum worker_event worker_advance(struct worker_process *process, uint64_t now_ns);

/* The message is dealt with: IDLE again. */
void worker_rest(struct worker_process *process, uint64_t now_ns);

/* How a process came to its end that has closed its socket; waits a moment for it to be over. */
void worker_tell_end(const struct worker_process *process, char *text, size_t size);

/* End it at once and leave @process NONE. Returns the pid if it could not be reaped yet, else 0. */
pid_t worker_kill(struct worker_process *process);
