// SPDX-License-Identifier: Apache-2.0
#include "read_time.h"

/* An owner of whom nothing was read for a second may have a quarter of one at once, as when many
 * programs start; one that is read without end has a quarter of each moment, and so keeps nobody
 * waiting long. */
enum { PART = 4 };
static const uint64_t MOST_NS = 250000000;

/* More than that is not owed: a reading that took very long keeps the next ones of its owner
 * waiting for a second, not longer. */
static const uint64_t DEBT_NS = 500000000;

/* So often at most is what has been spent written off, so that no time is lost by rounding. */
static const uint64_t STEP_NS = 5000000;

void read_time_deinit(struct read_time *time)
{
	shares_deinit(&time->spent);
}

static void write_off(struct read_time *time, uint64_t now_ns)
{
	if (now_ns < time->since_ns + STEP_NS)
		return;
	shares_shrink(&time->spent, (now_ns - time->since_ns) / PART);
	time->since_ns = now_ns;
}

bool read_time_is_left(struct read_time *time, struct owner owner, uint64_t now_ns)
{
	// Nobody has to be protected from root.
	if (!owner.uid && !owner.container)
		return true;
	write_off(time, now_ns);
	return shares_of(&time->spent, owner_payer(owner)) < MOST_NS;
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
	uint64_t room = DEBT_NS - (spent < DEBT_NS ? spent : DEBT_NS);

	shares_add(&time->spent, owner_payer(owner), ns < room ? ns : room);
}
