/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to a server of the cluster, the API server or a kubelet, and what came of it. The
 * body goes to a parser as it comes. Private to the source. Any thread.
 */
#pragma once

#include "source_feed.h"

enum { API_REASON_MAX = 512 };

struct api_call {
	struct hub *hub;    /* borrowed, as all below */
	const char *target; /* "/api/v1/pods?limit=500" */
	const char *accept;
	struct pod_parse *parse;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	uint64_t idle_ns;

	/* Bytes of a success, also when it broke off. */
	uint64_t received;
};

/* How it went. */
struct api_outcome {
	bool fine;
	bool stopped;                /* the source is to stop; nothing else counts */
	int status;                  /* of HTTP; 0 = there was no answer, or only a part of it */
	bool broken;                 /* the answer was not what was expected */
	uint64_t delay_ns;           /* that the server wants before the next try; 0 = none */
	char reason[API_REASON_MAX]; /* when it is not fine */
};

struct api_outcome api_call(struct api_call *call);
