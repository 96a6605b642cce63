// SPDX-License-Identifier: Apache-2.0
#include "tables_metrics.h"

#include <stdio.h>

static const char *const unsupported_labels[UNWIND_UNSUPPORTED_COUNT] = {
	[UNWIND_BAD_PROGRAM] = "kind=bad_program",
	[UNWIND_CFA_EXPRESSION] = "kind=cfa_expression",
	[UNWIND_RA_EXPRESSION] = "kind=ra_expression",
	[UNWIND_FP_EXPRESSION] = "kind=fp_expression",
	[UNWIND_RANGE] = "kind=offset_range",
	[UNWIND_OTHER_STACK] = "kind=other_stack",
};

static struct profcol_metric *runtime_metric(const struct profcol_host *host,
					     const struct runtime *runtime, const char *state)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "runtime=%s,state=%s", runtime->name, state);
	return host->metric(host, PROFCOL_GAUGE, "runtime_processes", labels,
			    "Processes of a language runtime, by whether it is known where its "
			    "code lies");
}

static const char *const refusals[RUNTIME_REFUSALS] = {
	[RUNTIME_REFUSED_VERSION] = "version",
	[RUNTIME_REFUSED_LAYOUT] = "layout",
	[RUNTIME_REFUSED_MEMORY] = "memory",
};

static struct profcol_metric *refused_metric(const struct profcol_host *host,
					     const struct runtime *runtime, const char *reason)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "runtime=%s,reason=%s", runtime->name, reason);
	return host->metric(host, PROFCOL_COUNTER, "runtime_processes_refused", labels,
			    "Processes of a language runtime of whose frames, or labels, nothing "
			    "is known, by why");
}

static struct profcol_metric *walk_metric(const struct profcol_host *host,
					  const struct runtime *runtime)
{
	char labels[64];

	snprintf(labels, sizeof(labels), "runtime=%s", runtime->name);
	return host->metric(host, PROFCOL_COUNTER, "runtime_walks_refused", labels,
			    "Programs that walk stacks of a language runtime and that the kernel "
			    "has refused");
}

/* Is there anything about it that may be refused? */
static bool is_refusable(const struct runtime *runtime)
{
	return runtime->attach || runtime->foresee;
}

static void init_runtimes(struct tables_metrics *metrics, const struct profcol_host *host)
{
	for (size_t i = 0; i < RUNTIMES; i++) {
		if (!all_runtimes[i])
			continue;
		metrics->runtimes[i].known = runtime_metric(host, all_runtimes[i], "known");
		metrics->runtimes[i].unknown = runtime_metric(host, all_runtimes[i], "unknown");
		metrics->runtimes[i].walks_refused = walk_metric(host, all_runtimes[i]);
		for (size_t j = 0; is_refusable(all_runtimes[i]) && j < RUNTIME_REFUSALS; j++)
			if (refusals[j])
				metrics->runtimes[i].refused[j] =
					refused_metric(host, all_runtimes[i], refusals[j]);
	}
}

static void show_runtime(const struct tables_runtime_metrics *metrics,
			 const struct attachments_counts *counts)
{
	if (!metrics->known)
		return;
	profcol_metric_set(metrics->known, (int64_t)counts->known);
	profcol_metric_set(metrics->unknown, (int64_t)(counts->count - counts->known));
	for (size_t i = 0; i < RUNTIME_REFUSALS; i++)
		if (metrics->refused[i])
			profcol_metric_set(metrics->refused[i], (int64_t)counts->refused[i]);
}

void tables_metrics_init(struct tables_metrics *metrics, const struct profcol_host *host)
{
	*metrics = (struct tables_metrics){
		.memory = host->metric(host, PROFCOL_GAUGE, "unwind_memory_bytes", "",
				       "Memory of the kernel that was made for unwind tables"),
		.used = host->metric(host, PROFCOL_GAUGE, "unwind_memory_used_bytes", "",
				     "Part of unwind_memory_bytes that holds tables"),
		.files = host->metric(host, PROFCOL_GAUGE, "unwind_files", "",
				      "Files of sampled programs that are known to the unwinder"),
		.pages = host->metric(host, PROFCOL_GAUGE, "unwind_pages", "",
				      "Pages of 64 KiB of code whose unwind rules are held"),
		.processes = host->metric(host, PROFCOL_GAUGE, "unwind_processes", "",
					  "Processes whose memory the unwinder knows"),
		.built = host->metric(host, PROFCOL_COUNTER, "unwind_pages_built", "",
				      "Pages of unwind rules that were brought in"),
		.evicted = host->metric(host, PROFCOL_COUNTER, "unwind_pages_evicted", "",
					"Pages dropped to stay within unwind_memory"),
		.refused = host->metric(host, PROFCOL_COUNTER, "unwind_pages_refused", "",
					"Pages there was no room for in unwind_memory"),
		.failed = host->metric(host, PROFCOL_COUNTER, "unwind_pages_failed", "",
				       "Pages whose unwind rules cannot be read"),
		.notes_dropped = host->metric(host, PROFCOL_COUNTER, "unwind_notes_dropped", "",
					      "Misses that came faster than they could be dealt "
					      "with"),
		.ranges_dropped = host->metric(host, PROFCOL_COUNTER, "unwind_ranges_dropped", "",
					       "Mappings beyond what the unwinder holds of one "
					       "process"),
		.processes_refused =
			host->metric(host, PROFCOL_COUNTER, "unwind_processes_refused", "",
				     "Processes there was no room for in the unwinder's tables"),
		.processes_evicted = host->metric(
			host, PROFCOL_COUNTER, "unwind_processes_evicted", "",
			"Processes that made room for others in the unwinder's tables"),
		.files_given_up = host->metric(host, PROFCOL_COUNTER, "unwind_files_given_up", "",
					       "Files that could not be read for their rules"),
		.rules_refused =
			host->metric(host, PROFCOL_COUNTER, "unwind_rules_refused", "",
				     "Rows of unwind pages whose rule there was no room for"),
		.files_yielded = host->metric(
			host, PROFCOL_COUNTER, "unwind_files_yielded", "",
			"Files that gave up their unwind rules for those of other users"),
	};
	init_runtimes(metrics, host);
	for (size_t kind = UNWIND_SUPPORTED + 1; kind < UNWIND_UNSUPPORTED_COUNT; kind++)
		metrics->unsupported[kind] = host->metric(
			host, PROFCOL_COUNTER, "unwind_rows_unsupported", unsupported_labels[kind],
			"Places in code whose unwind rule cannot be expressed");
}

void tables_metrics_show(const struct tables_metrics *metrics, const struct pages_counts *pages,
			 const struct spaces_counts *spaces, uint64_t made_bytes,
			 uint64_t used_bytes)
{
	profcol_metric_set(metrics->memory, (int64_t)made_bytes);
	profcol_metric_set(metrics->used, (int64_t)used_bytes);
	profcol_metric_set(metrics->files, (int64_t)pages->files);
	profcol_metric_set(metrics->pages, (int64_t)pages->pages);
	profcol_metric_set(metrics->built, (int64_t)pages->built);
	profcol_metric_set(metrics->evicted, (int64_t)pages->evicted);
	profcol_metric_set(metrics->refused, (int64_t)pages->refused);
	profcol_metric_set(metrics->failed, (int64_t)pages->failed);
	profcol_metric_set(metrics->processes, (int64_t)spaces->processes);
	for (size_t i = 0; i < RUNTIMES; i++)
		show_runtime(&metrics->runtimes[i], &spaces->runtimes[i]);
	profcol_metric_set(metrics->ranges_dropped, (int64_t)spaces->ranges_dropped);
	profcol_metric_set(metrics->processes_refused, (int64_t)spaces->processes_refused);
	profcol_metric_set(metrics->processes_evicted, (int64_t)spaces->processes_evicted);
	profcol_metric_set(metrics->files_given_up, (int64_t)pages->files_given_up);
	profcol_metric_set(metrics->rules_refused, (int64_t)pages->rules_refused);
	profcol_metric_set(metrics->files_yielded, (int64_t)pages->yielded);
	for (size_t kind = UNWIND_SUPPORTED + 1; kind < UNWIND_UNSUPPORTED_COUNT; kind++)
		profcol_metric_set(metrics->unsupported[kind], (int64_t)pages->unsupported[kind]);
}
