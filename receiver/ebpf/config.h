/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the `profiling` receiver, decoded (table in options.c). */
#pragma once

#include "overhead.h"
#include "select/select.h"

#include <profcol/options.h>

#include <stdbool.h>
#include <stdint.h>

/* What the samples of one resource have in common. */
enum resource_by { RESOURCE_BY_PROCESS, RESOURCE_BY_CONTAINER, RESOURCE_BY_HOST };

/* What is passed on of a function that has no name. */
enum unnamed_functions { UNNAMED_LABEL, UNNAMED_FUNCTION, UNNAMED_NOTHING };

enum error_mode { ERROR_PROPAGATE, ERROR_IGNORE };

struct probe_config {
	int type, mode; /* index into their words */
	const char *symbol, *target;
};

/* What is not done for programs of a language. */
struct interpreters_config {
	bool hotspot_disabled;
	bool python_disabled;
	bool v8_disabled;
	bool go_disabled, go_symbolization_disabled, go_labels_disabled;
};

struct unheeded_interpreters_config {
	bool perl_disabled, php_disabled, ruby_disabled;
	bool dotnet_disabled, beam_disabled, luajit_disabled;
	bool ruby_skip_native_resume;
};

/* Options of the OpenTelemetry eBPF profiler that are taken but change nothing (unheeded.h). */
struct unheeded_config {
	uint64_t monitor_interval_ns, clock_sync_interval_ns;
	uint64_t probabilistic_interval_ns, filter_min_process_age_ns;
	int64_t frame_cache_size, probabilistic_threshold, map_scale_factor;
	int64_t bpf_verifier_log_level, max_grpc_retries, max_rpc_msg_size;
	bool send_error_frames, load_probe, verbose_mode, obi_process_ctx;
	bool pid_namespace_translation;
	const char *bpf_fs_root, *pin_cpu_ids;
	struct unheeded_interpreters_config interpreters;
	struct profcol_sections probes; /* struct probe_config */
};

struct off_cpu_config {
	int64_t max_events; /* samples in a second on each CPU, about; 1 to 10000 */
	bool wakers;        /* who has ended each wait */
};

struct memory_growth_config {
	int64_t max_events; /* samples in a second on each CPU, about; 1 to 10000 */
};

struct wakers_config {
	int64_t max_events; /* samples in a second on each CPU, about; 1 to 10000 */
};

struct page_faults_config {
	int64_t max_events; /* samples in a second on each CPU, about; 1 to 10000 */
	int64_t period;     /* faults that one is looked at of, 1 to 1000000 */
};

struct profiling_config {
	int64_t samples_per_second; /* per CPU, 1 to 10000 */
	struct profcol_list events; /* names of those that are sampled (events/); none: the timer */
	struct off_cpu_config off_cpu;
	double off_cpu_threshold; /* 0 to 1: the share of waits that is sampled; 0: by max_events */
	struct page_faults_config page_faults;
	struct memory_growth_config memory_growth;
	struct wakers_config wakers;
	uint64_t reporter_interval_ns;
	double reporter_jitter; /* 0 to 1: share of the interval, added or taken away */
	uint64_t symbolization_wait_ns;
	int64_t max_stack_depth;       /* frames of user code: 1 to SAMPLE_MAX_USER_FRAMES */
	uint64_t deferred_stack_bytes; /* at most SAMPLE_MAX_STACK_BYTES; 0: no walk is deferred */
	uint64_t unwind_memory_bytes;  /* 1 MiB to 1 GiB: of unwind tables in the kernel */
	const char *cache_directory;   /* "": pages of unwind rules are not kept on disk */
	uint64_t cache_bytes;          /* of that directory, 1 MiB to 1 TiB */
	int64_t worker_uid;
	uint64_t process_memory_bytes; /* 1 MiB to 1 GiB: of what is known of processes */
	uint64_t symbol_memory_bytes;  /* 1 MiB to 4 GiB: of what files call their functions */
	struct profcol_list debug_directories;
	uint64_t hold_new_containers_ns; /* 0: not at all */
	bool verify_walks;
	bool send_idle_frames;
	bool no_kernel_version_check;
	bool timestamps;                      /* false: counts only */
	int resource_by;                      /* enum resource_by */
	int unnamed_functions;                /* enum unnamed_functions */
	bool system_names;                    /* of functions, beside what people call them */
	int error_mode;                       /* enum error_mode: of errors at the start */
	struct profcol_list include_env_vars; /* names */
	struct overhead_config overhead;
	struct interpreters_config interpreters;
	struct select_config select;
	struct unheeded_config unheeded;
};

extern const struct profcol_option profiling_options[];

/* The runtimes that are disabled, 1 << enum runtime_number each. */
uint32_t profiling_disabled_runtimes(const struct profiling_config *config);

/* The same of those whose files are not asked which functions run where. */
uint32_t profiling_runtimes_without_lines(const struct profiling_config *config);

/* The same of those whose programs' labels are not read. */
uint32_t profiling_runtimes_without_labels(const struct profiling_config *config);

/* What the table cannot say (profcol_component.validate). */
struct profcol_error *profiling_validate(const void *config);
