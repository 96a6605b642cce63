// SPDX-License-Identifier: Apache-2.0
#include "read_time.h"

static const uint64_t WINDOW_NS = 1000000000, MOST_NS = 250000000;

void read_time_deinit(struct read_time *time)
{
	shares_deinit(&time->spent);
}

bool read_time_is_left(struct read_time *time, struct owner owner, uint64_t now_ns)
{
	// Nobody has to be protected from root.
	if (!owner.uid && !owner.container)
		return true;
	if (now_ns - time->since_ns >= WINDOW_NS) {
		shares_deinit(&time->spent);
		time->since_ns = now_ns;
	}
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
	shares_add(&time->spent, owner_payer(owner), ns);
}
