// SPDX-License-Identifier: Apache-2.0
/* The descriptor of the eBPF profiler, component type `profiling`. */
#include "config.h"
#include "diagnose.h"
#include "diagnose_process.h"
#include "drain.h"
#include "libbpf_messages.h"
#include "process_memory/process_memory.h"
#include "processes/processes.h"
#include "reporter.h"
#include "requirements.h"
#include "select/select.h"
#include "settings.h"
#include "symbols/symbols.h"
#include "tables/tables.h"
#include "unheeded.h"
#include "worker/worker.h"

#include <profcol/component.h>

#include "base/base.h"

#include <stdlib.h>

/* Of `process_memory`: what walks in user space may take for pages of unwind rules, and what names
 * of runtimes' frames may. */
enum { FOUND_SHARE = 8, NAMES_SHARE = 4 };

enum { OVERHEAD_SHARE = 4 }; /* of `overhead::memory` for `process_memory`, at most */

struct profiling {
	const struct profcol_host *host;       /* borrowed */
	const struct profiling_config *config; /* borrowed, until there are others */
	struct settings *settings;             /* owned: what the parts go by */
	/* Owned; all NULL when the start has failed and the program goes on. */
	struct processes *processes;
	struct select *select;
	struct symbols *symbols;
	struct process_memory *memory;
	struct tables *tables;
	struct drain *drain;
	struct reporter *reporter;
};

static void destroy_parts(struct profiling *profiling)
{
	reporter_destroy(TAKE(profiling->reporter));
	drain_destroy(TAKE(profiling->drain));
	process_memory_destroy(TAKE(profiling->memory));
	tables_destroy(TAKE(profiling->tables));
	symbols_destroy(TAKE(profiling->symbols));
	select_destroy(TAKE(profiling->select));
	processes_destroy(TAKE(profiling->processes));
}

static void profiling_destroy(void *self)
{
	struct profiling *profiling = self;

	if (!profiling)
		return;
	destroy_parts(profiling);
	settings_destroy(profiling->settings);
	free(profiling);
}

/* The process tables do not shrink when memory is short: so `overhead::memory` bounds them from the
 * start, whatever `process_memory` says. */
static uint64_t process_memory(const struct profiling_config *settings)
{
	uint64_t limit = settings->overhead.memory_bytes / OVERHEAD_SHARE;

	return limit && limit < settings->process_memory_bytes ? limit
							       : settings->process_memory_bytes;
}

/* False without memory. */
static bool create_parts(struct profiling *profiling)
{
	const struct profcol_host *host = profiling->host;
	const struct profiling_config *settings = &profiling->settings->config;
	const struct symbols_settings symbols = {
		.worker_uid = (uint32_t)settings->worker_uid,
		.memory_bytes = settings->symbol_memory_bytes,
		.debug_directories = settings->debug_directories,
		.without_lines = profiling_runtimes_without_lines(settings),
	};
	uint64_t process_bytes = process_memory(settings);

	profiling->processes = processes_create(host, &settings->include_env_vars, process_bytes);
	if (profiling->processes)
		profiling->select = select_create(host, profiling->processes);
	if (profiling->select)
		profiling->symbols = symbols_create(host, profiling->processes, &symbols);
	if (profiling->symbols)
		symbols_follow_kernel(profiling->symbols,
				      processes_kernel_code(profiling->processes));
	if (profiling->symbols)
		profiling->memory = process_memory_create(host, profiling->processes,
							  (uint32_t)settings->worker_uid,
							  process_bytes / NAMES_SHARE);
	if (profiling->memory)
		profiling->tables =
			tables_create(host, profiling->processes, profiling->memory,
				      (uint32_t)settings->worker_uid, settings->unwind_memory_bytes,
				      process_bytes / FOUND_SHARE);
	if (profiling->tables)
		tables_disable_runtimes(profiling->tables, profiling_disabled_runtimes(settings),
					profiling_runtimes_without_labels(settings));
	if (profiling->tables && *settings->cache_directory &&
	    !tables_keep(profiling->tables, settings->cache_directory, settings->cache_bytes))
		return false;
	if (profiling->tables)
		profiling->drain =
			drain_create(host, settings, profiling->processes, profiling->memory,
				     profiling->tables, profiling->select);
	if (profiling->drain)
		profiling->reporter =
			reporter_create(host, settings, profiling->drain, profiling->processes,
					profiling->memory, profiling->symbols, profiling->tables);
	return profiling->reporter;
}

static struct profcol_error *profiling_create(const struct profcol_host *host, const void *config,
					      void **ret)
{
	struct profiling *profiling = calloc(1, sizeof(*profiling));
	struct profcol_error *error;

	if (!profiling)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	profiling->host = host;
	profiling->config = config;
	profiling->settings = settings_create(config);
	if (!profiling->settings || !create_parts(profiling)) {
		profiling_destroy(profiling);
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	}
	error = select_configure(profiling->select, &profiling->config->select);
	if (error) {
		profiling_destroy(profiling);
		return profcol_error_prefix(error, "select");
	}
	processes_on_change(profiling->processes, tables_note_process, profiling->tables);
	*ret = profiling;
	return NULL;
}

static void stop_parts(struct profiling *profiling, uint64_t deadline_ns)
{
	drain_stop(profiling->drain, deadline_ns);
	reporter_stop(profiling->reporter, deadline_ns);
	select_stop(profiling->select);
	processes_stop(profiling->processes);
	process_memory_stop(profiling->memory);
	tables_stop(profiling->tables);
}

static struct profcol_error *start_select(struct profiling *profiling)
{
	struct select_maps maps = sampler_select_maps(drain_sampler(profiling->drain));

	return select_start(profiling->select, &maps);
}

static struct profcol_error *start_tables(struct profiling *profiling)
{
	struct tables_maps maps = sampler_unwind_maps(drain_sampler(profiling->drain));
	struct process_memory_tables asked = tables_for_memory(profiling->tables);
	struct profcol_error *error = tables_start(profiling->tables, &maps);

	return error ? error : process_memory_start(profiling->memory, &asked);
}

/* Without it all goes on, later: a program is known once it was sampled. */
static void follow_execs(struct profiling *profiling)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	// Where only some are profiled, most programs that start are not.
	if (profiling->config->select.include.count)
		return;
	libbpf_messages_capture();
	error = processes_follow_execs(profiling->processes);
	if (error)
		profcol_log_warn(profiling->host->logger,
				 "%s, the first samples of programs that start are not walked",
				 profcol_error_message(error));
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
		follow_execs(profiling);
	if (!error)
		error = requirements_explain_perf(&machine, drain_start(profiling->drain));
	if (!error)
		error = start_select(profiling);
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

/* Which processes are selected changes while it runs; all else needs another one. */
static bool profiling_reconfigure(void *self, const void *options)
{
	struct profiling *profiling = self;
	const struct profiling_config *config = options;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	// One that could not start, and went on without profiles, is to try again.
	if (!profiling->reporter || !settings_can_change(profiling->config, config))
		return false;
	error = select_configure(profiling->select, &config->select);
	if (error)
		return false;
	profiling->config = config;
	unheeded_log(&config->unheeded, profiling->host->logger);
	return true;
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
	.reconfigure = profiling_reconfigure,
	.helper = worker_helper,
	.diagnose = profiling_diagnose,
	.diagnose_process = profiling_diagnose_process,
};
