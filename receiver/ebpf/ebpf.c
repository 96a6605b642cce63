// SPDX-License-Identifier: Apache-2.0
/* The descriptor of the eBPF profiler, component type `profiling`. */
#include "config.h"
#include "drain.h"
#include "processes/processes.h"
#include "reporter.h"
#include "requirements.h"
#include "symbols/symbols.h"
#include "worker/worker.h"

#include <profcol/component.h>

#include <stdlib.h>

static const struct profcol_option options[] = {
	PROFCOL_OPTION_INT("samples_per_second", struct profiling_config, samples_per_second, "20",
			   1, 10000, "samples taken on each CPU in a second"),
	PROFCOL_OPTION_DURATION("reporter_interval", struct profiling_config, reporter_interval_ns,
				"5s", 100 * PROFCOL_MILLISECOND, PROFCOL_HOUR,
				"how often samples are passed on as a batch"),
	PROFCOL_OPTION_DOUBLE("reporter_jitter", struct profiling_config, reporter_jitter, "0.2", 0,
			      1, "share of the interval that is randomly added or taken away"),
	PROFCOL_OPTION_DURATION("symbolization_wait", struct profiling_config,
				symbolization_wait_ns, "1s", 0, 2 * PROFCOL_SECOND,
				"how long a batch waits for names that are being looked up"),
	PROFCOL_OPTION_BOOL("send_idle_frames", struct profiling_config, send_idle_frames, "false",
			    "pass on samples of idle CPUs too, instead of only counting them"),
	PROFCOL_OPTION_BOOL("no_kernel_version_check", struct profiling_config,
			    no_kernel_version_check, "false",
			    "start on kernels that are too old or have a known fault"),
	PROFCOL_OPTION_END,
};

struct profiling {
	const struct profcol_host *host;       /* borrowed */
	const struct profiling_config *config; /* borrowed */
	struct processes *processes;
	struct symbols *symbols;
	struct drain *drain;
	struct reporter *reporter;
};

static void profiling_destroy(void *self)
{
	struct profiling *profiling = self;

	if (!profiling)
		return;
	reporter_destroy(profiling->reporter);
	drain_destroy(profiling->drain);
	symbols_destroy(profiling->symbols);
	processes_destroy(profiling->processes);
	free(profiling);
}

static struct profcol_error *profiling_create(const struct profcol_host *host, const void *config,
					      void **ret)
{
	struct profiling *profiling = calloc(1, sizeof(*profiling));

	if (!profiling)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	profiling->host = host;
	profiling->config = config;
	profiling->processes = processes_create(host);
	if (profiling->processes)
		profiling->symbols = symbols_create(host, profiling->processes);
	if (profiling->symbols)
		profiling->drain = drain_create(host, config, profiling->processes);
	if (profiling->drain)
		profiling->reporter = reporter_create(host, config, profiling->drain,
						      profiling->processes, profiling->symbols);
	if (!profiling->reporter) {
		profiling_destroy(profiling);
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	}
	*ret = profiling;
	return NULL;
}

static struct profcol_error *profiling_start(void *self)
{
	struct profiling *profiling = self;
	struct requirements_environment machine = requirements_this_machine();
	struct profcol_error *error;

	error = requirements_check(&machine, profiling->config->no_kernel_version_check,
				   profiling->host->logger);
	// Before the first sample, so that there is none whose process went unseen.
	if (!error)
		error = requirements_explain_perf(&machine, processes_start(profiling->processes));
	if (!error)
		error = requirements_explain_perf(&machine, drain_start(profiling->drain));
	// After the load, whose memory is free by then: the two are the peak of the start.
	if (!error)
		error = symbols_start(profiling->symbols);
	if (!error)
		error = reporter_start(profiling->reporter);
	return error;
}

static struct profcol_error *profiling_shutdown(void *self, uint64_t deadline_ns)
{
	struct profiling *profiling = self;

	drain_stop(profiling->drain);
	reporter_stop(profiling->reporter, deadline_ns);
	processes_stop(profiling->processes);
	return NULL;
}

extern const struct profcol_component profcol_receiver_profiling;

const struct profcol_component profcol_receiver_profiling = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.stability = PROFCOL_DEVELOPMENT,
	.type = "profiling",
	.summary = "samples all CPUs of this machine with eBPF",
	.options = options,
	.config_size = sizeof(struct profiling_config),
	.create = profiling_create,
	.start = profiling_start,
	.shutdown = profiling_shutdown,
	.destroy = profiling_destroy,
	.helper = worker_helper,
};
