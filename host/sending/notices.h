/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log says about sending: the Collector's lines, but no stream of them. What has
 * not been said yet is said at once; the same again (numbers in it aside) at most once a
 * minute (an hour for remarks with a success), with how many it stands for; and one line when
 * sending works again. Keeps the instance's status as well. Private to the folder. Any thread.
 */
#pragma once

#include <profcol/component.h>

#include <pthread.h>

/* Different texts of one kind that are said in a minute; what is beyond is only counted. */
enum { NOTICE_TEXTS = 8 };

struct notice_text {
	uint64_t hash;
	uint64_t said_ns;         /* CLOCK_MONOTONIC; 0 = never */
	uint64_t events, samples; /* not said yet */
};

/* One kind. */
struct notice {
	uint64_t silence_ns; /* between two lines of the same text */
	struct notice_text texts[NOTICE_TEXTS];
};

struct notices {
	const struct profcol_host *host; /* borrowed */
	pthread_mutex_t lock;            /* guards what follows */
	struct notice retry, drop, refusal, rejection;
	bool troubled; /* as the status was reported last */
};

void notices_init(struct notices *notices, const struct profcol_host *host);
void notices_deinit(struct notices *notices);

/* An attempt failed; the next follows in @wait_ns. @error is borrowed, also below. */
void notices_retry(struct notices *notices, const struct profcol_error *error, uint64_t wait_ns);
/* Samples were given up. @remedy begins with "; ", or is empty. */
void notices_drop(struct notices *notices, const struct profcol_error *error, const char *cause,
		  uint64_t samples, const char *remedy);
/* The queue did not let samples in. */
void notices_refuse(struct notices *notices, const struct profcol_error *error, uint64_t samples);
/* The peer took a request but for @rejected samples of it. @remark is the peer's, or NULL. */
void notices_reject(struct notices *notices, uint64_t rejected, const char *remark);
void notices_success(struct notices *notices);
