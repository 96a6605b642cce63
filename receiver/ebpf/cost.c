// SPDX-License-Identifier: Apache-2.0
#include "cost.h"

#include "base/base.h"

#include <sys/resource.h>
#include <time.h>

static const uint64_t HOUR_NS = 3600 * 1000000000ull;

enum {
	LEAST_UNWIND_BYTES = 4 << 20,
	/* With less the index of a large program would have to be made anew for each batch. */
	LEAST_SYMBOL_BYTES = 16 << 20,
	LEAST_INDEX_BYTES = LEAST_SYMBOL_BYTES / 4 * 3, /* of these (symbols/symbols.h) */
};

static const double MIB = 1 << 20;

static const char *const part_labels[COST_PARTS] = { "of=agent", "of=workers", "of=bpf" };

static uint64_t timeval_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

/* Of this process, but for what of the maps it has mapped. */
static uint64_t own_memory(uint64_t mapped_bytes)
{
	uint64_t bytes = 0, shared;

	worker_read_memory(0, &bytes, &shared);
	return bytes > mapped_bytes ? bytes - mapped_bytes : 0;
}

static uint64_t beyond(uint64_t bytes, uint64_t least_bytes)
{
	return bytes > least_bytes ? bytes - least_bytes : 0;
}

/* As if each kind had its least: so much can be taken from them as there is beyond the least of
 * both. */
static uint64_t tables_of(const struct cost_bpf *bpf)
{
	return LEAST_UNWIND_BYTES + LEAST_SYMBOL_BYTES +
	       beyond(bpf->tables_bytes, LEAST_UNWIND_BYTES) +
	       beyond(bpf->index_bytes, LEAST_INDEX_BYTES);
}

struct cost_reading cost_read(const struct cost_bpf *bpf, const struct worker_use *workers)
{
	struct rusage ended = { 0 };
	struct timespec own = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	getrusage(RUSAGE_CHILDREN, &ended);
	return (struct cost_reading){
		.now_ns = clock_monotonic_ns(),
		.cpu_ns = {
			[COST_AGENT] = (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec,
			[COST_WORKERS] = timeval_ns(ended.ru_utime) + timeval_ns(ended.ru_stime) +
					 workers->cpu_ns,
			[COST_BPF] = bpf->run_ns,
		},
		.memory_bytes = {
			[COST_AGENT] = own_memory(bpf->mapped_bytes),
			[COST_WORKERS] = workers->memory_bytes,
			[COST_BPF] = bpf->map_bytes,
		},
		.tables_bytes = tables_of(bpf),
	};
}

static uint64_t least_of(uint64_t configured_bytes, uint64_t least_bytes)
{
	return configured_bytes < least_bytes ? configured_bytes : least_bytes;
}

static struct cost_tables least_tables(const struct profiling_config *config)
{
	return (struct cost_tables){
		.unwind_bytes = least_of(config->unwind_memory_bytes, LEAST_UNWIND_BYTES),
		.symbol_bytes = least_of(config->symbol_memory_bytes, LEAST_SYMBOL_BYTES),
	};
}

static uint64_t part_of(uint64_t configured_bytes, uint64_t least_bytes, double share)
{
	uint64_t part = (uint64_t)((double)configured_bytes * share);

	return part > least_bytes ? part : least_bytes;
}

struct cost_tables cost_divide_tables(const struct profiling_config *config, uint64_t bytes)
{
	uint64_t most = config->unwind_memory_bytes + config->symbol_memory_bytes;
	struct cost_tables least = least_tables(config);
	double share = bytes < most ? (double)bytes / (double)most : 1;

	return (struct cost_tables){
		.unwind_bytes = part_of(config->unwind_memory_bytes, least.unwind_bytes, share),
		.symbol_bytes = part_of(config->symbol_memory_bytes, least.symbol_bytes, share),
	};
}

static void register_metrics(struct cost *cost, const struct profcol_host *host)
{
	for (size_t i = 0; i < COST_PARTS; i++) {
		cost->cpu[i] = host->metric(host, PROFCOL_COUNTER_NS, "overhead_cpu_seconds",
					    part_labels[i], "CPU time that profiling has cost");
		cost->memory[i] = host->metric(host, PROFCOL_GAUGE, "overhead_memory_bytes",
					       part_labels[i], "Memory that profiling costs");
	}
	cost->period = host->metric(host, PROFCOL_GAUGE_NS, "sampling_period_seconds", "",
				    "Time between two samples of a CPU");
	cost->lowered = host->metric(host, PROFCOL_COUNTER, "overhead_rate_changes",
				     "direction=lower", "Times the rate of samples was changed");
	cost->raised = host->metric(host, PROFCOL_COUNTER, "overhead_rate_changes",
				    "direction=raise", "Times the rate of samples was changed");
}

static uint64_t sum_of(const uint64_t parts[COST_PARTS])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < COST_PARTS; i++)
		sum += parts[i];
	return sum;
}

static struct overhead_cost overhead_cost_of(const struct cost_reading *reading)
{
	return (struct overhead_cost){
		.now_ns = reading->now_ns,
		.cpu_ns = sum_of(reading->cpu_ns),
		.memory_bytes = sum_of(reading->memory_bytes),
		.tables_bytes = reading->tables_bytes,
	};
}

static void show(struct cost *cost, const struct cost_reading *reading)
{
	for (size_t i = 0; i < COST_PARTS; i++) {
		profcol_metric_set(cost->cpu[i], (int64_t)reading->cpu_ns[i]);
		profcol_metric_set(cost->memory[i], (int64_t)reading->memory_bytes[i]);
	}
	profcol_metric_set(cost->period, (int64_t)overhead_period_ns(&cost->overhead));
}

void cost_init(struct cost *cost, const struct profcol_host *host,
	       const struct profiling_config *config, const struct cost_reading *reading)
{
	struct cost_tables least = least_tables(config);
	struct overhead_limits limits = {
		.memory_bytes = config->overhead.memory_bytes,
		.most_rate = (uint64_t)config->samples_per_second,
		.most_tables = config->unwind_memory_bytes + config->symbol_memory_bytes,
		.least_tables = least.unwind_bytes + least.symbol_bytes,
	};
	struct overhead_cost now = overhead_cost_of(reading);

	*cost = (struct cost){ .logger = host->logger, .hour = *reading };
	// It has been validated.
	(void)overhead_parse_cpu(config->overhead.cpu, &limits.cpu);
	cost->limited = limits.cpu > 0 || limits.memory_bytes;
	overhead_init(&cost->overhead, &limits, &now);
	register_metrics(cost, host);
	show(cost, reading);
}

static double percent_of_hour(const struct cost *cost, const struct cost_reading *reading,
			      enum cost_part part)
{
	return 100.0 * (double)(reading->cpu_ns[part] - cost->hour.cpu_ns[part]) /
	       (double)(reading->now_ns - cost->hour.now_ns);
}

static void log_hour(struct cost *cost, const struct cost_reading *reading)
{
	const uint64_t *memory = reading->memory_bytes;

	profcol_log_info(cost->logger,
			 "cost of the last hour: %.2f %% of a CPU in profcol, %.2f %% in its "
			 "workers, %.2f %% in BPF programs; memory now: %.1f MiB in profcol, "
			 "%.1f MiB in its workers, %.1f MiB in BPF maps; %.3g samples a second "
			 "on each CPU",
			 percent_of_hour(cost, reading, COST_AGENT),
			 percent_of_hour(cost, reading, COST_WORKERS),
			 percent_of_hour(cost, reading, COST_BPF), (double)memory[COST_AGENT] / MIB,
			 (double)memory[COST_WORKERS] / MIB, (double)memory[COST_BPF] / MIB,
			 cost->overhead.rate);
	cost->hour = *reading;
}

static void log_rate(struct cost *cost, const struct overhead_decision *decision,
		     const struct overhead_cost *now, double from)
{
	const struct overhead_limits *limits = &cost->overhead.limits;
	double rate = cost->overhead.rate;

	switch (decision->rate_reason) {
	case OVERHEAD_CPU:
		profcol_log_info(cost->logger,
				 "lowering the rate from %.3g to %.3g samples a second: profiling "
				 "takes %.2f %% of a CPU, overhead::cpu allows %.2f %%",
				 from, rate, 100 * decision->cpu, 100 * limits->cpu);
		break;
	case OVERHEAD_MEMORY:
		profcol_log_info(cost->logger,
				 "lowering the rate from %.3g to %.3g samples a second: profiling "
				 "takes %.1f MiB, overhead::memory allows %.1f MiB",
				 from, rate, (double)now->memory_bytes / MIB,
				 (double)limits->memory_bytes / MIB);
		break;
	case OVERHEAD_ROOM:
		profcol_log_info(cost->logger,
				 "raising the rate from %.3g to %.3g samples a second: profiling "
				 "takes less than overhead allows",
				 from, rate);
		break;
	case OVERHEAD_VAIN:
		profcol_log_warn(cost->logger,
				 "raising the rate from %.3g to %.3g samples a second: fewer free "
				 "too little memory; profiling takes %.1f MiB, overhead::memory "
				 "allows %.1f MiB; raise it, or profile fewer processes with "
				 "`select`",
				 from, rate, (double)now->memory_bytes / MIB,
				 (double)limits->memory_bytes / MIB);
		break;
	case OVERHEAD_STAYS:
		break;
	}
}

static void log_floor(struct cost *cost, const struct overhead_decision *decision,
		      const struct overhead_cost *now)
{
	const struct overhead_limits *limits = &cost->overhead.limits;

	if (decision->floor_reason == OVERHEAD_CPU)
		profcol_log_warn(cost->logger,
				 "profiling takes %.2f %% of a CPU at the lowest rate, "
				 "overhead::cpu allows %.2f %%; raise it, or profile fewer "
				 "processes with `select`",
				 100 * decision->cpu, 100 * limits->cpu);
	else if (decision->floor_reason == OVERHEAD_MEMORY)
		profcol_log_warn(cost->logger,
				 "profiling takes %.1f MiB at the lowest rate, overhead::memory "
				 "allows %.1f MiB; raise it, or profile fewer processes with "
				 "`select`",
				 (double)now->memory_bytes / MIB,
				 (double)limits->memory_bytes / MIB);
}

static void log_tables(struct cost *cost, const struct overhead_decision *decision,
		       const struct overhead_cost *now)
{
	double tables = (double)cost->overhead.tables_bytes / MIB;

	if (decision->tables_reason == OVERHEAD_MEMORY)
		profcol_log_info(cost->logger,
				 "lowering the memory for unwind tables and names of functions to "
				 "%.1f MiB: profiling takes %.1f MiB, overhead::memory allows "
				 "%.1f MiB",
				 tables, (double)now->memory_bytes / MIB,
				 (double)cost->overhead.limits.memory_bytes / MIB);
	else if (decision->tables_reason == OVERHEAD_ROOM)
		profcol_log_info(cost->logger,
				 "raising the memory for unwind tables and names of functions to "
				 "%.1f MiB: profiling takes less than overhead::memory allows",
				 tables);
}

static bool check_limits(struct cost *cost, const struct cost_reading *reading)
{
	struct overhead_cost now = overhead_cost_of(reading);
	double from = cost->overhead.rate;
	struct overhead_decision decision = overhead_check(&cost->overhead, &now);

	if (decision.rate_reason != OVERHEAD_STAYS)
		profcol_metric_add(cost->overhead.rate < from ? cost->lowered : cost->raised, 1);
	log_rate(cost, &decision, &now, from);
	log_floor(cost, &decision, &now);
	log_tables(cost, &decision, &now);
	return decision.rate_reason != OVERHEAD_STAYS || decision.tables_reason != OVERHEAD_STAYS;
}

bool cost_check(struct cost *cost, const struct cost_reading *reading, uint64_t *period_ns_ret,
		uint64_t *tables_bytes_ret)
{
	struct cost_reading now = *reading;
	bool changed = false;

	if (now.cpu_ns[COST_WORKERS] < cost->workers_ns)
		now.cpu_ns[COST_WORKERS] = cost->workers_ns;
	cost->workers_ns = now.cpu_ns[COST_WORKERS];
	if (cost->limited)
		changed = check_limits(cost, &now);
	show(cost, &now);
	if (now.now_ns - cost->hour.now_ns >= HOUR_NS)
		log_hour(cost, &now);
	*period_ns_ret = overhead_period_ns(&cost->overhead);
	*tables_bytes_ret = cost->overhead.tables_bytes;
	return changed;
}
