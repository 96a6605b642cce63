// SPDX-License-Identifier: Apache-2.0
#include "record_config.h"

#include "own_config.h"

enum { DEFAULT_FREQUENCY = 99 };

/* One rule; NULL when everything is to be recorded, and without memory. */
static json_t *rule(const struct record_options *options, int32_t pid)
{
	if (pid)
		return json_pack("{s:i}", "pid", (int)pid);
	if (options->comm)
		return json_pack("{s:{s:[o]}}", "comm", "values", own_config_text(options->comm));
	if (options->cgroup)
		return json_pack("{s:{s:[o]}}", "cgroup", "values",
				 own_config_text(options->cgroup));
	return NULL;
}

static json_t *receiver(const struct record_options *options, int32_t pid,
			const struct record_output *output)
{
	json_t *made = json_pack("{s:i, s:s, s:i, s:b}", "samples_per_second",
				 options->frequency ? (int)options->frequency : DEFAULT_FREQUENCY,
				 "reporter_interval", "1s", "reporter_jitter", 0,
				 // In pprof and folded stacks times have no place.
				 "timestamps", output->form == RECORD_OTLP);

	if (made && (pid || options->comm || options->cgroup) &&
	    json_object_set_new(made, "select",
				json_pack("{s:[o]}", "include", rule(options, pid)))) {
		json_decref(made);
		return NULL;
	}
	return made;
}

static json_t *exporter(const struct record_output *output)
{
	if (output->form == RECORD_OTLP)
		return json_pack("{s:{s:o, s:s, s:{s:i, s:b}}}", "file", "path",
				 own_config_text(output->otlp_path), "format", "proto",
				 "sending_queue", "num_consumers", 1, "block_on_overflow", 1);
	return json_pack("{s:{s:o, s:s, s:s, s:s}}", "pprof", "directory",
			 own_config_text(output->directory), "interval", "0s", "format",
			 output->form == RECORD_FOLDED ? "folded" : "pprof", "max_pending_bytes",
			 "1GiB");
}

static json_t *service(const struct record_output *output)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:s}}, s:{s:{s:[s], s:[s]}}}", "shutdown_timeout",
			 "60s", "telemetry", "logs", "level", "warn", "metrics", "level", "none",
			 "pipelines", "profiles", "receivers", "profiling", "exporters",
			 output->form == RECORD_OTLP ? "file" : "pprof");
}

char *record_config(const struct record_options *options, int32_t pid,
		    const struct record_output *output)
{
	json_t *all = json_pack("{s:{s:o}, s:o, s:o}", "receivers", "profiling",
				receiver(options, pid, output), "exporters", exporter(output),
				"service", service(output));

	return own_config_source(all);
}
