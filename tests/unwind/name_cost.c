// SPDX-License-Identifier: Apache-2.0
/*
 * What it costs to name functions of files, in real workers:
 *
 *   name_cost FILE[=DEBUG_FILE]...
 *
 * A line each: the time until its index is there, the worker's greatest memory meanwhile, the
 * index's size and where the names are from; then the time of one question about one address, at
 * random among the file's code, of 1,000.
 */
#include "tests/unit/ebpf/symbols/fake_host.h"

#include "receiver/ebpf/symbols/file_index.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 1000 };

static const struct origin machine = { .owner = { 0, 0 } };

struct run {
	struct fake_host fake;
	struct worker_pool *pool;
	struct worker_segment code; /* the largest piece */
	struct worker_index index;
	enum worker_outcome outcome;
	size_t named;
};

static void take(void *context, const struct worker_answer *answer)
{
	struct run *run = context;

	run->outcome = answer->outcome;
	if (answer->index.bytes)
		run->index = answer->index;
	for (size_t i = 0; i < answer->segment_count; i++)
		if (answer->segments[i].executable &&
		    answer->segments[i].file_bytes > run->code.file_bytes)
			run->code = answer->segments[i];
	for (size_t i = 0; i < answer->range_count; i++)
		run->named += answer->ranges[i].kind == WORKER_FUNCTION;
}

static uint64_t wait_answer(struct run *run, uint64_t since_ns)
{
	while (worker_pool_is_busy(run->pool))
		worker_pool_run(run->pool, clock_monotonic_ns() + 60000000000ull);
	return clock_monotonic_ns() - since_ns;
}

/* VmHWM of @pid, kB. */
static long peak_of(pid_t pid)
{
	char path[64], line[128];
	long peak = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &peak) == 1)
			break;
	if (file)
		fclose(file);
	return peak;
}

static void ask(struct run *run, int index, const char *name)
{
	uint64_t sum = 0, most = 0, first = 0;

	if (!run->code.file_bytes)
		return;
	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t offset =
			run->code.file_offset +
			((uint64_t)rand() << 16 ^ (uint64_t)rand()) % run->code.file_bytes;
		uint64_t begin = clock_monotonic_ns(), took;

		if (!worker_pool_ask(run->pool, 1, machine, fcntl(index, F_DUPFD_CLOEXEC, 0),
				     &offset, 1))
			return;
		took = wait_answer(run, begin);
		first = i ? first : took;
		sum += took;
		most = took > most ? took : most;
	}
	printf("%s: an address: first %llu us, mean %llu us, most %llu us; %zu of %d have a name\n",
	       name, (unsigned long long)first / 1000, (unsigned long long)sum / 1000 / QUESTIONS,
	       (unsigned long long)most / 1000, run->named, QUESTIONS);
}

static void measure(char *name)
{
	static const char *const sources[] = { "symtab", "debugdata", "debug file", "dynsym",
					       "none" };
	char *debug = strchr(name, '=');
	struct worker_index_files files = { .debug = -1 };
	static struct run run;
	uint64_t begin;
	int index;

	memset(&run, 0, sizeof(run));
	fake_host_init(&run.fake);
	run.pool = worker_pool_create(&run.fake.host, "purpose=cost", WORKER_UID, take, &run);
	profcol_error_destroy(worker_pool_start(run.pool));
	if (debug) {
		*debug++ = '\0';
		files.debug = open(debug, O_RDONLY | O_CLOEXEC);
	}
	files.file = open(name, O_RDONLY | O_CLOEXEC);
	files.index = file_index_begin();
	index = fcntl(files.index, F_DUPFD_CLOEXEC, 0);
	begin = clock_monotonic_ns();
	if (files.file < 0 || index < 0 || !worker_pool_ask_index(run.pool, 1, machine, &files)) {
		fprintf(stderr, "%s: cannot be asked about\n", name);
		return;
	}
	begin = wait_answer(&run, begin);
	printf("%s: outcome %d, %.3f s, worker's peak %ld KiB, index %llu KiB from %s\n", name,
	       (int)run.outcome, (double)begin / 1e9, peak_of(run.fake.helpers[0]),
	       (unsigned long long)run.index.bytes / 1024, sources[run.index.source]);
	if (run.outcome == WORKER_ANSWERED && !file_index_finish(index, run.index.bytes))
		ask(&run, index, name);
	close(index);
	worker_pool_destroy(run.pool);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	return 0;
}
