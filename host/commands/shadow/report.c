// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum {
	SERVICES_MAX = 20,
	NAME_COLUMNS = 28,
	FUNCTION_COLUMNS = 50,
	FILE_COLUMNS = 24,
	CELL_SIZE = 32,
};

uint64_t report_bytes(const struct report *report, enum tally_side side)
{
	const struct tally_side_figures *figures = &report->tally->figures[side];

	if (!figures->observed)
		return 0;
	return (uint64_t)((double)figures->bytes * (double)figures->inside /
			  (double)figures->observed);
}

/* ---- cells ---- */

struct cell {
	char text[CELL_SIZE];
};

static struct cell whole_number(uint64_t value)
{
	struct cell cell;

	snprintf(cell.text, sizeof(cell.text), "%" PRIu64, value);
	return cell;
}

static struct cell number(const char *format, double value) __attribute__((format(printf, 1, 0)));
static struct cell number(const char *format, double value)
{
	struct cell cell = { .text = "-" };

	if (!isnan(value))
		snprintf(cell.text, sizeof(cell.text), format, value);
	return cell;
}

static struct cell share(uint64_t part, uint64_t whole)
{
	return number("%.1f", whole ? 100.0 * (double)part / (double)whole : (double)NAN);
}

/* The characters of @text that fit into @columns, each taken to be one wide. */
static void print_text(const char *text, int columns, bool pad, FILE *to)
{
	size_t end = 0;
	int used = 0;

	while (text[end] && used < columns) {
		used++;
		for (end++; ((unsigned char)text[end] & 0xc0) == 0x80; end++)
			;
	}
	fprintf(to, "%.*s%*s", (int)end, text, pad ? columns - used : 0, "");
}

/* ---- the two profilers ---- */

static void print_row(FILE *to, const char *name, struct cell own, struct cell other)
{
	fprintf(to, "%-*s %14s %14s\n", NAME_COLUMNS, name, own.text, other.text);
}

static void print_profilers(const struct report *report, FILE *to)
{
	const struct tally_side_figures *own = &report->tally->figures[TALLY_OWN];
	const struct tally_side_figures *other = &report->tally->figures[TALLY_OTHER];
	const struct report_cost *costs = report->costs;
	const struct comparison_service *all = &report->comparison->all;
	const double mib = 1 << 20, nan = (double)NAN;

	print_row(to, "", (struct cell){ "profcol" }, (struct cell){ "other" });
	print_row(to, "samples", whole_number(own->inside), whole_number(other->inside));
	print_row(to, "  outside of this time", whole_number(own->before + own->after),
		  whole_number(other->before + other->after));
	print_row(to, "samples a second of a CPU",
		  number("%.4g", own->period_ns ? 1e9 / (double)own->period_ns : nan),
		  number("%.4g", other->period_ns ? 1e9 / (double)other->period_ns : nan));
	print_row(to, "complete stacks, %", share(all->whole[TALLY_OWN], own->inside),
		  share(all->whole[TALLY_OTHER], other->inside));
	print_row(to, "CPU, % of one", number("%.2f", 100 * costs[TALLY_OWN].cpu),
		  number("%.2f", 100 * costs[TALLY_OTHER].cpu));
	print_row(to, "  its BPF programs", number("%.2f", 100 * costs[TALLY_OWN].bpf),
		  number("%.2f", 100 * costs[TALLY_OTHER].bpf));
	print_row(to, "memory, MiB", number("%.1f", costs[TALLY_OWN].memory_bytes / mib),
		  number("%.1f", costs[TALLY_OTHER].memory_bytes / mib));
	print_row(to, "  BPF maps", number("%.1f", costs[TALLY_OWN].maps_bytes / mib),
		  number("%.1f", costs[TALLY_OTHER].maps_bytes / mib));
	print_row(to, "OTLP of these samples, KiB",
		  number("%.1f", (double)report_bytes(report, TALLY_OWN) / 1024),
		  number("%.1f", (double)report_bytes(report, TALLY_OTHER) / 1024));
}

/* ---- services, functions ---- */

static void print_service(const struct comparison_service *service, const char *name, FILE *to)
{
	const uint64_t *samples = service->samples, *whole = service->whole;

	print_text(name, NAME_COLUMNS, true, to);
	fprintf(to, " %9" PRIu64 " %9" PRIu64 " %8s %8s %8s %8s %8s\n", samples[TALLY_OWN],
		samples[TALLY_OTHER], share(whole[TALLY_OWN], samples[TALLY_OWN]).text,
		share(whole[TALLY_OTHER], samples[TALLY_OTHER]).text,
		number("%.0f", 100 * service->agreement).text,
		number("%.0f", 100 * service->expected).text,
		number("%.0f", 100 * service->by_file).text);
}

static void print_services(const struct report *report, FILE *to)
{
	const struct comparison *comparison = report->comparison;
	struct comparison_service rest = {
		.agreement = (double)NAN,
		.expected = (double)NAN,
		.by_file = (double)NAN,
	};
	char name[CELL_SIZE];

	fprintf(to, "\n%-*s %19s %17s %26s\n", NAME_COLUMNS, "", "samples", "complete, %",
		"hottest functions, %");
	fprintf(to, "%-*s %9s %9s %8s %8s %8s %8s %8s\n", NAME_COLUMNS, "service", "profcol",
		"other", "profcol", "other", "agree", "expected", "by file");
	for (size_t i = 0; i < comparison->services.count; i++) {
		const struct comparison_service *service = &comparison->services.items[i];

		if (i < SERVICES_MAX)
			print_service(service, service->name, to);
		for (int side = 0; i >= SERVICES_MAX && side < TALLY_SIDES; side++) {
			rest.samples[side] += service->samples[side];
			rest.whole[side] += service->whole[side];
		}
	}
	if (comparison->services.count > SERVICES_MAX) {
		snprintf(name, sizeof(name), "(%zu more)",
			 comparison->services.count - SERVICES_MAX);
		print_service(&rest, name, to);
	}
	print_service(&comparison->all, "all", to);
}

static void print_functions(const struct comparison_service *all, FILE *to)
{
	fprintf(to, "\n%9s %9s  function\n", "profcol,%", "other,%");
	for (size_t i = 0; i < all->hottest_count; i++) {
		const struct comparison_function *function = &all->hottest[i];

		fprintf(to, "%9s %9s  ",
			share(function->samples[TALLY_OWN], all->samples[TALLY_OWN]).text,
			share(function->samples[TALLY_OTHER], all->samples[TALLY_OTHER]).text);
		print_text(*function->name ? function->name : "without a name", FUNCTION_COLUMNS,
			   false, to);
		fputs(*function->file ? " (" : "", to);
		print_text(function->file, FILE_COLUMNS, false, to);
		fputs(*function->file ? ")\n" : "\n", to);
	}
}

/* ---- all ---- */

static void print_time(uint64_t unix_ns, const char *format, FILE *to)
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	char text[40];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	if (strftime(text, sizeof(text), format, &utc))
		fputs(text, to);
}

/* What the figures do not say by themselves. */
static void print_side_remarks(const struct tally_side_figures *figures, const char *name, FILE *to)
{
	if (figures->untimed)
		fprintf(to,
			"%s: %" PRIu64
			" samples have no time stamps; they count as of the middle of "
			"their profile\n",
			name, figures->untimed);
	if (figures->other_kinds)
		fprintf(to, "%s: %" PRIu64 " events are no samples of CPU time: not compared\n",
			name, figures->other_kinds);
	if (figures->unscaled)
		fprintf(to,
			"%s: %" PRIu64
			" values of CPU time have neither time stamps nor a period: not compared\n",
			name, figures->unscaled);
	if (figures->unplaced)
		fprintf(to, "%s: %" PRIu64 " samples are too many to be compared\n", name,
			figures->unplaced);
}

static void print_cost_remarks(const struct report *report, FILE *to)
{
	int pid = (int)report->pids[0];
	const char *more = report->pid_count > 1 ? " and others" : "";

	if (!report->pid_count) {
		fputs("other: its process is not found; --pid N says which it is\n", to);
		return;
	}
	if (report->pids_ended) {
		fprintf(to,
			"other: process %d%s has not been there from begin to end: no CPU and "
			"memory\n",
			pid, more);
		return;
	}
	fprintf(to,
		"CPU and memory: of process %d%s; profcol's CPU without receiving and comparing\n",
		pid, more);
	if (isnan(report->costs[TALLY_OTHER].maps_bytes))
		fprintf(to,
			"other: no BPF programs and maps of process %d%s can be seen; is it a "
			"relay? "
			"then --pid N\n",
			pid, more);
}

static void print_remarks(const struct report *report, FILE *to)
{
	const struct tally_side_figures *own = &report->tally->figures[TALLY_OWN];
	const struct tally_side_figures *other = &report->tally->figures[TALLY_OTHER];
	double difference = own->period_ns && other->period_ns
				    ? (double)other->period_ns / (double)own->period_ns - 1
				    : 0;

	fputc('\n', to);
	if (fabs(difference) > 0.01)
		fprintf(to,
			"the rates differ, and so do numbers of samples: --frequency %.0f takes "
			"as many\n",
			1e9 / (double)other->period_ns);
	print_cost_remarks(report, to);
	if (report->tally->places.refused)
		fputs("some places in code did not fit into memory: they are without a name\n", to);
	if (report->lost)
		fprintf(to, "profcol: %" PRIu64 " samples lost in the whole run: %.50s\n",
			report->lost, report->lost_causes);
	print_side_remarks(own, "profcol", to);
	print_side_remarks(other, "other", to);
}

void report_print(const struct report *report, FILE *to)
{
	const struct tally *tally = report->tally;

	fprintf(to, "%.1f s", (double)(tally->to_ns - tally->from_ns) / 1e9);
	if (tally->to_ns - tally->from_ns < tally->span_ns)
		fprintf(to, " of %.0f", (double)tally->span_ns / 1e9);
	fputs(" that both have sampled: ", to);
	print_time(tally->from_ns, "%Y-%m-%d %H:%M:%S", to);
	print_time(tally->to_ns, " to %H:%M:%S UTC\n\n", to);
	print_profilers(report, to);
	print_services(report, to);
	print_functions(&report->comparison->all, to);
	print_remarks(report, to);
}
