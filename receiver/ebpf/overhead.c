// SPDX-License-Identifier: Apache-2.0
#include "overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

#define SECOND 1000000000ull

/* The kernel side is loaded and all that runs is read for the first time: no rate changes that. */
static const uint64_t START_NS = 20 * SECOND;
/* What was sampled at the rate before is still on its way out. */
static const uint64_t SETTLE_NS = 5 * SECOND;
static const uint64_t SHORT_NS = 10 * SECOND;
static const uint64_t LONG_NS = 30 * SECOND;
static const uint64_t WINDOW_NS = 60 * SECOND; /* then another one begins */
static const uint64_t MEMORY_NS = 10 * SECOND; /* until a change shows */
/* Until fewer samples are tried again where they did not help, and did not again and again. */
static const uint64_t VAIN_NS = 600 * SECOND, VAIN_MOST_NS = 3600 * SECOND;

enum { STEPS_TRIED = 2 }; /* of the rate, before it is judged what they have freed */

/* Shares of a limit. */
static const double AIM = 0.9, CLEARLY_OVER = 1.15, UNUSED = 0.8;
/* One step of the rate. */
static const double STEP_DOWN = 0.25, STEP_UP = 2, STEP_LEAST = 0.05;
static const double MEMORY_STEP = 0.7;
static const double MEMORY_STEP_UP = 1.2; /* from UNUSED not beyond the limit */
/* Of the memory: two steps of the rate, half of all samples, are too much for less. */
static const double FREED_LEAST = 0.025;

bool overhead_parse_cpu(const char *text, double *ret)
{
	char *end;
	double percent;

	if (!*text) {
		*ret = 0;
		return true;
	}
	// strtod() would take spaces, signs, infinities and hexadecimal numbers.
	if (text[strspn(text, "0123456789.")] != '%')
		return false;
	percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0 || percent < 0.01 || percent > 10000)
		return false;
	*ret = percent / 100;
	return true;
}

static void begin_window(struct overhead *overhead, const struct overhead_cost *cost,
			 uint64_t settle_ns)
{
	overhead->begin_ns = cost->now_ns + settle_ns;
	overhead->begin_cpu_ns = cost->cpu_ns;
}

void overhead_init(struct overhead *overhead, const struct overhead_limits *limits,
		   const struct overhead_cost *cost)
{
	*overhead = (struct overhead){
		.limits = *limits,
		.rate = (double)limits->most_rate,
		.memory_rate = (double)limits->most_rate,
		.tables_bytes = limits->most_tables,
		.mean_bytes = (double)cost->memory_bytes,
		.mean_ns = cost->now_ns,
		.vain_ns = VAIN_NS,
	};
	begin_window(overhead, cost, START_NS);
}

uint64_t overhead_period_ns(const struct overhead *overhead)
{
	return (uint64_t)(SECOND / overhead->rate);
}

/* At most @most; true when it changes. */
static bool set_rate(struct overhead *overhead, double rate, double most)
{
	rate = larger(rate, OVERHEAD_LEAST_RATE);
	// The last step up is to be the highest rate itself.
	rate = rate * (1 + STEP_LEAST) > most ? most : rate;
	if (rate == overhead->rate)
		return false;
	overhead->rate = rate;
	return true;
}

/* The share of @cpu that would be there without samples: by the line through two rates. */
static double fixed_share(const struct overhead *overhead, double cpu)
{
	double run = overhead->rate - overhead->last_rate;

	if (overhead->last_rate == 0 || fabs(run) < overhead->rate * 2 * STEP_LEAST)
		return 0;
	return smaller(larger(cpu - (cpu - overhead->last_cpu) / run * overhead->rate, 0),
		       0.9 * cpu);
}

/* The factor to the rate by which CPU would come to what is aimed at. */
static double factor_for(const struct overhead *overhead, double cpu)
{
	double aim = AIM * overhead->limits.cpu, fixed = fixed_share(overhead, cpu);

	// Where the rest is more than what is aimed at, as far down as it goes.
	return cpu > 0 ? (aim - fixed) / (cpu - fixed) : STEP_UP;
}

static bool is_over(double share, uint64_t length_ns)
{
	return (length_ns >= SHORT_NS && share > CLEARLY_OVER) ||
	       (length_ns >= LONG_NS && share > 1);
}

/* What memory lets the rate be now. */
static double most_rate(const struct overhead *overhead, uint64_t now_ns)
{
	if (overhead->rate < overhead->memory_rate || now_ns - overhead->room_since_ns < LONG_NS)
		return overhead->memory_rate;
	return smaller(overhead->rate * MEMORY_STEP_UP, (double)overhead->limits.most_rate);
}

static void change_by(struct overhead *overhead, const struct overhead_cost *cost, double cpu,
		      double factor, enum overhead_reason reason,
		      struct overhead_decision *decision)
{
	double from = overhead->rate;

	if (!set_rate(overhead, from * factor, most_rate(overhead, cost->now_ns))) {
		if (!overhead->at_floor)
			decision->floor_reason = reason;
		overhead->at_floor = true;
		begin_window(overhead, cost, 0);
		return;
	}
	overhead->at_floor = false;
	if (overhead->rate > overhead->memory_rate) {
		overhead->memory_rate = overhead->rate;
		overhead->room_since_ns = cost->now_ns;
	}
	overhead->last_rate = from;
	overhead->last_cpu = cpu;
	decision->rate_reason = reason;
	begin_window(overhead, cost, SETTLE_NS);
}

/* Without a limit of its own CPU leaves room for any rate. */
static void check_cpu(struct overhead *overhead, const struct overhead_cost *cost,
		      struct overhead_decision *decision)
{
	uint64_t length_ns = cost->now_ns - overhead->begin_ns;
	double limit = overhead->limits.cpu;
	double cpu = (double)(cost->cpu_ns - overhead->begin_cpu_ns) / (double)length_ns;
	double share = limit > 0 ? cpu / limit : 0;
	double factor = limit > 0 ? factor_for(overhead, cpu) : STEP_UP;

	decision->cpu = cpu;
	if (is_over(share, length_ns))
		change_by(overhead, cost, cpu, smaller(larger(factor, STEP_DOWN), 1 - STEP_LEAST),
			  OVERHEAD_CPU, decision);
	else if (length_ns >= LONG_NS && share < UNUSED &&
		 overhead->rate < most_rate(overhead, cost->now_ns))
		change_by(overhead, cost, cpu, larger(smaller(factor, STEP_UP), 1 + STEP_LEAST),
			  OVERHEAD_ROOM, decision);
	else if (length_ns >= WINDOW_NS)
		begin_window(overhead, cost, 0);
}

/* The mean of memory over some ten seconds, since a worker reads a large file for a moment. */
static void take_mean(struct overhead *overhead, const struct overhead_cost *cost)
{
	double passed = (double)(cost->now_ns - overhead->mean_ns);
	double weight = passed / (passed + (double)MEMORY_NS);

	if (!overhead->mean_bytes)
		weight = 1;
	overhead->mean_bytes += ((double)cost->memory_bytes - overhead->mean_bytes) * weight;
	overhead->mean_ns = cost->now_ns;
}

/* Have fewer samples freed next to nothing, or would there be too little memory even at the lowest
 * rate? By the line through the present rate and the one at which most was taken. */
static bool is_vain(const struct overhead *overhead, const struct overhead_cost *cost)
{
	double now = smaller(overhead->mean_bytes, (double)cost->memory_bytes);
	double freed = larger(overhead->peak_bytes - now, 0);
	double each = freed / (overhead->peak_rate - overhead->rate);
	double rest = now - each * (overhead->rate - OVERHEAD_LEAST_RATE);

	return freed < FREED_LEAST * overhead->peak_bytes ||
	       rest > (double)overhead->limits.memory_bytes;
}

/* Something else than samples takes the memory: a lower rate would lose them for nothing. */
static void give_back_rate(struct overhead *overhead, const struct overhead_cost *cost,
			   struct overhead_decision *decision)
{
	overhead->rate = overhead->memory_rate = overhead->tried_rate;
	overhead->steps = 0;
	overhead->vain_until_ns = cost->now_ns + overhead->vain_ns;
	overhead->vain_bytes = overhead->mean_bytes;
	overhead->vain_ns =
		2 * overhead->vain_ns < VAIN_MOST_NS ? 2 * overhead->vain_ns : VAIN_MOST_NS;
	overhead->last_rate = 0;
	overhead->at_floor = false;
	decision->rate_reason = OVERHEAD_VAIN;
	begin_window(overhead, cost, SETTLE_NS);
}

/* Is it known that fewer samples do not help? Not where more memory is taken since. */
static bool knows_vain(const struct overhead *overhead, const struct overhead_cost *cost)
{
	return cost->now_ns < overhead->vain_until_ns &&
	       (double)cost->memory_bytes <= CLEARLY_OVER * overhead->vain_bytes;
}

static bool is_over_for_long(const struct overhead *overhead, const struct overhead_cost *cost)
{
	double limit = (double)overhead->limits.memory_bytes;

	return overhead->mean_bytes > limit || (double)cost->memory_bytes > CLEARLY_OVER * limit;
}

/* False: nothing is to be done for now. */
static bool lower_rate_for_memory(struct overhead *overhead, const struct overhead_cost *cost,
				  struct overhead_decision *decision)
{
	if (overhead->steps >= STEPS_TRIED && overhead->rate < overhead->tried_rate &&
	    is_vain(overhead, cost)) {
		give_back_rate(overhead, cost, decision);
		return true;
	}
	if (knows_vain(overhead, cost) || !is_over_for_long(overhead, cost))
		return false;
	if (!overhead->steps++) {
		overhead->tried_rate = overhead->rate;
		overhead->peak_bytes = 0;
	}
	if (overhead->mean_bytes > overhead->peak_bytes) {
		overhead->peak_bytes = overhead->mean_bytes;
		overhead->peak_rate = overhead->rate;
	}
	change_by(overhead, cost, 0, MEMORY_STEP, OVERHEAD_MEMORY, decision);
	overhead->memory_rate = overhead->rate;
	overhead->last_rate = 0;
	return true;
}

/* As lower_rate_for_memory(). */
static bool lower_memory(struct overhead *overhead, const struct overhead_cost *cost,
			 struct overhead_decision *decision)
{
	uint64_t aim = (uint64_t)(AIM * (double)overhead->limits.memory_bytes);
	uint64_t excess = cost->memory_bytes - aim, tables = overhead->limits.least_tables;

	if (cost->tables_bytes > tables && overhead->tables_bytes > tables) {
		if (cost->tables_bytes > tables + excess)
			tables = cost->tables_bytes - excess;
		if (tables >= overhead->tables_bytes)
			tables = (uint64_t)((double)overhead->tables_bytes * MEMORY_STEP);
		if (tables < overhead->limits.least_tables)
			tables = overhead->limits.least_tables;
		overhead->tables_bytes = tables;
		decision->tables_reason = OVERHEAD_MEMORY;
		return true;
	}
	return lower_rate_for_memory(overhead, cost, decision);
}

/* By half of what is left. */
static void raise_tables(struct overhead *overhead, const struct overhead_cost *cost,
			 struct overhead_decision *decision)
{
	uint64_t most = overhead->limits.most_tables;
	uint64_t room = overhead->limits.memory_bytes - cost->memory_bytes;
	uint64_t tables = overhead->tables_bytes + room / 2;

	overhead->tables_bytes = tables < most ? tables : most;
	decision->tables_reason = OVERHEAD_ROOM;
}

/* Memory was free for a while: what earlier trials of lower rates have shown holds no longer. */
static void forget_trials(struct overhead *overhead)
{
	overhead->steps = 0;
	overhead->vain_ns = VAIN_NS;
}

static void check_memory(struct overhead *overhead, const struct overhead_cost *cost,
			 struct overhead_decision *decision)
{
	uint64_t limit = overhead->limits.memory_bytes;
	bool room = (double)cost->memory_bytes < UNUSED * (double)limit;

	take_mean(overhead, cost);
	if (!room)
		overhead->room_since_ns = cost->now_ns;
	if (cost->now_ns - overhead->room_since_ns >= LONG_NS)
		forget_trials(overhead);
	if (cost->now_ns < overhead->no_memory_change_before_ns)
		return;
	if (cost->memory_bytes > limit) {
		if (!lower_memory(overhead, cost, decision))
			return;
	} else if (room && cost->now_ns - overhead->room_since_ns >= WINDOW_NS &&
		   overhead->tables_bytes < overhead->limits.most_tables) {
		raise_tables(overhead, cost, decision);
	} else {
		return;
	}
	overhead->no_memory_change_before_ns = cost->now_ns + MEMORY_NS;
	overhead->room_since_ns = cost->now_ns;
}

struct overhead_decision overhead_check(struct overhead *overhead, const struct overhead_cost *cost)
{
	struct overhead_decision decision = { 0 };

	if (overhead->limits.memory_bytes)
		check_memory(overhead, cost, &decision);
	if (decision.rate_reason != OVERHEAD_STAYS)
		return decision;
	// Until it begins, all that was spent lies before the window.
	if (cost->now_ns <= overhead->begin_ns)
		overhead->begin_cpu_ns = cost->cpu_ns;
	else
		check_cpu(overhead, cost, &decision);
	return decision;
}
