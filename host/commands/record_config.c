// SPDX-License-Identifier: Apache-2.0
#include "record_config.h"

#include "own_config.h"

enum { DEFAULT_BUDGET = 1000 };

/* Samples a second of an event that has a budget; and of faults each one is looked at, so that
 * their number is right also where there are few. */
static json_t *event(const struct record_options *options)
{
	int budget = options->frequency ? (int)options->frequency : DEFAULT_BUDGET;

	switch (options->event) {
	case RECORD_WAKERS:
		return json_pack("{s:[s], s:{s:i}}", "events", "wakers", "wakers", "max_events",
				 budget);
	case RECORD_OFF_CPU:
		return json_pack("{s:[s], s:{s:i}}", "events", "off_cpu", "off_cpu", "max_events",
				 budget);
	case RECORD_WALL:
		return json_pack("{s:[s], s:{s:i}}", "events", "wall", "off_cpu", "max_events",
				 budget);
	case RECORD_PAGE_FAULTS:
		return json_pack("{s:[s], s:{s:i, s:i}}", "events", "page_faults", "page_faults",
				 "max_events", budget, "period", 1);
	case RECORD_MEMORY_GROWTH:
		return json_pack("{s:[s], s:{s:i}}", "events", "memory_growth", "memory_growth",
				 "max_events", budget);
	default:
		return json_object();
	}
}

static json_t *receiver(const struct record_options *options, int32_t pid,
			const struct record_output *output)
{
	json_t *made = json_pack(
		"{s:i, s:s, s:i, s:b}", "samples_per_second",
		options->frequency ? (int)options->frequency : OWN_CONFIG_FREQUENCY,
		"reporter_interval", "1s", "reporter_jitter", 0,
		// In pprof and folded stacks times have no place. Of waits it matters
		// whose they are, which comes with them.
		"timestamps", output->form == RECORD_OTLP || options->event == RECORD_WALL);
	json_t *events = event(options);
	bool failed = !made || !events || json_object_update(made, events);

	json_decref(events);
	if (!failed)
		return own_config_select(made, pid, options->comm, options->cgroup);
	json_decref(made);
	return NULL;
}

static json_t *exporter(const struct record_output *output)
{
	if (record_form_is_otlp(output->form))
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
			 record_form_is_otlp(output->form) ? "file" : "pprof");
}

char *record_config(const struct record_options *options, int32_t pid,
		    const struct record_output *output)
{
	json_t *all = json_pack("{s:{s:o}, s:o, s:o}", "receivers", "profiling",
				receiver(options, pid, output), "exporters", exporter(output),
				"service", service(output));

	return own_config_source(all);
}
