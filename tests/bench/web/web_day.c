// SPDX-License-Identifier: Apache-2.0
// web_day [--hours H] [--memory MIB] FILE: what the exporter `web` keeps of H hours (24) of the
// requests in FILE, each behind its length in 4 bytes, big-endian, which come again and again, one
// every five seconds of a time that the program makes up. It prints JSON: memory, what is kept,
// what was evicted, CPU time of taking in and of a query over all. It ends with 1 where the sum of
// samples is not what went in, or memory is more than allowed.
#include "history.h"
#include "parameters.h"
#include "query.h"

#include "base/base.h"
#include "flame/flame.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_FILE_BYTES = 1 << 30, LENGTH_BYTES = 4, INTERVAL_S = 5, HOUR_S = 3600 };

struct day {
	char *file;                             /* owned */
	VECTOR(struct profcol_batch *) batches; /* owned */
	struct history *history;                /* owned */
	uint64_t memory_bytes;
	uint64_t samples;    /* that have gone in */
	uint64_t peak_bytes; /* of the history */
	uint64_t intake_ns;  /* CPU time */
};

static void fail(const char *what, const char *text)
{
	fprintf(stderr, "web_day: %s: %s\n", what, text);
	exit(1);
}

static void must(const char *what, struct profcol_error *error)
{
	if (error)
		fail(what, profcol_error_message(error));
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * PROFCOL_SECOND + (uint64_t)now.tv_nsec;
}

static void read_batches(struct day *day, const char *path)
{
	const struct otlp_decode_limits limits = { .max_memory = SIZE_MAX };
	size_t length;

	if (file_read(AT_FDCWD, path, MAX_FILE_BYTES, &day->file, &length) < 0)
		fail(path, "cannot be read");
	for (size_t at = 0; length - at > LENGTH_BYTES;) {
		const uint8_t *bytes = (const uint8_t *)day->file + at;
		size_t frame = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 |
			       (size_t)bytes[2] << 8 | bytes[3];
		struct profcol_batch *batch = NULL;

		at += LENGTH_BYTES;
		if (frame > length - at)
			fail(path, "has no requests behind their lengths");
		must(path, otlp_decode(bytes + LENGTH_BYTES, frame, &limits, &batch));
		if (!VECTOR_PUSH(&day->batches, batch))
			fail(path, "no memory");
		at += frame;
	}
	if (!day->batches.count)
		fail(path, "has no requests");
}

/* Is all that went in there, or booked, and within the bound? */
static void check(struct day *day)
{
	struct history_figures figures = history_figures(day->history);

	if (figures.samples + figures.evicted_samples + figures.expired_samples != day->samples)
		fail("sum", "samples are missing");
	if (figures.memory_bytes > day->memory_bytes)
		fail("memory", "more than is allowed");
	if (figures.memory_bytes > day->peak_bytes)
		day->peak_bytes = figures.memory_bytes;
}

/* Times of the requests lie in the future of the time that is made up, and count as now. */
static void live(struct day *day, uint64_t begin_s, uint64_t hours)
{
	for (uint64_t at_s = 0, i = 0; at_s < hours * HOUR_S; at_s += INTERVAL_S, i++) {
		const struct profcol_batch *batch = day->batches.items[i % day->batches.count];
		uint64_t now_ns = (begin_s + at_s) * PROFCOL_SECOND, before = cpu_ns();

		must("add", history_add(day->history, batch, NULL, now_ns));
		history_age(day->history, now_ns);
		day->intake_ns += cpu_ns() - before;
		day->samples += profcol_batch_events(batch);
		check(day);
	}
}

/* CPU time until @query over all that is kept has its tree. */
static uint64_t query_ns(const struct day *day, const char *query, uint64_t now_ns)
{
	FLAME_CLEANUP struct flame *flame = NULL;
	struct parameters parameters;
	struct query_result result, base;
	uint64_t before = cpu_ns();

	must(query, parameters_init(&parameters, query, now_ns));
	must(query, query_flame(day->history, &parameters, UINT64_MAX, &flame, &result, &base));
	parameters_deinit(&parameters);
	if (flame_total(flame, FLAME_NOW) <= 0)
		fail(query, "nothing was found");
	return cpu_ns() - before;
}

static void print(const struct day *day, uint64_t hours, uint64_t now_ns)
{
	struct history_figures figures = history_figures(day->history);
	double covered_h = (double)(figures.end_ns - figures.begin_ns) / 1e9 / HOUR_S;

	printf("{\"hours\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"kept_samples\": %" PRIu64
	       ", \"evicted_samples\": %" PRIu64 ", \"kept_hours\": %.1f, \"slices\": %" PRIu64
	       ", \"rows\": %" PRIu64 ", \"memory_bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64
	       ", \"intake_us_a_batch\": %.1f, \"query_all_ms\": %.1f, \"query_where_ms\": %.1f}\n",
	       hours, day->samples, figures.samples, figures.evicted_samples, covered_h,
	       figures.slices, figures.rows, figures.memory_bytes, day->peak_bytes,
	       (double)day->intake_ns / 1e3 / (double)(hours * HOUR_S / INTERVAL_S),
	       (double)query_ns(day, "", now_ns) / 1e6,
	       (double)query_ns(day, "where=frame.function+!=+%22nothing%22", now_ns) / 1e6);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "hours", required_argument, NULL, 'h' },
						 { "memory", required_argument, NULL, 'm' },
						 {} };
	uint64_t hours = 24, memory_mib = 32, begin_s = 1600000000;
	struct day day = { 0 };
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (letter != 'h' && letter != 'm')
			return 2;
		*(letter == 'h' ? &hours : &memory_mib) = strtoull(optarg, NULL, 10);
	}
	if (optind + 1 != argc || !hours) {
		fputs("usage: web_day [--hours H] [--memory MIB] FILE\n", stderr);
		return 2;
	}
	day.memory_bytes = memory_mib << 20;
	read_batches(&day, argv[optind]);
	day.history = history_create(&(struct history_settings){
		.retention_ns = hours * HOUR_S * PROFCOL_SECOND,
		.memory_bytes = day.memory_bytes,
	});
	if (!day.history)
		fail("history", "no memory");
	live(&day, begin_s, hours);
	print(&day, hours, (begin_s + hours * HOUR_S) * PROFCOL_SECOND);
	history_destroy(day.history);
	for (size_t i = 0; i < day.batches.count; i++)
		profcol_batch_unref(day.batches.items[i]);
	VECTOR_DEINIT(&day.batches);
	free(day.file);
	return 0;
}
