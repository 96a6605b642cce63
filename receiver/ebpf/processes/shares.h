/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What owners have of a table, a queue or a budget that all processes share, so that none of them
 * can have all of it.
 *
 * Of n owners each is sure of its share, 1/(n + 1): there is one for who comes next, too. As long
 * as there is room anyone may have more, but an eighth is kept for those that have less than their
 * share (shares_admit). When that is used up, entries of the largest owner go (shares_largest),
 * those first that would go anyway. Containers of one user count as one here, and share that among
 * themselves, lest a user to whom cgroups were handed over be many; root's containers, which only
 * root can make, count one by one.
 *
 * One thread at a time.
 */
#pragma once

#include "owner.h"

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHARES_KEPT = 8 }; /* for the small: one part of so many */

/* All zero is empty. */
struct shares {
	VECTOR(struct share {
		struct owner owner;
		uint64_t held; /* not 0 */
	})
	all;             /* by user, then by container */
	uint64_t others; /* what those have for whom there was no place here */
	uint32_t users;  /* that count as one: users, and root's containers */
};

void shares_deinit(struct shares *shares);

/* @owner has @amount more, or less again. Of more than 4,096 owners at a time the rest is not told
 * apart. */
void shares_add(struct shares *shares, struct owner owner, uint64_t amount);
void shares_take(struct shares *shares, struct owner owner, uint64_t amount);

/* Each owner has @amount less, or nothing. */
void shares_shrink(struct shares *shares, uint64_t amount);

/* @amount of what @from has is @to's from now on. */
void shares_move(struct shares *shares, struct owner from, struct owner to, uint64_t amount);

uint64_t shares_of(const struct shares *shares, struct owner owner);

/* May @owner have @amount more of @room, of which so much is @free? */
bool shares_admit(const struct shares *shares, struct owner owner, uint64_t amount, uint64_t room,
		  uint64_t free);

/* How much @owner has less than its share of @room; 0: no less. */
uint64_t shares_left(const struct shares *shares, struct owner owner, uint64_t room);

/* What there has to be free for the small of @room. */
uint64_t shares_reserve(uint64_t room);

/*
 * Whose entries make room for @amount more of @owner's where nothing is kept for the small: the
 * largest owner's, when it has no less than @owner after that. False: nobody's.
 */
bool shares_yields(const struct shares *shares, struct owner owner, uint64_t amount,
		   struct owner *ret);

/*
 * Whose entries go so that others have theirs: the largest owner, when it has more than its share
 * of @room. False: nobody has.
 */
bool shares_largest(const struct shares *shares, uint64_t room, struct owner *ret);
