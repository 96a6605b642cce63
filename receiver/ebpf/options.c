// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "events/events.h"
#include "runtimes/runtime.h"
#include "sample.h"
#include "select/select.h"

#include <profcol/errors.h>

#include <stdlib.h>

static const char *const resource_by_words[] = { "process", "container", "host", NULL };
static const char *const unnamed_functions_words[] = { "label", "function", "none", NULL };
static const char *const error_mode_words[] = { "propagate", "ignore", NULL };
static const char *const probe_types[] = { "kprobe", NULL };
static const char *const probe_modes[] = { "kprobe", "kretprobe", "uprobe", "uretprobe", NULL };

enum { FIRST_MODE_WITH_TARGET = 2 };

/* Each language has a section of its own; those of which nothing is acted on yet: */
#define LANGUAGE(name)                                                                             \
	static const struct profcol_option name##_options[] = {                                    \
		PROFCOL_OPTION_BOOL("disabled", struct profiling_config,                           \
				    unheeded.interpreters.name##_disabled, "false",                \
				    "no effect yet"),                                              \
		PROFCOL_OPTION_END,                                                                \
	}

LANGUAGE(perl);
LANGUAGE(php);
LANGUAGE(dotnet);
LANGUAGE(beam);
LANGUAGE(luajit);

static const struct profcol_option python_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config, interpreters.python_disabled,
			    "false",
			    "leave the memory of Python programs alone: their stacks show the "
			    "interpreter"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option hotspot_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config, interpreters.hotspot_disabled,
			    "false",
			    "leave the memory of JVMs alone: stacks through Java's code are cut"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option v8_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config, interpreters.v8_disabled, "false",
			    "leave the memory of Node.js programs alone: their stacks show V8's "
			    "builtins"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option ruby_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config,
			    unheeded.interpreters.ruby_disabled, "false", "no effect yet"),
	PROFCOL_OPTION_BOOL("skip_native_resume", struct profiling_config,
			    unheeded.interpreters.ruby_skip_native_resume, "false",
			    "no effect yet"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option go_labels_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config, interpreters.go_labels_disabled,
			    "false",
			    "do not read what `pprof.Do` has set: samples have no "
			    "`process.context.label.KEY`"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option go_symbolization_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config,
			    interpreters.go_symbolization_disabled, "false",
			    "no lines, and no names but those of symbol tables"),
	PROFCOL_OPTION_END,
};

/* A section whose fields are those of the whole configuration. */
#define FLAT_SECTION(key_, options_, doc_)                                                         \
	{ .key = (key_), .type = PROFCOL_OPTION_NESTED, .doc = (doc_), .nested = (options_) }

static const struct profcol_option go_options[] = {
	PROFCOL_OPTION_BOOL("disabled", struct profiling_config, interpreters.go_disabled, "false",
			    "the same as `symbolization::disabled`; stacks stay whole"),
	FLAT_SECTION("labels", go_labels_options, "labels of goroutines"),
	FLAT_SECTION("symbolization", go_symbolization_options, "names of Go functions"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option interpreters_options[] = {
	FLAT_SECTION("python", python_options, "CPython"),
	FLAT_SECTION("perl", perl_options, "Perl"),
	FLAT_SECTION("php", php_options, "PHP"),
	FLAT_SECTION("hotspot", hotspot_options, "Java"),
	FLAT_SECTION("ruby", ruby_options, "Ruby"),
	FLAT_SECTION("v8", v8_options, "Node.js"),
	FLAT_SECTION("dotnet", dotnet_options, ".NET"),
	FLAT_SECTION("go", go_options, "Go"),
	FLAT_SECTION("beam", beam_options, "Erlang and Elixir"),
	FLAT_SECTION("luajit", luajit_options, "LuaJIT"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option probe_options[] = {
	{ .key = "type",
	  .type = PROFCOL_OPTION_ENUM,
	  .names = probe_types,
	  .required = true,
	  .offset = PROFCOL_FIELD(struct probe_config, type, int),
	  .doc = "no effect yet" },
	PROFCOL_OPTION_ENUM("mode", struct probe_config, mode, "kprobe", probe_modes,
			    "no effect yet"),
	PROFCOL_OPTION_REQUIRED_STRING("symbol", struct probe_config, symbol, "no effect yet"),
	PROFCOL_OPTION_STRING("target", struct probe_config, target, NULL, "no effect yet"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option overhead_options[] = {
	PROFCOL_OPTION_STRING("cpu", struct overhead_config, cpu, NULL,
			      "share of one CPU, such as `0.5%`: of profcol, its workers and the "
			      "sampling in the kernel"),
	PROFCOL_OPTION_BYTES("memory", struct overhead_config, memory_bytes, "0", 0, 0,
			     "of profcol, its workers and its BPF maps, from `32MiB` on; `0`: no "
			     "limit"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option off_cpu_options[] = {
	PROFCOL_OPTION_INT("max_events", struct off_cpu_config, max_events, "200", 1, 10000,
			   "samples in a second on each CPU, about: where there would be more, "
			   "short waits are kept by lot, and stand for those that are not"),
	PROFCOL_OPTION_BOOL("wakers", struct off_cpu_config, wakers, "false",
			    "tell which thread has ended each wait; each wake-up costs more then"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option memory_growth_options[] = {
	PROFCOL_OPTION_INT("max_events", struct memory_growth_config, max_events, "200", 1, 10000,
			   "samples in a second on each CPU, about: where there would be more, "
			   "each stands for more bytes"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option wakers_options[] = {
	PROFCOL_OPTION_INT("max_events", struct wakers_config, max_events, "200", 1, 10000,
			   "samples in a second on each CPU, about: where there would be more, "
			   "who ends short waits is kept by lot"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option page_faults_options[] = {
	PROFCOL_OPTION_INT(
		"max_events", struct page_faults_config, max_events, "200", 1, 10000,
		"samples in a second on each CPU, about: where there would be more, each "
		"stands for more faults"),
	PROFCOL_OPTION_INT("period", struct page_faults_config, period, "16", 1, 1000000,
			   "faults on a CPU of which one is looked at"),
	PROFCOL_OPTION_END,
};

const struct profcol_option profiling_options[] = {
	PROFCOL_OPTION_INT("samples_per_second", struct profiling_config, samples_per_second, "20",
			   1, 10000, "samples taken on each CPU in a second"),
	PROFCOL_OPTION_LIST(
		"events", struct profiling_config, events, "[cpu]",
		"what samples are taken of: `cpu` (the timer), `off_cpu`, "
		"`page_faults`, `memory_growth`, `wakers`, `wall` (`cpu` and `off_cpu`, as "
		"one)"),
	PROFCOL_OPTION_NESTED("off_cpu", struct profiling_config, off_cpu, off_cpu_options,
			      "the event `off_cpu`: time that threads wait"),
	PROFCOL_OPTION_NESTED("page_faults", struct profiling_config, page_faults,
			      page_faults_options, "the event `page_faults`"),
	PROFCOL_OPTION_NESTED("memory_growth", struct profiling_config, memory_growth,
			      memory_growth_options,
			      "the event `memory_growth`: bytes of anonymous memory"),
	PROFCOL_OPTION_NESTED("wakers", struct profiling_config, wakers, wakers_options,
			      "the event `wakers`: where threads end other threads' waits"),
	PROFCOL_OPTION_DURATION("reporter_interval", struct profiling_config, reporter_interval_ns,
				"5s", 100 * PROFCOL_MILLISECOND, PROFCOL_HOUR,
				"how often samples are passed on as a batch"),
	PROFCOL_OPTION_DOUBLE("reporter_jitter", struct profiling_config, reporter_jitter, "0.2", 0,
			      1, "share of the interval that is randomly added or taken away"),
	PROFCOL_OPTION_DURATION("symbolization_wait", struct profiling_config,
				symbolization_wait_ns, "1s", 0, 2 * PROFCOL_SECOND,
				"how long a batch waits for names that are being looked up"),
	PROFCOL_OPTION_BOOL("timestamps", struct profiling_config, timestamps, "true",
			    "the time of every sample; if false, only how many there were"),
	PROFCOL_OPTION_ENUM("resource_by", struct profiling_config, resource_by, "process",
			    resource_by_words, "what the samples of one resource have in common"),
	PROFCOL_OPTION_DURATION(
		"hold_new_containers", struct profiling_config, hold_new_containers_ns, "10s", 0,
		10 * PROFCOL_MINUTE,
		"how long samples of a new container wait until the processors know it"),
	PROFCOL_OPTION_LIST("include_env_vars", struct profiling_config, include_env_vars, NULL,
			    "environment variables of processes to pass on as attributes"),
	PROFCOL_OPTION_INT("max_stack_depth", struct profiling_config, max_stack_depth, "1024", 1,
			   SAMPLE_MAX_USER_FRAMES,
			   "frames of user code that are followed in one stack"),
	PROFCOL_OPTION_BYTES("unwind_memory", struct profiling_config, unwind_memory_bytes, "32MiB",
			     1 << 20, 1 << 30,
			     "memory in the kernel for tables by which stacks are followed"),
	PROFCOL_OPTION_BYTES(
		"deferred_stack", struct profiling_config, deferred_stack_bytes, "32KiB", 0,
		SAMPLE_MAX_STACK_BYTES,
		"how much of a stack is copied when its code is not known yet, or to walk it in "
		"user space; 0: none"),
	PROFCOL_OPTION_BOOL(
		"verify_walks", struct profiling_config, verify_walks, "false",
		"walk stacks in user space, too, and count where that differs: a test of "
		"profcol itself, which costs much"),
	PROFCOL_OPTION_STRING("cache_directory", struct profiling_config, cache_directory, NULL,
			      "where tables of files are kept for the next start; none: they are "
			      "not"),
	PROFCOL_OPTION_BYTES("cache_size", struct profiling_config, cache_bytes, "64MiB", 1 << 20,
			     1ll << 40, "disk space that `cache_directory` may take"),
	PROFCOL_OPTION_INT("worker_uid", struct profiling_config, worker_uid, "2111111111", 1,
			   4294967293,
			   "user and group of the processes that read files and memory "
			   "of programs: a number that nobody else has"),
	PROFCOL_OPTION_BYTES("process_memory", struct profiling_config, process_memory_bytes,
			     "32MiB", 1 << 20, 1 << 30,
			     "memory for what is known of processes, their mappings and files"),
	PROFCOL_OPTION_BYTES("symbol_memory", struct profiling_config, symbol_memory_bytes, "64MiB",
			     1 << 20, 4ll << 30,
			     "memory for the names of functions of files, and where they begin"),
	PROFCOL_OPTION_LIST("debug_directories", struct profiling_config, debug_directories,
			    "[/usr/lib/debug]",
			    "where debug files are looked for, on the machine, and for a "
			    "container's own files in its root"),
	PROFCOL_OPTION_ENUM("unnamed_functions", struct profiling_config, unnamed_functions,
			    "label", unnamed_functions_words,
			    "what tells functions without a name apart, such as "
			    "`libc.so.6+0x8a2c0`: an attribute, which pprof and debug show, a "
			    "function of that name, or nothing"),
	PROFCOL_OPTION_BOOL("system_names", struct profiling_config, system_names, "true",
			    "tell functions as the symbol table or the runtime has them, too, such "
			    "as `_ZN3foo3barEv`, where `foo::bar` is their name"),
	PROFCOL_OPTION_BOOL("send_idle_frames", struct profiling_config, send_idle_frames, "false",
			    "pass on samples of idle CPUs too, instead of only counting them"),
	PROFCOL_OPTION_BOOL("no_kernel_version_check", struct profiling_config,
			    no_kernel_version_check, "false",
			    "start on kernels that are too old or have a known fault"),
	PROFCOL_OPTION_ENUM("error_mode", struct profiling_config, error_mode, "propagate",
			    error_mode_words,
			    "`ignore`: go on without profiles where sampling cannot start"),
	PROFCOL_OPTION_NESTED("overhead", struct profiling_config, overhead, overhead_options,
			      "what profiling may cost: beyond, samples are taken less often"),
	PROFCOL_OPTION_NESTED("select", struct profiling_config, select, select_options,
			      "which processes are sampled; without, all"),
	// From here on, but for some of the interpreters and off_cpu_threshold: unheeded.h.
	PROFCOL_OPTION_DURATION("monitor_interval", struct profiling_config,
				unheeded.monitor_interval_ns, "5s", 0, 0, "no effect"),
	PROFCOL_OPTION_DURATION("clock_sync_interval", struct profiling_config,
				unheeded.clock_sync_interval_ns, "3m", 0, 0, "no effect"),
	PROFCOL_OPTION_INT("frame_cache_size", struct profiling_config, unheeded.frame_cache_size,
			   "16384", 1024, 1048576, "no effect"),
	PROFCOL_OPTION_DURATION("probabilistic_interval", struct profiling_config,
				unheeded.probabilistic_interval_ns, "1m", PROFCOL_MINUTE,
				5 * PROFCOL_MINUTE, "no effect yet"),
	PROFCOL_OPTION_INT("probabilistic_threshold", struct profiling_config,
			   unheeded.probabilistic_threshold, "100", 1, 100, "no effect yet"),
	FLAT_SECTION("interpreters", interpreters_options, "frames of interpreted languages"),
	PROFCOL_OPTION_DOUBLE("off_cpu_threshold", struct profiling_config, off_cpu_threshold, "0",
			      0, 1,
			      "above 0: the event `off_cpu`, of which each wait is kept with this "
			      "probability, whatever its length"),
	PROFCOL_OPTION_BOOL("send_error_frames", struct profiling_config,
			    unheeded.send_error_frames, "false",
			    "no effect: a cut stack always says why"),
	PROFCOL_OPTION_DURATION("filter_min_process_age", struct profiling_config,
				unheeded.filter_min_process_age_ns, "0", 0, 0, "no effect yet"),
	PROFCOL_OPTION_INT("map_scale_factor", struct profiling_config, unheeded.map_scale_factor,
			   "0", 0, 8, "no effect"),
	PROFCOL_OPTION_INT("bpf_verifier_log_level", struct profiling_config,
			   unheeded.bpf_verifier_log_level, "0", 0, 2, "no effect"),
	PROFCOL_OPTION_STRING("bpf_fs_root", struct profiling_config, unheeded.bpf_fs_root,
			      "/sys/fs/bpf/", "no effect"),
	PROFCOL_OPTION_BOOL("obi_process_ctx", struct profiling_config, unheeded.obi_process_ctx,
			    "false", "no effect yet"),
	PROFCOL_OPTION_BOOL("pid_namespace_translation", struct profiling_config,
			    unheeded.pid_namespace_translation, "false",
			    "no effect: numbers are those of profcol's own PID namespace"),
	PROFCOL_OPTION_STRING("pin_cpu_ids", struct profiling_config, unheeded.pin_cpu_ids, NULL,
			      "no effect yet"),
	PROFCOL_OPTION_SECTIONS("probes", struct profiling_config, unheeded.probes,
				struct probe_config, probe_options, "no effect yet"),
	PROFCOL_OPTION_BOOL("load_probe", struct profiling_config, unheeded.load_probe, "false",
			    "no effect yet"),
	PROFCOL_OPTION_BOOL("verbose_mode", struct profiling_config, unheeded.verbose_mode, "false",
			    "no effect: the level of the log decides"),
	PROFCOL_OPTION_INT("max_grpc_retries", struct profiling_config, unheeded.max_grpc_retries,
			   "5", 0, UINT32_MAX, "no effect: the exporter decides"),
	PROFCOL_OPTION_INT("max_rpc_msg_size", struct profiling_config, unheeded.max_rpc_msg_size,
			   "33554432", INT64_MIN, INT64_MAX, "no effect: the exporter decides"),
	PROFCOL_OPTION_END,
};

/* A number of a CPU at *@text, which moves behind it; as the kernel counts them. */
static bool take_cpu(const char **text, unsigned long *ret)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret = strtoul(*text, &end, 10);
	*text = end;
	return *ret <= UINT32_MAX;
}

/* "0-3,8": the order means nothing. */
static bool is_cpu_list(const char *text)
{
	unsigned long first, last;

	if (!*text)
		return true;
	for (;; text++) {
		if (!take_cpu(&text, &first))
			return false;
		if (*text == '-') {
			text++;
			if (!take_cpu(&text, &last) || first > last)
				return false;
		}
		if (*text != ',')
			return !*text;
	}
}

static struct profcol_error *validate_overhead(const struct overhead_config *overhead)
{
	double cpu;

	if (!overhead_parse_cpu(overhead->cpu, &cpu))
		return profcol_error_create(PROFCOL_CONFIG,
					    "overhead::cpu: '%.100s' is no share of one CPU from "
					    "0.01%% on; write it as 0.5%%",
					    overhead->cpu);
	if (overhead->memory_bytes && overhead->memory_bytes < OVERHEAD_LEAST_MEMORY)
		return profcol_error_create(PROFCOL_CONFIG,
					    "overhead::memory: less than profiling takes by "
					    "itself; give it at least 32MiB");
	return NULL;
}

uint32_t profiling_runtimes_without_lines(const struct profiling_config *config)
{
	const struct interpreters_config *interpreters = &config->interpreters;

	return interpreters->go_disabled || interpreters->go_symbolization_disabled
		       ? 1u << RUNTIME_GO
		       : 0;
}

uint32_t profiling_runtimes_without_labels(const struct profiling_config *config)
{
	return config->interpreters.go_labels_disabled ? 1u << RUNTIME_GO : 0;
}

uint32_t profiling_disabled_runtimes(const struct profiling_config *config)
{
	uint32_t disabled = 0;

	if (config->interpreters.hotspot_disabled)
		disabled |= 1u << RUNTIME_HOTSPOT;
	if (config->interpreters.python_disabled)
		disabled |= 1u << RUNTIME_CPYTHON;
	if (config->interpreters.v8_disabled)
		disabled |= 1u << RUNTIME_V8;
	return disabled;
}

struct profcol_error *profiling_validate(const void *decoded)
{
	const struct profiling_config *config = decoded;
	const struct probe_config *probes = config->unheeded.probes.items;
	struct profcol_error *error = select_validate(&config->select);
	uint32_t wanted;

	if (error)
		return error;
	error = validate_overhead(&config->overhead);
	if (!error)
		error = events_wanted(config, &wanted);
	if (error)
		return error;
	for (size_t i = 0; i < config->debug_directories.count; i++)
		if (config->debug_directories.items[i][0] != '/')
			return profcol_error_create(
				PROFCOL_CONFIG,
				"debug_directories: '%.100s' does not begin with '/'; write the "
				"path from the root of the machine on",
				config->debug_directories.items[i]);
	if (!is_cpu_list(config->unheeded.pin_cpu_ids))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"pin_cpu_ids: '%.100s' is no list of CPUs; write it as 0-3,8",
			config->unheeded.pin_cpu_ids);
	for (size_t i = 0; i < config->unheeded.probes.count; i++)
		if (probes[i].mode >= FIRST_MODE_WITH_TARGET && !*probes[i].target)
			return profcol_error_create(
				PROFCOL_CONFIG,
				"probes: mode %s requires a target; add the path of its program",
				probe_modes[probes[i].mode]);
	return NULL;
}
