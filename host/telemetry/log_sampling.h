/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thins out messages that repeat, as the Collector does: of each message of a component the
 * first few of a tick go out, then every so-manyth. Unlike there, it is told how many did
 * not: by the next line of that message that goes out, or by a line of its own.
 *
 * Threads: any.
 */
#pragma once

#include <profcol/logging.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Messages remembered; another one takes the place of the one not heard for longest. */
enum { LOG_SAMPLING_SLOTS = 128, LOG_SAMPLING_TEXT = 120, LOG_SAMPLING_ID = 80 };

/* Lines that were held back. */
struct log_suppressed {
	uint64_t count;
	enum profcol_level level;
	char id[LOG_SAMPLING_ID];
	char text[LOG_SAMPLING_TEXT]; /* of the first of the tick, as much as fits */
};

struct log_repeat {
	uint64_t key;      /* 0: free */
	uint64_t begun_ns; /* CLOCK_MONOTONIC, of the tick */
	uint64_t seen;     /* in this tick */
	struct log_suppressed held;
};

struct log_sampling {
	pthread_mutex_t lock;
	bool enabled;
	uint64_t tick_ns;
	int64_t initial, thereafter; /* thereafter 0: none after the initial */
	struct log_repeat repeats[LOG_SAMPLING_SLOTS];
};

void log_sampling_init(struct log_sampling *sampling);
void log_sampling_deinit(struct log_sampling *sampling);

/* Not while another thread is in one of the functions below. What was counted stays. */
void log_sampling_configure(struct log_sampling *sampling, bool enabled, uint64_t tick_ns,
			    int64_t initial, int64_t thereafter);

/*
 * Tells messages apart: by the format's address, or, where the format begins with a conversion,
 * by the text but for its digits.
 */
uint64_t log_sampling_key(enum profcol_level level, const char *id, const char *format,
			  const char *text);

/*
 * May this line out? Then *@suppressed_ret is how many of its kind did not go before it.
 * @evicted_ret gets a count that found no such line (count 0: none).
 */
bool log_sampling_admit(struct log_sampling *sampling, uint64_t key, enum profcol_level level,
			const char *id, const char *text, uint64_t now_ns, uint64_t *suppressed_ret,
			struct log_suppressed *evicted_ret);

/* The next count whose tick is over at @now_ns (UINT64_MAX: any); false when there is none. */
bool log_sampling_take_expired(struct log_sampling *sampling, uint64_t now_ns,
			       struct log_suppressed *ret);
