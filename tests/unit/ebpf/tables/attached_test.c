// SPDX-License-Identifier: Apache-2.0
/* Which processes are looked at for what a runtime has in them, and which need not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receiver/ebpf/tables/attached.h"

#include <string.h>

static bool attach(const void *layout, uint64_t base, const struct runtime_memory *memory,
		   struct runtime_found *ret)
{
	(void)layout;
	(void)base;
	(void)memory;
	(void)ret;
	return false; // a worker would call it
}

static void foresee(const void *layout, uint64_t base, struct runtime_found *ret)
{
	*ret = (struct runtime_found){ .progress = 1, .complete = 1 };
	ret->data[0] = base + *(const uint64_t *)layout;
	ret->data_bytes = sizeof(uint64_t);
}

static const struct runtime foreseen = {
	.number = RUNTIME_CPYTHON,
	.layout_bytes = sizeof(uint64_t),
	.attach = attach,
	.foresee = foresee,
};

static const struct runtime looked_at = {
	.number = RUNTIME_HOTSPOT,
	.layout_bytes = sizeof(uint64_t),
	.attach = attach,
};

/* Of a file that says all, unless it is one that is not known. */
static void foresee_labels(const void *layout, uint64_t base, struct runtime_found *ret)
{
	foresee(layout, base, ret);
	if (*(const uint64_t *)layout == 13)
		*ret = (struct runtime_found){ .complete = 1, .refused = RUNTIME_REFUSED_VERSION };
}

static const struct runtime labelled = {
	.number = RUNTIME_GO,
	.layout_bytes = sizeof(uint64_t),
	.foresee = foresee_labels,
	.has_labels = true,
};

static const struct process_key key = { .pid = 7, .exec_id = 1, .start_boottime_ns = 5 };

static const struct owner owner_a = { 1000, 0 }, owner_b = { 1001, 0 };
static const uint64_t SECOND = 1000000000;
static const struct process_looked unanswered = { .unanswered = true, .spent_ns = 5000000000 };

static struct attached *create(struct attachments *attachments, const struct runtime *runtime,
			       uint64_t layout, uint64_t base)
{
	struct attached *attached =
		attached_create(attachments, &key, owner_a, runtime, &layout, base, 100);

	assert_non_null(attached);
	return attached;
}

static bool learn(struct attachments *attachments, struct attached *attached, bool complete)
{
	struct runtime_found found = { .progress = 1, .complete = complete };

	const struct process_looked looked = { .found = &found, .spent_ns = 10 };

	return attached_learn(attachments, attached, &looked, 200);
}

static void test_the_first_is_looked_at_and_the_next_are_not(void **state)
{
	struct attached *first, *next, *other;
	struct attachments attachments = { 0 };

	(void)state;
	attachments_init(&attachments);
	first = create(&attachments, &foreseen, 11, 0x1000);
	assert_true(first->wanted);
	assert_int_equal(attachments.of[RUNTIME_CPYTHON].known, 0);
	assert_true(learn(&attachments, first, true));
	assert_int_equal(attachments.of[RUNTIME_CPYTHON].known, 1);
	next = create(&attachments, &foreseen, 11, 0x5000);
	assert_false(next->wanted);
	assert_true(next->settled);
	assert_int_equal(next->found.data[0], 0x5000 + 11);
	assert_int_equal(attachments.of[RUNTIME_CPYTHON].known, 2);
	// What was said of one file says nothing of another one.
	other = create(&attachments, &foreseen, 12, 0x1000);
	assert_true(other->wanted);
	assert_int_equal(other->found.progress, 0);
	attached_destroy(&attachments, other);
	attached_destroy(&attachments, next);
	attached_destroy(&attachments, first);
	assert_int_equal(attachments.of[RUNTIME_CPYTHON].count, 0);
	assert_int_equal(attachments.of[RUNTIME_CPYTHON].known, 0);
}

static void test_what_was_not_found_whole_foresees_nothing(void **state)
{
	struct attached *first, *next;
	struct attachments attachments = { 0 };

	(void)state;
	attachments_init(&attachments);
	first = create(&attachments, &foreseen, 11, 0x1000);
	assert_true(learn(&attachments, first, false));
	next = create(&attachments, &foreseen, 11, 0x1000);
	assert_true(next->wanted);
	attached_destroy(&attachments, next);
	attached_destroy(&attachments, first);
}

static void test_each_process_of_other_runtimes_is_looked_at(void **state)
{
	struct attached *first, *next;
	struct attachments attachments = { 0 };

	(void)state;
	attachments_init(&attachments);
	first = create(&attachments, &looked_at, 11, 0x1000);
	assert_true(learn(&attachments, first, true));
	next = create(&attachments, &looked_at, 11, 0x1000);
	assert_true(next->wanted);
	attached_destroy(&attachments, next);
	attached_destroy(&attachments, first);
}

static void test_of_a_file_that_says_all_nobody_is_looked_at(void **state)
{
	struct attachments attachments = { 0 };
	struct attached *first, *refused;

	(void)state;
	attachments_init(&attachments);
	first = create(&attachments, &labelled, 11, 0x1000);
	assert_false(first->wanted);
	assert_int_equal(first->found.data[0], 0x1000 + 11);
	refused = create(&attachments, &labelled, 13, 0x1000);
	assert_false(refused->wanted);
	assert_int_equal(refused->found.data_bytes, 0);
	assert_int_equal(attachments.of[RUNTIME_GO].refused[RUNTIME_REFUSED_VERSION], 1);
	// Its stacks are known all the same.
	assert_int_equal(attachments.of[RUNTIME_GO].known, 2);
	attached_destroy(&attachments, refused);
	attached_destroy(&attachments, first);
	assert_int_equal(attachments.of[RUNTIME_GO].known, 0);
}

static void test_labels_that_are_not_wanted_are_not_foreseen(void **state)
{
	struct attachments attachments = { 0 };
	struct attached *one;

	(void)state;
	attachments_init(&attachments);
	attachments.unlabelled = 1u << RUNTIME_GO;
	one = create(&attachments, &labelled, 11, 0x1000);
	assert_int_equal(one->found.data_bytes, 0);
	assert_false(one->wanted);
	attached_destroy(&attachments, one);
	one = create(&attachments, &labelled, 13, 0x1000);
	assert_int_equal(attachments.of[RUNTIME_GO].refused[RUNTIME_REFUSED_VERSION], 0);
	attached_destroy(&attachments, one);
}

/* The oldest make room. */
static void test_so_many_files_are_remembered(void **state)
{
	struct attachments attachments = { 0 };

	(void)state;
	attachments_init(&attachments);
	for (uint64_t layout = 0; layout <= ATTACHMENTS_PROVEN; layout++) {
		struct attached *attached = create(&attachments, &foreseen, layout, 0);

		assert_true(attached->wanted);
		assert_true(learn(&attachments, attached, true));
		attached_destroy(&attachments, attached);
	}
	for (uint64_t layout = 0; layout <= ATTACHMENTS_PROVEN; layout++) {
		struct attached *attached = create(&attachments, &foreseen, layout, 0);

		assert_int_equal(attached->wanted, layout == 0);
		attached_destroy(&attachments, attached);
	}
}

/* A process whose look hangs keeps its owner's others waiting, in all containers, and nobody
 * else's. */
static void test_who_hangs_delays_its_owner_alone(void **state)
{
	const uint64_t began = 10 * SECOND, ended = began + 5 * SECOND, layout = 11;
	const struct process_key other_key = { .pid = 8, .exec_id = 1, .start_boottime_ns = 5 };
	struct attachments attachments = { 0 };
	struct attached *hung, *of_same, *other, taken;

	(void)state;
	attachments_init(&attachments);
	hung = create(&attachments, &looked_at, layout, 0x1000);
	assert_true(attachments_next(&attachments, began, &taken));
	attachments_spend(&attachments, owner_a, ended - began);
	attached_learn(&attachments, hung, &unanswered, ended);
	of_same = attached_create(&attachments, &key, (struct owner){ 1000, 7 }, &looked_at,
				  &layout, 0x3000, ended);
	assert_false(attachments_next(&attachments, ended, &taken));
	assert_in_range(attachments_due_ns(&attachments), ended + 18 * SECOND, ended + 20 * SECOND);
	other = attached_create(&attachments, &other_key, owner_b, &looked_at, &layout, 0x2000,
				ended);
	assert_int_equal(attachments_due_ns(&attachments), ended);
	assert_true(attachments_next(&attachments, ended, &taken));
	assert_int_equal(taken.key.pid, other_key.pid);
	assert_true(attachments_next(&attachments, attachments_due_ns(&attachments), &taken));
	attached_destroy(&attachments, other);
	attached_destroy(&attachments, of_same);
	attached_destroy(&attachments, hung);
	attachments_deinit(&attachments);
}

/* The next look is due, and got no answer. */
static void go_unanswered(struct attachments *attachments, struct attached *attached)
{
	uint64_t now = attachments_due_ns(attachments);
	struct attached taken;

	assert_true(attachments_next(attachments, now, &taken));
	assert_false(attached_learn(attachments, attached, &unanswered, now));
}

/* Who holds a lock of his memory for a moment, or has no CPU, is not nameless for ever. */
static void test_a_look_without_an_answer_is_made_again(void **state)
{
	struct attachments attachments = { 0 };
	struct attached *attached;

	(void)state;
	attachments_init(&attachments);
	attached = create(&attachments, &looked_at, 11, 0x1000);
	for (int i = 0; i < 5; i++) {
		uint64_t now = attachments_due_ns(&attachments);

		go_unanswered(&attachments, attached);
		// What it maps does not bring that forward.
		attached_changed(&attachments, attached, now + 1);
		assert_int_equal(attachments_due_ns(&attachments), now + (SECOND << i));
		assert_int_equal(attachments.of[RUNTIME_HOTSPOT].refused[RUNTIME_REFUSED_MEMORY],
				 0);
	}
	assert_true(learn(&attachments, attached, false));
	assert_int_equal(attachments.of[RUNTIME_HOTSPOT].known, 1);
	assert_true(attachments_due_ns(&attachments) < UINT64_MAX);
	// Since it has answered, all of them are counted anew.
	for (int i = 0; i < 5; i++)
		go_unanswered(&attachments, attached);
	assert_true(attachments_due_ns(&attachments) < UINT64_MAX);
	attached_destroy(&attachments, attached);
	attachments_deinit(&attachments);
}

static void test_who_never_answers_is_refused_once(void **state)
{
	struct attachments attachments = { 0 };
	struct attached *attached;

	(void)state;
	attachments_init(&attachments);
	attached = create(&attachments, &looked_at, 11, 0x1000);
	for (int i = 0; i < 6; i++)
		go_unanswered(&attachments, attached);
	assert_int_equal(attachments_due_ns(&attachments), UINT64_MAX);
	attached_changed(&attachments, attached, 1000 * SECOND);
	assert_int_equal(attachments_due_ns(&attachments), UINT64_MAX);
	assert_int_equal(attachments.of[RUNTIME_HOTSPOT].refused[RUNTIME_REFUSED_MEMORY], 1);
	attached_destroy(&attachments, attached);
	attachments_deinit(&attachments);
}

/* Others of its owner do not answer, or there was no room: that is no fault of its own, however
 * late it is heard of. */
static void test_who_is_not_looked_at_for_others_is_not_refused(void **state)
{
	struct attachments attachments = { 0 };
	struct attached *attached, taken;

	(void)state;
	attachments_init(&attachments);
	attached = create(&attachments, &looked_at, 11, 0x1000);
	for (int i = 0; i < 100; i++) {
		uint64_t now = attachments_due_ns(&attachments);
		const struct process_looked put_off = { .again_ns = now + 60 * SECOND };

		assert_true(attachments_next(&attachments, now, &taken));
		assert_false(attached_learn(&attachments, attached, &put_off, now));
		attached_changed(&attachments, attached, now + 1);
		assert_int_equal(attachments_due_ns(&attachments), now + 60 * SECOND);
		assert_true(attachments_next(&attachments, now + 60 * SECOND, &taken));
		assert_false(attached_learn(&attachments, attached, &put_off, now + 70 * SECOND));
		assert_int_equal(attachments_due_ns(&attachments), now + 60 * SECOND);
	}
	attached_destroy(&attachments, attached);
	attachments_deinit(&attachments);
}

/* It may map something all the time: that is no way to have all who read. But a worker that is
 * stopped is not its fault. */
static void test_while_a_look_hangs_there_is_one_more(void **state)
{
	const struct process_looked nothing = { .spent_ns = 10 };
	struct attachments attachments = { 0 };
	struct attached *attached, taken;

	(void)state;
	attachments_init(&attachments);
	attached = create(&attachments, &looked_at, 11, 0x1000);
	assert_true(attachments_next(&attachments, SECOND, &taken));
	attached_changed(&attachments, attached, SECOND + 1);
	assert_int_equal(attachments_due_ns(&attachments), 2 * SECOND);
	attached_changed(&attachments, attached, 2 * SECOND);
	assert_true(attachments_next(&attachments, 2 * SECOND, &taken));
	attached_changed(&attachments, attached, 3 * SECOND);
	assert_false(attachments_next(&attachments, 30 * SECOND, &taken));
	attached_learn(&attachments, attached, &nothing, 40 * SECOND);
	assert_true(attachments_next(&attachments, 50 * SECOND, &taken));
	assert_true(learn(&attachments, attached, true));
	assert_false(learn(&attachments, attached, true));
	assert_int_equal(attachments_due_ns(&attachments), UINT64_MAX);
	// What the first one says comes too late.
	assert_false(attached_learn(&attachments, attached, &unanswered, 60 * SECOND));
	assert_int_equal(attachments_due_ns(&attachments), UINT64_MAX);
	attached_destroy(&attachments, attached);
	attachments_deinit(&attachments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_is_looked_at_and_the_next_are_not),
		cmocka_unit_test(test_what_was_not_found_whole_foresees_nothing),
		cmocka_unit_test(test_each_process_of_other_runtimes_is_looked_at),
		cmocka_unit_test(test_of_a_file_that_says_all_nobody_is_looked_at),
		cmocka_unit_test(test_labels_that_are_not_wanted_are_not_foreseen),
		cmocka_unit_test(test_so_many_files_are_remembered),
		cmocka_unit_test(test_who_hangs_delays_its_owner_alone),
		cmocka_unit_test(test_a_look_without_an_answer_is_made_again),
		cmocka_unit_test(test_who_never_answers_is_refused_once),
		cmocka_unit_test(test_who_is_not_looked_at_for_others_is_not_refused),
		cmocka_unit_test(test_while_a_look_hangs_there_is_one_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
