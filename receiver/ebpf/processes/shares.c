// SPDX-License-Identifier: Apache-2.0
#include "shares.h"

#include <string.h>

enum { OWNERS_MOST = 4096 };

void shares_deinit(struct shares *shares)
{
	VECTOR_DEINIT(&shares->all);
	*shares = (struct shares){ 0 };
}

static bool is_before(struct owner a, struct owner b)
{
	return a.uid != b.uid ? a.uid < b.uid : a.container < b.container;
}

/* Where @owner stands, or would. */
static size_t place_of(const struct shares *shares, struct owner owner)
{
	size_t low = 0, high = shares->all.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(shares->all.items[middle].owner, owner))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct shares *shares, size_t place, struct owner owner)
{
	return place < shares->all.count && owner_is(shares->all.items[place].owner, owner);
}

/* Does one that counts with the one at @place stand beside it? */
static bool has_fellow(const struct shares *shares, size_t place)
{
	const struct share *at = &shares->all.items[place];

	return (place > 0 && owner_pays_with(at[-1].owner, at->owner)) ||
	       (place + 1 < shares->all.count && owner_pays_with(at[1].owner, at->owner));
}

void shares_add(struct shares *shares, struct owner owner, uint64_t amount)
{
	size_t place = place_of(shares, owner);
	struct share *items;

	if (!amount)
		return;
	if (is_at(shares, place, owner)) {
		shares->all.items[place].held += amount;
		return;
	}
	if (shares->all.count >= OWNERS_MOST || !VECTOR_RESERVE(&shares->all, 1)) {
		shares->others += amount;
		return;
	}
	items = shares->all.items;
	memmove(items + place + 1, items + place, (shares->all.count - place) * sizeof(*items));
	items[place] = (struct share){ owner, amount };
	shares->all.count++;
	shares->users += !has_fellow(shares, place);
}

void shares_take(struct shares *shares, struct owner owner, uint64_t amount)
{
	size_t place = place_of(shares, owner);
	struct share *items = shares->all.items;
	uint64_t taken = 0;

	if (is_at(shares, place, owner)) {
		taken = items[place].held < amount ? items[place].held : amount;
		items[place].held -= taken;
		if (!items[place].held) {
			shares->users -= !has_fellow(shares, place);
			shares->all.count--;
			memmove(items + place, items + place + 1,
				(shares->all.count - place) * sizeof(*items));
		}
	}
	// It was added when there was no place for its owner.
	amount -= taken;
	shares->others -= shares->others < amount ? shares->others : amount;
}

void shares_shrink(struct shares *shares, uint64_t amount)
{
	size_t kept = 0;

	shares->users = 0;
	shares->others -= shares->others < amount ? shares->others : amount;
	for (size_t i = 0; i < shares->all.count; i++) {
		struct share share = shares->all.items[i];

		if (share.held <= amount)
			continue;
		share.held -= amount;
		shares->users +=
			!kept || !owner_pays_with(shares->all.items[kept - 1].owner, share.owner);
		shares->all.items[kept++] = share;
	}
	shares->all.count = kept;
}

void shares_move(struct shares *shares, struct owner from, struct owner to, uint64_t amount)
{
	if (owner_is(from, to))
		return;
	shares_take(shares, from, amount);
	shares_add(shares, to, amount);
}

uint64_t shares_of(const struct shares *shares, struct owner owner)
{
	size_t place = place_of(shares, owner);

	return is_at(shares, place, owner) ? shares->all.items[place].held : 0;
}

/* What all have who count as one with the one at @first, and how many they are. They stand beside
 * each other. */
struct user {
	size_t first, count;
	uint64_t held;
};

static struct user user_at(const struct shares *shares, size_t first)
{
	const struct share *items = shares->all.items;
	struct user user = { .first = first };

	for (size_t i = first;
	     i < shares->all.count && owner_pays_with(items[i].owner, items[first].owner); i++) {
		user.held += items[i].held;
		user.count++;
	}
	return user;
}

static struct user user_of(const struct shares *shares, struct owner owner)
{
	// Of root each container counts, of others all that have the same number.
	struct owner first = { owner.uid, owner.uid ? 0 : owner.container };
	size_t place = place_of(shares, first);

	if (place < shares->all.count && owner_pays_with(shares->all.items[place].owner, owner))
		return user_at(shares, place);
	return (struct user){ .first = place };
}

uint64_t shares_reserve(uint64_t room)
{
	return room / SHARES_KEPT;
}

uint64_t shares_left(const struct shares *shares, struct owner owner, uint64_t room)
{
	struct user user = user_of(shares, owner);
	uint64_t own = shares_of(shares, owner);
	// As if there were one more, who comes next.
	uint64_t sure = room / (shares->users + !user.count + 1);
	uint64_t sure_own = sure / (user.count + !own);

	if (user.held >= sure || own >= sure_own)
		return 0;
	return sure - user.held < sure_own - own ? sure - user.held : sure_own - own;
}

bool shares_admit(const struct shares *shares, struct owner owner, uint64_t amount, uint64_t room,
		  uint64_t free)
{
	if (amount > free)
		return false;
	return free - amount >= shares_reserve(room) || amount <= shares_left(shares, owner, room);
}

/* What has most of all; and who of it. False: nobody has anything. */
static bool find_largest(const struct shares *shares, struct user *ret, struct share *share_ret)
{
	const struct share *items = shares->all.items;

	*ret = (struct user){ 0 };
	for (size_t i = 0; i < shares->all.count;) {
		struct user user = user_at(shares, i);

		if (user.held > ret->held)
			*ret = user;
		i += user.count;
	}
	*share_ret = (struct share){ 0 };
	for (size_t i = ret->first; i < ret->first + ret->count; i++)
		if (items[i].held > share_ret->held)
			*share_ret = items[i];
	return ret->count;
}

bool shares_yields(const struct shares *shares, struct owner owner, uint64_t amount,
		   struct owner *ret)
{
	uint64_t most, own;
	struct share share;
	struct user user;

	if (!find_largest(shares, &user, &share))
		return false;
	*ret = share.owner;
	if (owner_pays_with(share.owner, owner)) {
		most = share.held;
		own = shares_of(shares, owner);
	} else {
		most = user.held;
		own = user_of(shares, owner).held;
	}
	return most >= own + 2 * amount;
}

bool shares_largest(const struct shares *shares, uint64_t room, struct owner *ret)
{
	struct share share;
	struct user user;

	// Of that, too, it may be that nobody has more than what all are sure of.
	if (!find_largest(shares, &user, &share) || user.held <= room / (shares->users + 1))
		return false;
	*ret = share.owner;
	return true;
}
