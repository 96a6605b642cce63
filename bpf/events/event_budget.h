/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Which of many events become samples, and for how much each stands: the code that decides, which
 * the programs run and the unit tests simulate.
 *
 * An event has an amount: nanoseconds of waiting, a number of faults. One of amount d is kept with
 * the probability min(1, d / threshold), and then counts max(d, threshold): so whatever is summed
 * up, by stack or thread or over all, has the true sum as its expectation (Horvitz and Thompson,
 * 1952). The threshold follows the number of samples that were kept before, so that there are about
 * `rate` of them in a second. An event has no part in the threshold that it is judged by: it is
 * decided first, and counted afterwards.
 *
 * One of each CPU; nothing else runs there meanwhile that uses it.
 */
#pragma once

#include <linux/types.h>

enum {
	EVENT_BUDGET_WINDOW = 20, /* samples that a window should have: few enough to follow */
};

#define EVENT_BUDGET_SECOND   1000000000ull
#define EVENT_BUDGET_SHORTEST (EVENT_BUDGET_SECOND / 10)
#define EVENT_BUDGET_LONGEST  (EVENT_BUDGET_SECOND * 2)
#define EVENT_BUDGET_MOST     (1ull << 40) /* of a threshold: 18 minutes, in nanoseconds */

struct event_budget {
	__u64 threshold; /* of an amount; 0: none was chosen yet, and `first` is to be taken */
	__u64 begin_ns, end_ns; /* of the window; 0: none has begun */
	__u32 kept;             /* samples in it */
	__u32 most;             /* with so many it ends early */
};

struct event_budget_limits {
	__u32 rate; /* samples in a second; 0: none at all */
	__u32 reserved;
	__u64 first; /* threshold to begin with, from `least` on */
	__u64 least; /* amount that nothing is below, or that is too little to tell apart; not 0 */
};

/*
 * Returns the value that an event of @amount is kept with; 0: the event is not kept. @lot has 32
 * random bits. The product of 32 and 40 bits is computed in two parts, so that it does not
 * overflow.
 */
static inline __attribute__((always_inline)) __u64
event_budget_weigh(const struct event_budget *budget, const struct event_budget_limits *limits,
		   __u64 amount, __u32 lot)
{
	__u64 threshold = budget->threshold ? budget->threshold : limits->first;
	__u64 point = (__u64)lot * (threshold >> 32) + ((__u64)lot * (__u32)threshold >> 32);

	if (!limits->rate || !amount)
		return 0;
	if (amount >= threshold)
		return amount;
	return point < amount ? threshold : 0;
}

static inline __attribute__((always_inline)) __u64 event_budget_window(__u32 rate)
{
	__u64 window = EVENT_BUDGET_WINDOW * EVENT_BUDGET_SECOND / (rate ? rate : 1);

	if (window < EVENT_BUDGET_SHORTEST)
		return EVENT_BUDGET_SHORTEST;
	return window < EVENT_BUDGET_LONGEST ? window : EVENT_BUDGET_LONGEST;
}

/* The threshold by which there would have been @wanted in place of @kept: small differences are
 * chance, and no step is greater than these. */
static inline __attribute__((always_inline)) __u64 event_budget_next(__u64 threshold, __u64 kept,
								     __u64 wanted)
{
	if (4 * kept > 5 * wanted)
		return kept >= 16 * wanted ? 16 * threshold : threshold * kept / wanted;
	if (4 * kept < 3 * wanted)
		return 8 * kept <= wanted ? threshold / 8 : threshold * kept / wanted;
	return threshold;
}

static inline __attribute__((always_inline)) void event_budget_begin(struct event_budget *budget,
								     __u32 rate, __u64 now_ns)
{
	__u64 window = event_budget_window(rate);

	budget->begin_ns = now_ns;
	budget->end_ns = now_ns + window;
	budget->kept = 0;
	budget->most = (__u32)(2 * rate * window / EVENT_BUDGET_SECOND) + 2;
}

/*
 * After the decision about an event at @now_ns, of which a sample was made or not: @kept. Where far
 * too many are kept the window ends early, and what it should have had is less by as much.
 */
static inline __attribute__((always_inline)) void
event_budget_note(struct event_budget *budget, const struct event_budget_limits *limits,
		  __u64 now_ns, _Bool kept)
{
	__u64 threshold = budget->threshold ? budget->threshold : limits->first;
	__u64 passed, window, wanted;

	if (kept)
		budget->kept++;
	if (now_ns < budget->end_ns && budget->kept < budget->most)
		return;
	if (budget->begin_ns) {
		passed = now_ns - budget->begin_ns;
		window = budget->end_ns - budget->begin_ns;
		// A long time without events is one window, which did not use its budget up.
		if (passed >= 4 * window)
			passed = window;
		wanted = limits->rate * passed / EVENT_BUDGET_SECOND;
		threshold = event_budget_next(threshold, budget->kept, wanted ? wanted : 1);
		if (threshold < limits->least)
			threshold = limits->least;
		if (threshold > EVENT_BUDGET_MOST)
			threshold = EVENT_BUDGET_MOST;
		budget->threshold = threshold;
	}
	event_budget_begin(budget, limits->rate, now_ns);
}
