// SPDX-License-Identifier: Apache-2.0
/* Samples that wait for what is missing of their stacks: for how long, and what becomes of them. */
#include "deferred/deferred.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define MS 1000000ull

enum { KERNEL = 2, USER = 3, WORDS = 4, DEPTH = 100 };

static const uint64_t TAKEN_NS = 5000 * MS;

/* ---- what is known of the code ---- */

static struct {
	enum tables_found leaf, caller;
	struct process_key asked; /* of whose code */
	bool is_current;          /* the kernel side goes by the same as when the sample came */
	unsigned int walks, uncopied;
} known;

enum tables_found tables_find_code(struct tables *tables, const struct process_key *key,
				   uint64_t time_ns, uint64_t address, struct tables_code *ret)
{
	(void)tables;
	assert_int_equal(time_ns, TAKEN_NS);
	known.asked = *key;
	*ret = (struct tables_code){ .frame = address };
	if (address >= 0x1000 && address < 0x2000) {
		ret->rule = UNWIND_PACKED_SP | 1 << 5;
		return known.leaf;
	}
	ret->rule = UNWIND_RULE_END;
	return known.caller;
}

bool tables_begin_walk(struct tables *tables, const struct process_key *key, uint64_t time_ns,
		       struct tables_walk *ret)
{
	*ret = (struct tables_walk){ .tables = tables };
	assert_int_equal(time_ns, TAKEN_NS);
	known.asked = *key;
	known.walks += known.is_current;
	return known.is_current;
}

enum tables_found tables_walk_find(struct tables_walk *walk, uint64_t address,
				   struct tables_code *ret)
{
	assert_true(known.walks);
	return tables_find_code(walk->tables, &known.asked, TAKEN_NS, address, ret);
}

void tables_end_walk(struct tables_walk *walk)
{
	(void)walk;
	known.walks--;
}

void tables_copy_no_more(struct tables *tables, const struct process_key *key)
{
	(void)tables;
	assert_int_equal(key->pid, known.asked.pid);
	assert_int_equal(known.walks, 0); // its lock is not held
	known.uncopied++;
}

const struct unwind_rule *tables_rule(const struct tables *tables, uint32_t number)
{
	(void)tables;
	(void)number;
	return NULL;
}

/* ---- a host ---- */

static struct {
	char label[32];
	struct profcol_metric metric;
} metrics[16];

static struct profcol_metric *find_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	size_t i = 0;

	(void)host;
	(void)kind;
	(void)doc;
	if (!*label)
		label = name;
	while (metrics[i].label[0] && strcmp(metrics[i].label, label) != 0)
		i++;
	assert_true(i < 16);
	strcpy(metrics[i].label, label);
	return &metrics[i].metric;
}

static int64_t counted(const char *label)
{
	for (size_t i = 0; i < 16; i++)
		if (!strcmp(metrics[i].label, label))
			return profcol_metric_get(&metrics[i].metric);
	return -1;
}

/* Writes nothing: a line has one reader, who looks into differences. */
static const struct profcol_logger logger = { .size = sizeof(logger), .level = PROFCOL_ERROR };
static const struct profcol_host host = { .metric = find_metric, .logger = &logger };

/* ---- records ---- */

struct record {
	struct sample_head head;
	uint64_t frames[KERNEL + USER];
	struct sample_deferred from;
	uint64_t stack[WORDS];
};

static struct {
	unsigned int count;
	struct sample_head head; /* of the last */
	uint64_t frames[SAMPLE_MAX_WORDS];
	char labels[64];
} out;

static void take(void *context, const void *record, size_t length)
{
	(void)context;
	memcpy(&out.head, record, sizeof(out.head));
	assert_int_equal(length,
			 sizeof(out.head) +
				 (out.head.kernel_count + out.head.user_words) * sizeof(uint64_t) +
				 out.head.label_bytes);
	assert_true(out.head.label_bytes <= sizeof(out.labels));
	memcpy(out.labels, (const uint8_t *)record + length - out.head.label_bytes,
	       out.head.label_bytes);
	memcpy(out.frames, (const uint8_t *)record + sizeof(out.head),
	       length - sizeof(out.head) - out.head.label_bytes);
	assert_int_equal(out.head.deferred_bytes, 0);
	out.count++;
}

/* Of an unknown process: what a frame pointer has found, and a walk that has not begun. */
static struct record a_record(void)
{
	return (struct record){
		.head = { .time_ns = TAKEN_NS,
			  .start_boottime_ns = 7,
			  .pid = 42,
			  .exec_id = 3,
			  .kernel_count = KERNEL,
			  .user_words = USER,
			  .end = UNWIND_END_NO_PROCESS,
			  .deferred_bytes =
				  sizeof(struct sample_deferred) + WORDS * sizeof(uint64_t) },
		.frames = { 0xfff1, 0xfff2, 0xa1, 0xa2, 0xa3 },
		.from = { .pc = 0x1010,
			  .sp = 0x7000,
			  .stack = 0x7000,
			  .flags = SAMPLE_DEFERRED_EXACT | SAMPLE_DEFERRED_FIRST },
		.stack = { 0x3000 },
	};
}

static int setup(void **state)
{
	memset(&out, 0, sizeof(out));
	memset(metrics, 0, sizeof(metrics));
	memset(&known, 0, sizeof(known));
	known.leaf = known.caller = TABLES_FOUND;
	*state = deferred_create(
		&host, NULL, &(struct deferred_options){ .stack_bytes = 32768, .depth = DEPTH });
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	deferred_destroy(*state);
	return 0;
}

static void add(struct deferred *deferred, const struct record *record)
{
	assert_true(deferred_take(deferred, record, sizeof(*record), TAKEN_NS, take, NULL));
}

/* All of a stack, which nobody has walked yet. */
static struct record a_copy(void)
{
	struct record record = a_record();
	struct {
		struct sample_deferred from;
		uint64_t stack[WORDS];
	} copy = { .from = record.from, .stack = { 0x3000 } };

	record.head.user_words = record.head.end = 0;
	copy.from.flags |= SAMPLE_DEFERRED_WHOLE;
	memcpy(&record.frames[KERNEL], &copy, sizeof(copy));
	known.is_current = true;
	return record;
}

static const size_t copy_length = offsetof(struct record, frames[KERNEL]) +
				  sizeof(struct sample_deferred) + WORDS * sizeof(uint64_t);

static bool take_copy(struct deferred *deferred, const struct record *record)
{
	return deferred_take(deferred, record, copy_length, TAKEN_NS, take, NULL);
}

/* As one whose stack was read while its thread slept. */
static struct record a_read_one(void)
{
	struct record record = a_copy();
	struct sample_deferred *from = (struct sample_deferred *)&record.frames[KERNEL];

	from->flags &= ~(__u32)SAMPLE_DEFERRED_WHOLE;
	from->flags |= SAMPLE_DEFERRED_READ;
	return record;
}

static void a_stack_that_was_read_goes_on_at_once(void **state)
{
	struct record record = a_read_one();

	assert_false(take_copy(*state, &record));
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
	assert_int_equal(out.head.user_words, 2);
}

static void without_room_a_stack_that_was_read_goes_as_far_as_is_known(void **state)
{
	struct record record = a_read_one();
	unsigned int waiting = 0;

	known.is_current = false;
	while (take_copy(*state, &record))
		waiting++;
	assert_true(waiting > 100);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.user_words, 2);
}

static void a_copied_stack_goes_on_at_once(void **state)
{
	struct record record = a_copy();

	assert_false(take_copy(*state, &record));
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
	assert_int_equal(out.head.user_words, 2);
	assert_int_equal(out.frames[1], 0xfff2);
	assert_int_equal(out.frames[2], 0x1010);
	assert_int_equal(out.frames[3], 0x2fff);
	assert_int_equal(counted("walked=at_once"), 1);
	assert_int_equal(counted("walked=later"), 0);
	assert_int_equal(counted("result=finished"), 0);
	assert_int_equal(deferred_count(*state), 0);
}

static void a_copied_stack_waits_for_rules(void **state)
{
	struct record record = a_copy();

	known.caller = TABLES_NO_PAGE;
	assert_true(take_copy(*state, &record));
	assert_int_equal(out.count, 0);
	known.caller = TABLES_FOUND;
	deferred_release(*state, TAKEN_NS + 20 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
	assert_int_equal(counted("walked=later"), 1);
}

static void a_copied_stack_of_code_that_has_changed_since_waits(void **state)
{
	struct record record = a_copy();

	known.is_current = false;
	assert_true(take_copy(*state, &record));
	deferred_release(*state, TAKEN_NS + 20 * MS, TAKEN_NS, take, NULL);
	assert_int_equal(out.count, 0);
	deferred_release(*state, TAKEN_NS + 30 * MS, TAKEN_NS + 1, take, NULL);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
}

static void a_copied_stack_whose_code_stays_unknown_has_what_was_found(void **state)
{
	struct record record = a_copy();

	known.caller = TABLES_NO_PAGE;
	assert_true(take_copy(*state, &record));
	deferred_release(*state, TAKEN_NS + 2001 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_NO_PAGE);
	assert_int_equal(out.head.user_words, 2);
}

static void no_more_is_copied_where_a_stack_leads_elsewhere(void **state)
{
	struct record record = a_copy();
	struct sample_deferred *from = (void *)&record.frames[KERNEL];

	from->sp = 0x8000; // somewhere else than what was copied
	assert_false(take_copy(*state, &record));
	assert_int_equal(out.head.end, UNWIND_END_NOT_COPIED);
	assert_int_equal(out.head.user_words, 1);
	assert_int_equal(known.uncopied, 1);
}

static void a_copied_stack_without_room_is_walked_as_far_as_can_be(void **state)
{
	struct record record = a_copy();
	unsigned int waiting = 0;

	known.caller = TABLES_NO_PAGE;
	while (take_copy(*state, &record) && waiting < 1000000)
		waiting++;
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.user_words, 2);
	assert_int_equal(out.head.end, UNWIND_END_NO_PAGE);
	assert_int_equal(counted("result=no_room"), 1);
}

static void it_goes_on_as_if_nothing_had_been_missing(void **state)
{
	struct record record = a_record();

	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 1 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
	assert_int_equal(out.head.kernel_count, KERNEL);
	assert_int_equal(out.head.user_words, 2);
	assert_int_equal(out.frames[1], 0xfff2); // the kernel's are as they were
	assert_int_equal(out.frames[2], 0x1010);
	assert_int_equal(out.frames[3], 0x2fff);
	assert_int_equal(known.asked.pid, 42);
	assert_int_equal(known.asked.exec_id, 3);
	assert_int_equal(known.asked.start_boottime_ns, 7);
	assert_int_equal(counted("result=finished"), 1);
	assert_int_equal(deferred_count(*state), 0);
}

static void frames_that_the_kernel_side_is_sure_of_stay(void **state)
{
	struct record record = a_record();

	record.head.end = UNWIND_END_NO_PAGE;
	record.from.user_words = 1; // of three: the next ones are walked again
	add(*state, &record);
	deferred_release(*state, TAKEN_NS, UINT64_MAX, take, NULL);
	assert_int_equal(out.head.user_words, 3);
	assert_int_equal(out.frames[KERNEL], 0xa1);
	assert_int_equal(out.frames[KERNEL + 1], 0x1010);
}

static void it_waits_until_the_rules_are_there(void **state)
{
	struct record record = a_record();

	known.caller = TABLES_NO_PAGE;
	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 1500 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 0);
	known.caller = TABLES_FOUND;
	deferred_release(*state, TAKEN_NS + 1600 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_ENTRY);
}

static void rules_that_do_not_come_leave_the_longer_stack(void **state)
{
	struct record record = a_record();

	known.caller = TABLES_NO_PAGE;
	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 2001 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	// Two frames of ours, three of the kernel's walker.
	assert_int_equal(out.head.end, UNWIND_END_NO_PROCESS);
	assert_int_equal(out.head.user_words, USER);
	assert_int_equal(counted("result=late"), 1);
}

static void a_process_that_stays_unknown_keeps_what_frame_pointers_found(void **state)
{
	struct record record = a_record();

	known.leaf = TABLES_UNKNOWN;
	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 1999 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 0);
	deferred_release(*state, TAKEN_NS + 2001 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.end, UNWIND_END_NO_PROCESS);
	assert_int_equal(out.head.user_words, USER);
	assert_int_equal(out.frames[KERNEL + 2], 0xa3);
}

static void an_older_program_is_not_asked(void **state)
{
	struct record record = a_record();

	add(*state, &record);
	// Of the time of the sample not all is known yet: there may have been an exec before it.
	deferred_release(*state, TAKEN_NS + 50 * MS, TAKEN_NS, take, NULL);
	assert_int_equal(out.count, 0);
	assert_int_equal(known.asked.pid, 0);
	deferred_release(*state, TAKEN_NS + 60 * MS, TAKEN_NS + 1, take, NULL);
	assert_int_equal(out.count, 1);
}

static void what_is_no_code_is_not_waited_for(void **state)
{
	struct record record = a_record();

	known.caller = TABLES_NO_CODE;
	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 1 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(counted("result=cut"), 1);
	// One frame of ours is less than three of the kernel's walker.
	assert_int_equal(out.head.user_words, USER);
}

/* What a JVM's memory alone says is not known any more when the sample is looked at. */
static void what_only_the_process_knows_is_not_waited_for(void **state)
{
	struct record record = a_record();

	known.caller = TABLES_IN_PROCESS;
	add(*state, &record);
	deferred_release(*state, TAKEN_NS + 1 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(counted("result=cut"), 1);
}

static void one_process_does_not_take_all_the_room(void **state)
{
	struct record record = a_record();
	unsigned int most = 0;

	known.leaf = TABLES_UNKNOWN;
	while (deferred_take(*state, &record, sizeof(record), TAKEN_NS, take, NULL) &&
	       most < 1000000)
		most++;
	assert_in_range(most, (4 << 20) / 8 / sizeof(record) - 1, (4 << 20) / 8 / sizeof(record));
	record.head.pid++;
	add(*state, &record);
}

static void it_is_not_looked_at_all_the_time(void **state)
{
	struct record record = a_record();
	unsigned int looks = 0;

	known.leaf = TABLES_UNKNOWN;
	add(*state, &record);
	for (unsigned int ms = 0; ms < 1000; ms++) {
		known.asked.pid = 0;
		deferred_release(*state, TAKEN_NS + ms * MS, UINT64_MAX, take, NULL);
		looks += known.asked.pid != 0;
	}
	assert_in_range(looks, 5, 10);
}

static void at_the_end_nobody_waits(void **state)
{
	struct record record = a_record();

	known.leaf = TABLES_NO_CODE;
	for (int i = 0; i < 3; i++)
		add(*state, &record);
	deferred_flush(*state, take, NULL);
	assert_int_equal(out.count, 3);
	assert_int_equal(deferred_count(*state), 0);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
	struct record record = a_record();
	unsigned int most = 0;

	known.leaf = TABLES_UNKNOWN;
	while (deferred_take(*state, &record, sizeof(record), TAKEN_NS, take, NULL) &&
	       most < 1000000) {
		record.head.pid++; // each of another process
		most++;
	}
	assert_in_range(most, (4 << 20) / sizeof(record) - 1, (4 << 20) / sizeof(record));
	assert_int_equal(counted("result=no_room"), 1);
}

static unsigned int untouched; /* records that went on as they came */

static void take_untouched(void *context, const void *record, size_t length)
{
	assert_ptr_equal(context, record);
	(void)length;
	untouched++;
}

static void malformed_ones_go_on_as_they_are(void **state)
{
	struct record records[4] = { a_record(), a_record(), a_record(), a_record() };

	untouched = 0;
	records[0].from.user_words = USER + 1; // more than there are
	records[1].head.deferred_bytes -= 8;   // not what follows
	records[2].head.kernel_count = SAMPLE_MAX_KERNEL_FRAMES + 1;
	for (size_t i = 0; i < 4; i++)
		assert_false(deferred_take(*state, &records[i],
					   i < 3 ? sizeof(records[i]) : sizeof(records[i].head) - 1,
					   TAKEN_NS, take_untouched, &records[i]));
	assert_int_equal(untouched, 4);
	assert_int_equal(counted("result=no_room"), 0);
}

/* Those of the moment of the sample. */
static void labels_stay_with_the_sample(void **state)
{
	struct record record = a_copy();
	struct {
		struct record record;
		char labels[16];
	} waits = { a_record(), "labels, waiting" }, copied = { .record = record };

	copied.record.head.label_bytes = waits.record.head.label_bytes = 16;
	memcpy((char *)&copied + copy_length, "labels, copied\0", 16);
	assert_false(deferred_take(*state, &copied, copy_length + 16, TAKEN_NS, take, NULL));
	assert_int_equal(out.head.label_bytes, 16);
	assert_string_equal(out.labels, "labels, copied");
	assert_true(deferred_take(*state, &waits, sizeof(waits), TAKEN_NS, take, NULL));
	deferred_flush(*state, take, NULL);
	assert_int_equal(out.count, 2);
	assert_string_equal(out.labels, "labels, waiting");
}

/* One that the kernel side has walked by frame pointers, up to where it knows of no code. */
static struct record a_walked_one(void)
{
	struct record record = a_record();

	record.head.end = UNWIND_END_NO_MAPPING;
	record.head.user_words = 1;
	record.frames[KERNEL] = 0x1010;
	memmove(&record.frames[KERNEL + 1], &record.from,
		sizeof(record.from) + sizeof(record.stack));
	((struct sample_deferred *)&record.frames[KERNEL + 1])->flags |= SAMPLE_DEFERRED_VERIFY;
	return record;
}

static void compare_walks(const struct record *record)
{
	const struct deferred_options options = { .stack_bytes = 32768,
						  .depth = DEPTH,
						  .verify = true };
	struct deferred *deferred = deferred_create(&host, NULL, &options);
	size_t length = sizeof(*record) - (USER - 1) * sizeof(record->frames[0]);

	assert_non_null(deferred);
	(void)deferred_take(deferred, record, length, TAKEN_NS, take, NULL);
	deferred_release(deferred, TAKEN_NS + 20 * MS, UINT64_MAX, take, NULL);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.head.user_words, 1);
	deferred_destroy(deferred);
}

static void a_walk_that_missed_code_which_is_known_differs(void **state)
{
	struct record record = a_walked_one();

	(void)state;
	known.is_current = true;
	compare_walks(&record);
	// By what the kernel side goes by, and by what was known at its time.
	assert_int_equal(counted("result=different"), 2);
}

static void what_was_known_too_late_says_nothing_of_a_walk(void **state)
{
	struct record record = a_walked_one();

	(void)state;
	compare_walks(&record);
	assert_int_equal(counted("result=different"), 0);
	assert_int_equal(counted("result=unknown"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_goes_on_as_if_nothing_had_been_missing),
		TEST(frames_that_the_kernel_side_is_sure_of_stay),
		TEST(it_waits_until_the_rules_are_there),
		TEST(rules_that_do_not_come_leave_the_longer_stack),
		TEST(a_process_that_stays_unknown_keeps_what_frame_pointers_found),
		TEST(at_the_end_nobody_waits),
		TEST(what_there_is_no_room_for_is_counted),
		TEST(malformed_ones_go_on_as_they_are),
		TEST(a_stack_that_was_read_goes_on_at_once),
		TEST(without_room_a_stack_that_was_read_goes_as_far_as_is_known),
		TEST(a_copied_stack_goes_on_at_once),
		TEST(a_copied_stack_waits_for_rules),
		TEST(a_copied_stack_of_code_that_has_changed_since_waits),
		TEST(a_copied_stack_whose_code_stays_unknown_has_what_was_found),
		TEST(no_more_is_copied_where_a_stack_leads_elsewhere),
		TEST(a_copied_stack_without_room_is_walked_as_far_as_can_be),
		TEST(an_older_program_is_not_asked),
		TEST(what_is_no_code_is_not_waited_for),
		TEST(what_only_the_process_knows_is_not_waited_for),
		TEST(one_process_does_not_take_all_the_room),
		TEST(it_is_not_looked_at_all_the_time),
		TEST(labels_stay_with_the_sample),
		TEST(a_walk_that_missed_code_which_is_known_differs),
		TEST(what_was_known_too_late_says_nothing_of_a_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
