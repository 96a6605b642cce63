// SPDX-License-Identifier: Apache-2.0
/* The descriptor of the eBPF profiler, component type `profiling`. */
#include "config.h"
#include "diagnose.h"
#include "drain.h"
#include "processes/processes.h"
#include "reporter.h"
#include "requirements.h"
#include "symbols/symbols.h"
#include "tables/tables.h"
#include "unheeded.h"
#include "worker/worker.h"

#include <profcol/component.h>

#include "base/base.h"

#include <stdlib.h>

struct profiling {
	const struct profcol_host *host;       /* borrowed */
	const struct profiling_config *config; /* borrowed */
	/* Owned; all NULL when the start has failed and the program goes on. */
	struct processes *processes;
	struct symbols *symbols;
	struct tables *tables;
	struct drain *drain;
	struct reporter *reporter;
};

static void destroy_parts(struct profiling *profiling)
{
	reporter_destroy(TAKE(profiling->reporter));
	drain_destroy(TAKE(profiling->drain));
	tables_destroy(TAKE(profiling->tables));
	symbols_destroy(TAKE(profiling->symbols));
	processes_destroy(TAKE(profiling->processes));
}

static void profiling_destroy(void *self)
{
	struct profiling *profiling = self;

	if (!profiling)
		return;
	destroy_parts(profiling);
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
	profiling->processes = processes_create(host, &profiling->config->include_env_vars);
	if (profiling->processes)
		profiling->symbols = symbols_create(host, profiling->processes);
	if (profiling->symbols)
		profiling->tables = tables_create(host, profiling->processes,
						  profiling->config->unwind_memory_bytes);
	if (profiling->tables)
		profiling->drain =
			drain_create(host, config, profiling->processes, profiling->tables);
	if (profiling->drain)
		profiling->reporter =
			reporter_create(host, config, profiling->drain, profiling->processes,
					profiling->symbols, profiling->tables);
	if (!profiling->reporter) {
		profiling_destroy(profiling);
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	}
	processes_on_change(profiling->processes, tables_note_process, profiling->tables);
	*ret = profiling;
	return NULL;
}

static void stop_parts(struct profiling *profiling, uint64_t deadline_ns)
{
	drain_stop(profiling->drain);
	reporter_stop(profiling->reporter, deadline_ns);
	processes_stop(profiling->processes);
	tables_stop(profiling->tables);
}

static struct profcol_error *start_tables(struct profiling *profiling)
{
	struct tables_maps maps = sampler_unwind_maps(drain_sampler(profiling->drain));

	return tables_start(profiling->tables, &maps);
}

static struct profcol_error *start_parts(struct profiling *profiling)
{
	struct requirements_environment machine = requirements_this_machine();
	struct profcol_error *error;

	error = requirements_check(&machine, profiling->config->no_kernel_version_check,
				   profiling->host->logger);
	// Before the first sample, so that there is none whose process went unseen.
	if (!error)
		error = requirements_explain_perf(&machine, processes_start(profiling->processes));
	if (!error)
		error = requirements_explain_perf(&machine, drain_start(profiling->drain));
	if (!error)
		error = start_tables(profiling);
	// After the load, whose memory is free by then: the two are the peak of the start.
	if (!error)
		error = symbols_start(profiling->symbols);
	if (!error)
		error = reporter_start(profiling->reporter);
	return error;
}

static struct profcol_error *profiling_start(void *self)
{
	struct profiling *profiling = self;
	struct profcol_error *error;

	unheeded_log(&profiling->config->unheeded, profiling->host->logger);
	error = start_parts(profiling);
	if (!error || profiling->config->error_mode == ERROR_PROPAGATE)
		return error;
	error = profcol_error_prefix(error, "error_mode is ignore, so nothing is sampled");
	profiling->host->report_status(profiling->host, PROFCOL_STATUS_PERMANENT_ERROR,
				       profcol_error_message(error));
	profcol_error_destroy(error);
	stop_parts(profiling, 0);
	destroy_parts(profiling);
	return NULL;
}

static struct profcol_error *profiling_shutdown(void *self, uint64_t deadline_ns)
{
	struct profiling *profiling = self;

	if (profiling->reporter)
		stop_parts(profiling, deadline_ns);
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
	.options = profiling_options,
	.config_size = sizeof(struct profiling_config),
	.validate = profiling_validate,
	.create = profiling_create,
	.start = profiling_start,
	.shutdown = profiling_shutdown,
	.destroy = profiling_destroy,
	.helper = worker_helper,
	.diagnose = profiling_diagnose,
};
