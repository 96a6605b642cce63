// SPDX-License-Identifier: Apache-2.0
/* Frames are read once for each program, within bounds, and what failed is read once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_memory/frame_names.h"

#include <string.h>

static const uint64_t MS = 1000000;

static struct frame_names names;

static int set_up(void **state)
{
	(void)state;
	frame_names_init(&names, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	frame_names_deinit(&names);
	assert_int_equal(names.bytes, 0);
	assert_int_equal(names.count, 0);
	return 0;
}

static struct frame_question question(uint32_t pid, uint64_t object)
{
	return (struct frame_question){
		.key = { .pid = pid, .exec_id = 3, .start_boottime_ns = 5 },
		.runtime = RUNTIME_HOTSPOT,
		.frame = { .object = object, .position = 7, .check = 9 },
	};
}

/* Whether whoever reads is to be woken. */
static bool ask(uint32_t pid, uint64_t object, uint64_t now_ns)
{
	const struct frame_question asked = question(pid, object);

	return frame_names_ask(&names, &asked, now_ns);
}

static enum frame_state state_of(uint32_t pid, uint64_t object)
{
	const struct frame_question asked = question(pid, object);
	const struct frame_name *name = NULL;
	enum frame_state state = frame_names_find(&names, &asked, &name);

	assert_int_equal(state == FRAME_NAMED, name != NULL);
	return state;
}

static struct frame_name *make_name(size_t bytes)
{
	struct frame_name *name = calloc(1, sizeof(*name) + bytes);

	assert_non_null(name);
	name->bytes = sizeof(*name) + bytes;
	return name;
}

/* What is due at @now_ns is read, and ends in @state. Returns how many frames that were. */
static size_t read_next(uint64_t now_ns, enum frame_state state)
{
	struct named_process *process = frame_names_next(&names, now_ns);
	struct runtime_frame frames[16];
	uint32_t runtime;
	size_t count;

	if (!process)
		return 0;
	count = frame_names_take(process, &runtime, frames, 16);
	assert_int_equal(runtime, RUNTIME_HOTSPOT);
	assert_null(frame_names_next(&names, now_ns)); // as long as it is being read
	for (size_t i = 0; i < count; i++)
		frame_names_learn(&names, process, runtime, &frames[i], state,
				  state == FRAME_NAMED ? make_name(100) : NULL, now_ns);
	return count;
}

static void frames_that_come_together_are_read_together(void **state)
{
	(void)state;
	for (uint64_t object = 1; object <= 10; object++)
		assert_int_equal(ask(7, object, MS), object == 1);
	assert_false(ask(7, 3, 2 * MS));
	assert_null(frame_names_next(&names, 2 * MS));
	assert_int_equal(state_of(7, 3), FRAME_WANTED);
	assert_int_equal(read_next(frame_names_due_ns(&names), FRAME_NAMED), 10);
	assert_int_equal(state_of(7, 3), FRAME_NAMED);
	assert_false(ask(7, 3, 100 * MS));
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
}

/* One frame of process 7 is asked for and read; how long others were waited for. */
static uint64_t gathered(uint64_t object, uint64_t now_ns, enum frame_state state)
{
	const struct frame_question asked = question(7, object);
	uint64_t due_ns;

	assert_true(ask(7, object, now_ns));
	due_ns = frame_names_due_ns(&names);
	assert_int_equal(read_next(due_ns, state), 1);
	frame_names_note_answer(frame_names_process(&names, &asked.key), 1, state == FRAME_GONE,
				due_ns);
	return due_ns - now_ns;
}

static void few_frames_are_gathered_for_longer(void **state)
{
	const struct frame_question asked = question(7, 1);
	uint64_t now = MS, object = 1, length = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		uint64_t next = gathered(object++, now += 10000 * MS, FRAME_NAMED);

		assert_in_range(next, length, 2 * length + 2 * MS);
		length = next;
	}
	assert_in_range(length, 100 * MS, 500 * MS);
	// So many at a time are not few.
	frame_names_note_answer(frame_names_process(&names, &asked.key), 17, 0, 0);
	assert_in_range(gathered(object++, now += 10000 * MS, FRAME_NAMED), 0, length / 2);
	// One that is gone was waited too long for.
	gathered(object++, now += 10000 * MS, FRAME_GONE);
	assert_in_range(gathered(object++, now += 10000 * MS, FRAME_NAMED), 0, 10 * MS);
	for (int i = 0; i < 20; i++)
		assert_true(gathered(object++, now += 10000 * MS, FRAME_NAMED) <= length / 2);
}

static void who_waits_for_names_does_not_wait_for_more_frames(void **state)
{
	const struct frame_question asked = question(7, 1);
	uint64_t now = MS;

	(void)state;
	for (uint64_t object = 1; object < 20; object++)
		gathered(object, now += 10000 * MS, FRAME_NAMED);
	ask(7, 100, now += 10000 * MS);
	assert_null(frame_names_next(&names, now + 20 * MS));
	assert_true(frame_names_hurry(&names));
	assert_false(frame_names_hurry(&names));
	assert_int_equal(read_next(now, FRAME_NAMED), 1);
	// But a process rests.
	frame_names_note_answer(frame_names_process(&names, &asked.key), 1, 0, now + 50 * MS);
	ask(7, 101, now);
	frame_names_hurry(&names);
	assert_null(frame_names_next(&names, now + 49 * MS));
	assert_non_null(frame_names_next(&names, now + 50 * MS));
}

static void what_finds_no_room_is_counted(void **state)
{
	(void)state;
	frame_names_deinit(&names);
	frame_names_init(&names, 64 << 20);
	for (uint64_t object = 1; object <= FRAME_NAMES_WANTED + 5; object++)
		ask(7, object, MS);
	assert_int_equal(names.dropped, 5);
	assert_int_equal(state_of(7, FRAME_NAMES_WANTED), FRAME_WANTED);
	assert_int_equal(state_of(7, FRAME_NAMES_WANTED + 1), FRAME_CROWDED);
}

static void programs_are_told_apart(void **state)
{
	struct frame_question other = question(7, 1);
	const struct frame_name *name;

	(void)state;
	ask(7, 1, MS);
	assert_int_equal(read_next(100 * MS, FRAME_NAMED), 1);
	other.key.exec_id++;
	assert_int_equal(frame_names_find(&names, &other, &name), FRAME_CROWDED);
	other = question(7, 1);
	other.frame.check++;
	assert_int_equal(frame_names_find(&names, &other, &name), FRAME_CROWDED);
	other = question(7, 1);
	other.frame.position++;
	assert_int_equal(frame_names_find(&names, &other, &name), FRAME_CROWDED);
}

static void what_failed_is_read_again_later_unless_the_program_has_ended(void **state)
{
	(void)state;
	ask(7, 1, MS);
	assert_int_equal(read_next(100 * MS, FRAME_UNREADABLE), 1);
	ask(7, 1, 200 * MS);
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
	ask(7, 1, 2000 * MS);
	assert_int_equal(read_next(3000 * MS, FRAME_GONE), 1);
	// The same may be made again at the same place.
	ask(7, 1, 9000 * MS);
	assert_int_equal(read_next(9100 * MS, FRAME_ENDED), 1);
	ask(7, 1, 20000 * MS);
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
	assert_int_equal(state_of(7, 1), FRAME_ENDED);
}

static void who_is_given_up_is_not_read(void **state)
{
	const struct frame_question asked = question(7, 1);

	(void)state;
	ask(7, 1, MS);
	frame_names_give_up(&names, frame_names_process(&names, &asked.key), FRAME_SILENT,
			    UINT64_MAX, MS);
	assert_int_equal(state_of(7, 1), FRAME_SILENT);
	ask(7, 1, 5000 * MS);
	ask(7, 2, 5000 * MS);
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
	assert_int_equal(state_of(7, 2), FRAME_SILENT);
}

/* It may have held a lock for a moment, or the machine had no time: or it does so for ever. */
static void who_gives_no_answer_is_asked_again_some_times(void **state)
{
	const struct frame_question asked = question(7, 1);
	uint64_t now = MS;

	(void)state;
	for (uint64_t pause = 1000 * MS; pause <= 16000 * MS; pause *= 2) {
		struct named_process *process;

		ask(7, 1, now);
		assert_int_equal(read_next(now + 10 * MS, FRAME_SILENT), 1);
		process = frame_names_process(&names, &asked.key);
		ask(7, 2, now + 10 * MS);
		frame_names_fall_silent(&names, process, FRAME_SILENT, now);
		assert_int_equal(state_of(7, 2), FRAME_SILENT);
		now += pause;
		ask(7, 1, now - 1);
		ask(7, 3, now - 1);
		assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
		assert_int_equal(state_of(7, 3), FRAME_SILENT);
		now += 1000 * MS;
	}
	frame_names_fall_silent(&names, frame_names_process(&names, &asked.key), FRAME_SILENT, now);
	ask(7, 1, now + 3600000 * MS);
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
}

static void who_has_answered_since_is_as_at_first(void **state)
{
	const struct frame_question asked = question(7, 1);

	(void)state;
	for (int i = 0; i < 10; i++) {
		uint64_t now = MS + i * 10000 * MS;

		ask(7, 1, now);
		frame_names_fall_silent(&names, frame_names_process(&names, &asked.key),
					FRAME_SILENT, now);
		ask(7, 10 + i, now + 2000 * MS);
		// Any answer is one.
		assert_int_equal(read_next(now + 2100 * MS, i % 2 ? FRAME_NAMED : FRAME_GONE), 1);
		frame_names_note_answer(frame_names_process(&names, &asked.key), 0, 0,
					now + 2100 * MS);
	}
}

/* The one that takes most loses its names first; the others keep theirs. */
static void memory_is_bounded(void **state)
{
	uint64_t now = MS;

	(void)state;
	ask(8, 1, now);
	assert_int_equal(read_next(now += 100 * MS, FRAME_NAMED), 1);
	for (uint64_t object = 1; object <= 20000; object++) {
		ask(7, object, now);
		read_next(now += 10 * MS, FRAME_NAMED);
		frame_names_trim(&names);
		assert_true(names.bytes <= names.most_bytes);
	}
	assert_true(names.evicted > 0);
	assert_int_equal(state_of(8, 1), FRAME_NAMED);
	assert_int_equal(state_of(7, 20000), FRAME_NAMED);
}

/* Nor does it help to have it in many programs. */
static void who_has_many_programs_makes_room_of_his_own(void **state)
{
	const struct process_key victim = question(8, 1).key;
	uint64_t now = MS;

	(void)state;
	// More than any program of the other one has.
	for (uint64_t object = 1; object <= 1000; object++)
		ask(8, object, now);
	while (read_next(now += 100 * MS, FRAME_NAMED))
		;
	frame_names_note_owner(&names, frame_names_process(&names, &victim),
			       (struct owner){ 1000, 0 });
	for (uint32_t pid = 100; names.evicted < 10000; pid++) {
		const struct process_key key = question(pid, 1).key;

		for (uint64_t object = 1; object <= 100; object++)
			ask(pid, object, now);
		frame_names_note_owner(&names, frame_names_process(&names, &key),
				       (struct owner){ 1001, pid });
		while (read_next(now += 100 * MS, FRAME_NAMED))
			;
		frame_names_trim(&names);
	}
	assert_int_equal(frame_names_process(&names, &victim)->rows.frames.count, 1000);
}

/* Code that is made again and again does not cost the names of code that stays. */
static void what_is_met_again_keeps_its_name(void **state)
{
	uint64_t now = MS;

	(void)state;
	for (uint64_t object = 1; object <= 20000; object++) {
		ask(7, 1u << 20, now);
		ask(7, object, now);
		read_next(now += 10 * MS, FRAME_NAMED);
		frame_names_trim(&names);
		assert_int_equal(state_of(7, 1u << 20), FRAME_NAMED);
		assert_int_equal(state_of(7, object), FRAME_NAMED);
	}
	assert_in_range(names.evicted, 10000, 20000);
	assert_int_equal(state_of(7, 1), FRAME_CROWDED);
}

/* What is still to be read when room is made is read afterwards. */
static void what_waits_is_read_when_room_was_made(void **state)
{
	uint64_t now = MS;
	uint64_t object = 1;

	(void)state;
	while (!names.evicted) {
		ask(7, object++, now);
		read_next(now += 10 * MS, FRAME_NAMED);
		ask(7, 1u << 20, now);
		frame_names_trim(&names);
	}
	assert_int_equal(state_of(7, 1u << 20), FRAME_NAMED);
	ask(7, 1u << 21, now);
	names.most_bytes = names.bytes - 1;
	frame_names_trim(&names);
	assert_int_equal(state_of(7, 1u << 21), FRAME_WANTED);
	assert_int_equal(read_next(now + 10 * MS, FRAME_NAMED), 1);
	assert_int_equal(state_of(7, 1u << 21), FRAME_NAMED);
}

/* So does one whose answer comes when it was forgotten. */
static void an_answer_may_come_too_late(void **state)
{
	const struct frame_question asked = question(7, 1);
	struct named_process *process;
	struct runtime_frame frames[1];
	uint32_t runtime;

	(void)state;
	ask(7, 1, MS);
	process = frame_names_next(&names, 100 * MS);
	assert_int_equal(frame_names_take(process, &runtime, frames, 1), 1);
	frame_names_forget(&names, 200 * MS);
	assert_non_null(frame_names_process(&names, &asked.key)); // it is being read
	frame_names_learn(&names, process, runtime, frames, FRAME_NAMED, make_name(1), 300 * MS);
	// Once more, as if it had been asked for twice.
	frame_names_learn(&names, process, runtime, frames, FRAME_NAMED, make_name(1), 300 * MS);
	assert_int_equal(state_of(7, 1), FRAME_NAMED);
	frame_names_forget(&names, 200 * MS);
	assert_null(frame_names_process(&names, &asked.key));
}

static void who_waits_waits_for_what_was_asked_before(void **state)
{
	struct named_process *process;
	struct runtime_frame frames[4];
	uint32_t runtime;

	(void)state;
	assert_true(frame_names_are_settled(&names, 10 * MS, 60 * MS));
	ask(7, 1, 5 * MS);
	assert_false(frame_names_are_settled(&names, 10 * MS, 60 * MS));
	assert_true(frame_names_are_settled(&names, 4 * MS, 60 * MS));
	process = frame_names_next(&names, 50 * MS);
	frame_names_take(process, &runtime, frames, 4);
	assert_false(frame_names_are_settled(&names, 10 * MS, 60 * MS));
	ask(7, 2, 20 * MS);
	frame_names_learn(&names, process, runtime, &frames[0], FRAME_GONE, NULL, 30 * MS);
	assert_true(frame_names_are_settled(&names, 10 * MS, 60 * MS));
	assert_false(frame_names_are_settled(&names, 20 * MS, 60 * MS));
	// One that was read too much is not waited for.
	process->due_ns = 500 * MS;
	assert_true(frame_names_are_settled(&names, 20 * MS, 60 * MS));
}

/* Nothing is known of the program of what is due at @now_ns. False: it is not waited for. */
static bool postpone_next(uint64_t now_ns)
{
	struct named_process *process = frame_names_next(&names, now_ns);
	struct runtime_frame frames[16];
	uint32_t runtime;
	size_t count;

	assert_non_null(process);
	count = frame_names_take(process, &runtime, frames, 16);
	if (frame_names_postpone(&names, process, runtime, frames, count, now_ns))
		return true;
	for (size_t i = 0; i < count; i++)
		frame_names_learn(&names, process, runtime, &frames[i], FRAME_UNKNOWN, NULL,
				  now_ns);
	return false;
}

static void a_program_that_is_not_known_yet_is_waited_for(void **state)
{
	(void)state;
	ask(7, 1, MS);
	ask(7, 2, MS);
	assert_true(postpone_next(10 * MS));
	assert_int_equal(state_of(7, 1), FRAME_WANTED);
	assert_null(frame_names_next(&names, 10 * MS));
	assert_in_range(frame_names_due_ns(&names), 11 * MS, 100 * MS);
	assert_false(frame_names_are_settled(&names, 5 * MS, 60 * MS));
	ask(7, 3, 50 * MS);
	assert_int_equal(read_next(100 * MS, FRAME_NAMED), 3);
	assert_int_equal(state_of(7, 1), FRAME_NAMED);
	assert_int_equal(state_of(7, 3), FRAME_NAMED);
	assert_true(frame_names_are_settled(&names, 100 * MS, 200 * MS));
}

static void a_thread_may_get_another_name(void **state)
{
	struct frame_question asked = question(7, 1);
	struct named_process *process;
	struct runtime_frame frames[256];
	uint32_t runtime;

	(void)state;
	asked.frame.kind = RUNTIME_THREAD;
	frame_names_ask(&names, &asked, MS);
	assert_int_equal(read_next(100 * MS, FRAME_NAMED), 1);
	frame_names_ask(&names, &asked, 5000 * MS);
	assert_int_equal(read_next(5100 * MS, FRAME_NAMED), 0);
	frame_names_ask(&names, &asked, 11000 * MS);
	assert_int_equal(read_next(11100 * MS, FRAME_GONE), 1);
	// It is one of before until there is another.
	assert_int_equal(frame_names_find(&names, &asked, &(const struct frame_name *){ NULL }),
			 FRAME_NAMED);
	// Of many some are read at a time, after all frames.
	for (uint64_t thread = 0; thread < 200; thread++) {
		asked.frame.object = 100 + thread;
		frame_names_ask(&names, &asked, 20000 * MS);
	}
	ask(7, 1, 20000 * MS);
	process = frame_names_next(&names, 20100 * MS);
	assert_non_null(process);
	assert_int_equal(frame_names_take(process, &runtime, frames, 256), 1);
	assert_int_equal(frames[0].object, 1);
	assert_int_equal(frame_names_take(process, &runtime, frames, 256), 128);
}

static struct frame_question thread_question(uint64_t thread)
{
	struct frame_question asked = question(7, thread);

	asked.frame.kind = RUNTIME_THREAD;
	return asked;
}

static void threads_without_names_are_asked_less_and_less_often(void **state)
{
	const struct frame_question asked = thread_question(8);

	(void)state;
	frame_names_ask(&names, &asked, MS);
	assert_int_equal(read_next(100 * MS, FRAME_MALFORMED), 1);
	frame_names_ask(&names, &asked, 1200 * MS);
	assert_int_equal(read_next(1300 * MS, FRAME_MALFORMED), 1);
	frame_names_ask(&names, &asked, 2500 * MS);
	assert_int_equal(read_next(2600 * MS, FRAME_MALFORMED), 0);
	frame_names_ask(&names, &asked, 3400 * MS);
	assert_int_equal(read_next(3500 * MS, FRAME_NAMED), 1);
}

static void threads_that_cannot_be_read_leave_frames_their_names(void **state)
{
	const struct frame_question asked = thread_question(8);
	struct named_process *process;

	(void)state;
	frame_names_ask(&names, &asked, MS);
	ask(7, 1, MS);
	process = frame_names_process(&names, &asked.key);
	frame_names_rest_threads(&names, process, FRAME_SILENT, MS);
	assert_int_equal(frame_names_find(&names, &asked, &(const struct frame_name *){ NULL }),
			 FRAME_SILENT);
	assert_int_equal(read_next(100 * MS, FRAME_NAMED), 1);
	assert_int_equal(state_of(7, 1), FRAME_NAMED);
	frame_names_ask(&names, &asked, 900 * MS);
	assert_int_equal(read_next(1000 * MS, FRAME_NAMED), 0);
}

/* A thread that ends has a name no more, which says nothing of the others of its program. */
static void threads_that_end_cost_the_others_no_names(void **state)
{
	uint64_t now_ns = MS;

	(void)state;
	for (uint32_t thread = 8; thread < 20; thread++, now_ns += 1100 * MS) {
		const struct frame_question asked = thread_question(thread);

		frame_names_ask(&names, &asked, now_ns);
		assert_int_equal(
			read_next(now_ns + 10 * MS, thread == 8 ? FRAME_NAMED : FRAME_MALFORMED),
			1);
	}
}

/* Each time that reading them takes too long, they rest for twice as long, at most five minutes. */
static void threads_that_took_too_long_are_read_again(void **state)
{
	const struct frame_question asked = thread_question(8);
	uint64_t now_ns = MS, rest_ns = 1000 * MS;

	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		frame_names_ask(&names, &asked, now_ns);
		assert_int_equal(read_next(now_ns + 10 * MS, FRAME_SILENT), 1);
		frame_names_rest_threads(&names, frame_names_process(&names, &asked.key),
					 FRAME_SILENT, now_ns);
		frame_names_ask(&names, &asked, now_ns + rest_ns - 1);
		assert_int_equal(read_next(now_ns + rest_ns + 10 * MS, FRAME_NAMED), 0);
		now_ns += rest_ns + 1000 * MS;
		rest_ns = 2 * rest_ns < 300000 * MS ? 2 * rest_ns : 300000 * MS;
	}
	frame_names_ask(&names, &asked, now_ns);
	assert_int_equal(read_next(now_ns + 10 * MS, FRAME_NAMED), 1);
}

/* A map that has been written to once. */
static struct code_map_state map_of(uint64_t bytes)
{
	return (struct code_map_state){ .bytes = bytes, .modified_ns = 1 };
}

/* A map that has not changed still has names of code that had not run before. */
static void a_map_is_known_for_what_was_looked_for_in_it(void **state)
{
	struct runtime_frame frames[] = { { .object = 1 }, { .object = 2 } };
	struct named_process *process;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct frame_question asked = question(7, 0);

		asked.runtime = RUNTIME_NONE;
		asked.frame = frames[i];
		frame_names_ask(&names, &asked, MS);
	}
	process = frame_names_process(&names, &(struct process_key){ 7, 3, 5 });
	frame_names_note_map(&names, process, frames, 1, map_of(100));
	assert_true(frame_names_know_map(&names, process, frames, 1, map_of(100)));
	assert_false(frame_names_know_map(&names, process, frames, 1, map_of(101)));
	assert_false(frame_names_know_map(&names, process, frames, 2, map_of(100)));
	// One that is written anew may be as long as before.
	assert_false(frame_names_know_map(&names, process, frames, 1,
					  (struct code_map_state){ 100, .modified_ns = 2 }));
	frame_names_note_map(&names, process, frames, 2, map_of(101));
	assert_true(frame_names_know_map(&names, process, frames, 2, map_of(101)));
}

static void a_map_is_looked_for_again_later_and_later(void **state)
{
	static const uint64_t rests_s[] = { 1, 2, 4, 8, 16, 30, 30 };
	struct frame_question asked = question(7, 1);
	struct named_process *process;
	uint64_t now = MS;

	(void)state;
	asked.runtime = RUNTIME_NONE;
	ask(7, 2, now);
	process = frame_names_process(&names, &asked.key);
	assert_int_equal(read_next(now + 100 * MS, FRAME_NAMED), 1);
	for (size_t i = 0; i < sizeof(rests_s) / sizeof(*rests_s); i++) {
		frame_names_note_no_map(process, now);
		now += rests_s[i] * 1000 * MS;
		frame_names_ask(&names, &asked, now - 1);
		assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
	}
	frame_names_ask(&names, &asked, now);
	assert_true(frame_names_due_ns(&names) < UINT64_MAX);
}

static void a_program_that_stays_unknown_is_given_up(void **state)
{
	uint64_t now = 10 * MS;

	(void)state;
	ask(7, 1, MS);
	while (postpone_next(now)) {
		now = frame_names_due_ns(&names);
		assert_in_range(now, 1, 2000 * MS);
	}
	assert_in_range(now, 500 * MS, 1500 * MS);
	assert_int_equal(state_of(7, 1), FRAME_UNKNOWN);
	assert_int_equal(frame_names_due_ns(&names), UINT64_MAX);
	assert_true(frame_names_are_settled(&names, now, now));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(frames_that_come_together_are_read_together),
		TEST(few_frames_are_gathered_for_longer),
		TEST(who_waits_for_names_does_not_wait_for_more_frames),
		TEST(what_finds_no_room_is_counted),
		TEST(programs_are_told_apart),
		TEST(what_failed_is_read_again_later_unless_the_program_has_ended),
		TEST(who_is_given_up_is_not_read),
		TEST(who_gives_no_answer_is_asked_again_some_times),
		TEST(who_has_answered_since_is_as_at_first),
		TEST(memory_is_bounded),
		TEST(who_has_many_programs_makes_room_of_his_own),
		TEST(what_is_met_again_keeps_its_name),
		TEST(what_waits_is_read_when_room_was_made),
		TEST(an_answer_may_come_too_late),
		TEST(who_waits_waits_for_what_was_asked_before),
		TEST(a_program_that_is_not_known_yet_is_waited_for),
		TEST(a_thread_may_get_another_name),
		TEST(threads_without_names_are_asked_less_and_less_often),
		TEST(threads_that_cannot_be_read_leave_frames_their_names),
		TEST(threads_that_end_cost_the_others_no_names),
		TEST(threads_that_took_too_long_are_read_again),
		TEST(a_map_is_known_for_what_was_looked_for_in_it),
		TEST(a_map_is_looked_for_again_later_and_later),
		TEST(a_program_that_stays_unknown_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
