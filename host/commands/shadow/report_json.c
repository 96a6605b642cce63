// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <jansson.h>
#include <math.h>

enum { SERVICES_MAX = 100 };

/* null for what is not known. */
static json_t *real(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *both(const uint64_t values[TALLY_SIDES])
{
	return json_pack("{s:o, s:o}", "profcol", integer(values[TALLY_OWN]), "other",
			 integer(values[TALLY_OTHER]));
}

static json_t *function(const struct comparison_function *from)
{
	return json_pack("{s:s, s:s, s:o}", "function", from->name, "file", from->file, "samples",
			 both(from->samples));
}

static json_t *service(const struct comparison_service *from, const char *name)
{
	json_t *hottest = json_array();

	for (size_t i = 0; hottest && i < from->hottest_count; i++) {
		if (json_array_append_new(hottest, function(&from->hottest[i]))) {
			json_decref(hottest);
			return NULL;
		}
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", name, "samples",
			 both(from->samples), "complete_stacks", both(from->whole), "agreement",
			 real(from->agreement), "expected", real(from->expected), "by_file",
			 real(from->by_file), "hottest", hottest);
}

/* What is beyond the bound is in `all`. */
static json_t *services(const struct comparison *comparison)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < comparison->services.count && i < SERVICES_MAX; i++) {
		const struct comparison_service *from = &comparison->services.items[i];

		if (json_array_append_new(list, service(from, from->name))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *profiler(const struct report *report, enum tally_side side)
{
	const struct tally_side_figures *figures = &report->tally->figures[side];
	const struct report_cost *cost = &report->costs[side];

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "samples", integer(figures->inside), "samples_before",
			 integer(figures->before), "samples_after", integer(figures->after),
			 "samples_without_time", integer(figures->untimed), "samples_not_compared",
			 integer(figures->unplaced), "events_of_other_kinds",
			 integer(figures->other_kinds), "values_without_period",
			 integer(figures->unscaled), "period_ns", integer(figures->period_ns),
			 "cpu", real(cost->cpu), "bpf_cpu", real(cost->bpf), "memory_bytes",
			 real(cost->memory_bytes), "bpf_map_bytes", real(cost->maps_bytes),
			 "otlp_bytes", integer(report_bytes(report, side)));
}

static json_t *pids(const struct report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < report->pid_count; i++) {
		if (json_array_append_new(list, json_integer(report->pids[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

bool report_print_json(const struct report *report, FILE *to)
{
	const struct comparison *comparison = report->comparison;
	json_t *all = json_pack(
		"{s:s, s:s, s:o, s:o, s:{s:o, s:o}, s:o, s:b, s:o, s:s, s:o, s:o, s:o, s:o}",
		"version", report->version, "address", report->address, "from_unix_ns",
		integer(report->tally->from_ns), "to_unix_ns", integer(report->tally->to_ns),
		"profilers", "profcol", profiler(report, TALLY_OWN), "other",
		profiler(report, TALLY_OTHER), "other_pids", pids(report), "other_pids_ended",
		report->pids_ended, "profcol_samples_lost", integer(report->lost),
		"profcol_loss_causes", report->lost_causes ? report->lost_causes : "",
		"places_refused", integer(report->tally->places.refused), "service_count",
		integer(comparison->services.count), "services", services(comparison), "all",
		service(&comparison->all, "all"));
	bool done = all && !json_dumpf(all, to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));

	json_decref(all);
	if (done)
		fputc('\n', to);
	return done;
}
