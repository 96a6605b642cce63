// SPDX-License-Identifier: Apache-2.0
#include "memory_metrics.h"

#include <stdio.h>

static const char *const results[FRAME_STATES] = {
	[FRAME_NAMED] = "named",
	[FRAME_GONE] = "gone",
	[FRAME_UNREADABLE] = "unreadable",
	[FRAME_MALFORMED] = "malformed",
	[FRAME_ENDED] = "process_ended",
	[FRAME_SILENT] = "no_answer",
	[FRAME_UNKNOWN] = "runtime_unknown",
	[FRAME_CROWDED] = "no_room",
};

static void init_runtime(struct memory_metrics *metrics, const struct profcol_host *host,
			 uint32_t number, const char *name)
{
	const struct runtime *runtime = number < RUNTIMES ? all_runtimes[number] : NULL;
	char labels[96];

	for (size_t state = 0; state < FRAME_STATES; state++) {
		if (!results[state])
			continue;
		snprintf(labels, sizeof(labels), "runtime=%s,result=%s", name, results[state]);
		metrics->results[number][state] =
			host->metric(host, PROFCOL_COUNTER, "runtime_frames", labels,
				     "Frames of language runtimes whose names were asked for, by "
				     "what became of it");
		if (!runtime || !runtime->name_thread)
			continue;
		metrics->threads[number][state] =
			host->metric(host, PROFCOL_COUNTER, "runtime_threads", labels,
				     "Times that the name of a thread of a language runtime was "
				     "read, by what became of it");
	}
}

void memory_metrics_init(struct memory_metrics *metrics, const struct profcol_host *host)
{
	*metrics = (struct memory_metrics){
		.bytes = host->metric(host, PROFCOL_GAUGE, "runtime_names_bytes", "",
				      "Memory for names of frames of language runtimes"),
		.evicted = host->metric(host, PROFCOL_COUNTER, "runtime_names_evicted", "",
					"Names that made room for others"),
		.dropped = host->metric(host, PROFCOL_COUNTER, "runtime_names_dropped", "",
					"Frames that came faster than they could be asked for"),
		.denied = host->metric(host, PROFCOL_COUNTER, "process_memory_denied", "",
				       "Times the kernel did not let the memory of a process be "
				       "read"),
	};
	for (size_t i = 0; i < RUNTIMES; i++)
		if (all_runtimes[i] && all_runtimes[i]->resolve)
			init_runtime(metrics, host, (uint32_t)i, all_runtimes[i]->name);
	init_runtime(metrics, host, RUNTIME_NONE, "perf_map");
}

void memory_metrics_count(struct memory_metrics *metrics, uint32_t runtime,
			  const struct runtime_frame *frame, enum frame_state state)
{
	struct profcol_metric *metric = NULL;

	if (runtime < RUNTIMES && frame->kind == RUNTIME_THREAD)
		metric = metrics->threads[runtime][state];
	else if (runtime < RUNTIMES && frame->kind < RUNTIME_THREAD)
		metric = metrics->results[runtime][state];
	if (metric)
		profcol_metric_add(metric, 1);
}

void memory_metrics_denied(struct memory_metrics *metrics, const struct profcol_host *host)
{
	profcol_metric_add(metrics->denied, 1);
	if (metrics->told)
		return;
	metrics->told = true;
	profcol_log_warn(host->logger,
			 "the kernel does not let the memory of a process be read, so its "
			 "interpreted and compiled code has no names; check for CAP_SYS_PTRACE, "
			 "kernel.yama.ptrace_scope=3 and other security modules (further ones are "
			 "counted only, in process_memory_denied)");
}

void memory_metrics_show(struct memory_metrics *metrics, const struct frame_names *names)
{
	profcol_metric_set(metrics->bytes, (int64_t)names->bytes);
	profcol_metric_add(metrics->evicted, (int64_t)(names->evicted - metrics->evicted_shown));
	metrics->evicted_shown = names->evicted;
	profcol_metric_add(metrics->dropped, (int64_t)(names->dropped - metrics->dropped_shown));
	metrics->dropped_shown = names->dropped;
}
