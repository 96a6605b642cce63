// SPDX-License-Identifier: Apache-2.0
/* What owners have of something shared: who may have more, and whose goes. */
#include "processes/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROOM = 4000 };

static const struct owner root = { 0, 0 }, someone = { 1000, 0 }, other = { 1001, 0 };

static uint64_t free_of(const struct shares *shares)
{
	uint64_t free = ROOM - shares->others;

	for (size_t i = 0; i < shares->all.count; i++)
		free -= shares->all.items[i].held;
	return free;
}

static bool take_one(struct shares *shares, struct owner owner)
{
	if (!shares_admit(shares, owner, 1, ROOM, free_of(shares)))
		return false;
	shares_add(shares, owner, 1);
	return true;
}

/* As much as @owner is let. */
static uint64_t grab(struct shares *shares, struct owner owner)
{
	uint64_t before = shares_of(shares, owner);

	while (take_one(shares, owner))
		;
	return shares_of(shares, owner) - before;
}

/* Those with most let go until there is what is kept. */
static void make_room(struct shares *shares)
{
	struct owner largest;

	while (free_of(shares) < shares_reserve(ROOM) && shares_largest(shares, ROOM, &largest))
		shares_take(shares, largest, 1);
}

static void who_is_alone_has_all_but_what_is_kept(void **state)
{
	struct shares shares = { 0 };

	(void)state;
	assert_int_equal(grab(&shares, someone), ROOM - shares_reserve(ROOM));
	shares_deinit(&shares);
}

static void who_comes_last_gets_its_share(void **state)
{
	const struct owner all[] = { someone, root, other, { 1002, 0 }, { 0, 77 } };
	struct shares shares = { 0 };

	(void)state;
	grab(&shares, someone);
	for (size_t round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			grab(&shares, all[i]);
			make_room(&shares);
		}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_true(shares_of(&shares, all[i]) >= ROOM / 6);
	shares_deinit(&shares);
}

static void who_has_little_loses_nothing(void **state)
{
	struct shares shares = { 0 };
	struct owner largest;

	(void)state;
	shares_add(&shares, root, 100);
	grab(&shares, someone);
	grab(&shares, other);
	make_room(&shares);
	assert_int_equal(shares_of(&shares, root), 100);
	assert_true(shares_largest(&shares, ROOM, &largest));
	assert_false(owner_is(largest, root));
	shares_deinit(&shares);
}

static void what_all_have_shrinks_together(void **state)
{
	const struct owner in_container = { 1000, 3 };
	struct shares shares = { 0 };

	(void)state;
	shares_add(&shares, someone, 10);
	shares_add(&shares, in_container, 30);
	shares_add(&shares, other, 20);
	assert_int_equal(shares.users, 2);
	shares_shrink(&shares, 10);
	assert_int_equal(shares_of(&shares, someone), 0);
	assert_int_equal(shares_of(&shares, in_container), 20);
	assert_int_equal(shares_of(&shares, other), 10);
	assert_int_equal(shares.users, 2);
	shares_shrink(&shares, 15);
	assert_int_equal(shares.users, 1);
	shares_shrink(&shares, 15);
	assert_int_equal(shares.users + shares.all.count, 0);
	shares_deinit(&shares);
}

static void containers_of_a_user_share_what_is_the_users(void **state)
{
	struct shares shares = { 0 };
	uint64_t held = 0;

	(void)state;
	shares_add(&shares, other, 1);
	for (uint64_t container = 1; container <= 100; container++) {
		grab(&shares, (struct owner){ 1000, container });
		make_room(&shares);
	}
	assert_true(grab(&shares, other) >= shares_reserve(ROOM) - 1);
	make_room(&shares);
	assert_true(grab(&shares, other) > 0);
	for (uint64_t container = 1; container <= 100; container++)
		held += shares_of(&shares, (struct owner){ 1000, container });
	assert_true(held <= ROOM - shares_of(&shares, other));
	assert_int_equal(shares.users, 2);
	shares_deinit(&shares);
}

static void of_a_user_the_largest_container_goes_first(void **state)
{
	const struct owner small = { 1000, 5 }, large = { 1000, 6 };
	struct shares shares = { 0 };
	struct owner largest;

	(void)state;
	shares_add(&shares, small, 900);
	shares_add(&shares, large, 1000);
	shares_add(&shares, root, 1500);
	assert_true(shares_largest(&shares, ROOM, &largest));
	assert_true(owner_is(largest, large));
	shares_deinit(&shares);
}

static void roots_containers_count_each(void **state)
{
	struct shares shares = { 0 };

	(void)state;
	for (uint64_t container = 1; container <= 9; container++)
		shares_add(&shares, (struct owner){ 0, container }, 10);
	assert_int_equal(shares.users, 9);
	for (uint64_t container = 1; container <= 9; container++)
		shares_take(&shares, (struct owner){ 0, container }, 10);
	assert_int_equal(shares.users, 0);
	assert_int_equal(shares.all.count, 0);
	shares_deinit(&shares);
}

/* In a queue, where nothing is kept. */
static void the_largest_makes_room_for_who_has_less(void **state)
{
	struct shares shares = { 0 };
	struct owner yielding;

	(void)state;
	shares_add(&shares, someone, 4);
	assert_false(shares_yields(&shares, someone, 1, &yielding));
	for (int i = 0; i < 2; i++) {
		assert_true(shares_yields(&shares, root, 1, &yielding));
		assert_true(owner_is(yielding, someone));
		shares_take(&shares, yielding, 1);
		shares_add(&shares, root, 1);
	}
	assert_false(shares_yields(&shares, root, 1, &yielding));
	shares_deinit(&shares);
}

static void owners_beyond_the_bound_are_not_told_apart(void **state)
{
	struct shares shares = { 0 };

	(void)state;
	for (uint32_t uid = 1; uid <= 5000; uid++)
		shares_add(&shares, (struct owner){ uid, 0 }, 2);
	assert_int_equal(shares.all.count, 4096);
	assert_int_equal(shares.others, 2 * (5000 - 4096));
	// One that had no place has one now, and less to give back than it took before.
	shares_take(&shares, (struct owner){ 7, 0 }, 2);
	shares_add(&shares, (struct owner){ 5000, 0 }, 1);
	shares_take(&shares, (struct owner){ 5000, 0 }, 3);
	for (uint32_t uid = 1; uid < 5000; uid++)
		if (uid != 7)
			shares_take(&shares, (struct owner){ uid, 0 }, 2);
	assert_int_equal(shares.all.count, 0);
	assert_int_equal(shares.others, 0);
	assert_int_equal(shares.users, 0);
	shares_deinit(&shares);
}

static void what_two_have_is_of_neither(void **state)
{
	(void)state;
	assert_true(owner_is(owner_join(someone, other), OWNER_SHARED));
	assert_true(owner_is(owner_join(someone, root), OWNER_SHARED));
	assert_true(owner_is(owner_join(OWNER_SHARED, root), OWNER_SHARED));
	assert_true(owner_is(owner_join(OWNER_UNKNOWN, someone), someone));
	assert_true(owner_is(owner_join(someone, OWNER_UNKNOWN), someone));
	assert_true(owner_is(owner_join((struct owner){ 1000, 1 }, (struct owner){ 1000, 2 }),
			     someone));
	assert_true(
		owner_is(owner_join((struct owner){ 0, 1 }, (struct owner){ 0, 2 }), OWNER_SHARED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_alone_has_all_but_what_is_kept),
		cmocka_unit_test(who_comes_last_gets_its_share),
		cmocka_unit_test(who_has_little_loses_nothing),
		cmocka_unit_test(what_all_have_shrinks_together),
		cmocka_unit_test(containers_of_a_user_share_what_is_the_users),
		cmocka_unit_test(of_a_user_the_largest_container_goes_first),
		cmocka_unit_test(roots_containers_count_each),
		cmocka_unit_test(the_largest_makes_room_for_who_has_less),
		cmocka_unit_test(owners_beyond_the_bound_are_not_told_apart),
		cmocka_unit_test(what_two_have_is_of_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
