// SPDX-License-Identifier: Apache-2.0
#include "read_time.h"

const struct read_time_terms read_time_of_proc = {
	.part = 4,
	.most_ns = 250000000,
	.debt_ns = 500000000,
};

/* So often at most is what has been spent written off, so that no time is lost by rounding. */
static const uint64_t STEP_NS = 5000000;

void read_time_init(struct read_time *time, const struct read_time_terms *terms)
{
	*time = (struct read_time){ .terms = terms };
}

void read_time_deinit(struct read_time *time)
{
	shares_deinit(&time->spent);
}

static void write_off(struct read_time *time, uint64_t now_ns)
{
	if (now_ns < time->since_ns + STEP_NS)
		return;
	shares_shrink(&time->spent, (now_ns - time->since_ns) / time->terms->part);
	time->since_ns = now_ns;
}

/* Nobody has to be protected from root. */
static bool is_free(struct owner owner)
{
	return owner_is(owner, OWNER_MACHINE);
}

bool read_time_is_left(struct read_time *time, struct owner owner, uint64_t now_ns)
{
	if (is_free(owner))
		return true;
	write_off(time, now_ns);
	return shares_of(&time->spent, owner_payer(owner)) < time->terms->most_ns;
}

uint64_t read_time_due_ns(const struct read_time *time, struct owner owner)
{
	uint64_t spent = is_free(owner) ? 0 : shares_of(&time->spent, owner_payer(owner)), rest;

	if (spent < time->terms->most_ns)
		return 0;
	rest = (spent - time->terms->most_ns + 1) * time->terms->part;
	return time->since_ns + (rest < STEP_NS ? STEP_NS : rest);
}

bool read_time_admit(struct read_time *time, struct owner owner, uint64_t now_ns)
{
	bool admitted = read_time_is_left(time, owner, now_ns);

	time->put_off += !admitted;
	return admitted;
}

void read_time_spend(struct read_time *time, struct owner owner, uint64_t ns)
{
	uint64_t spent = shares_of(&time->spent, owner_payer(owner));
	uint64_t debt = time->terms->debt_ns, room = debt - (spent < debt ? spent : debt);

	shares_add(&time->spent, owner_payer(owner), ns < room ? ns : room);
}
