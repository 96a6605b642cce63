// SPDX-License-Identifier: Apache-2.0
/* Samples that wait, pass or are dropped; what is known of processes is played by the test. */
#include "select/select.h"

#include "select/waiting.h"

#include "unwind_tables.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Numbers that no process of the machine has. */
enum { FIRST_PID = 1 << 23, PIDS = 16, KNOWN_UID = 1000 };

struct actor {
	const char *comm;       /* NULL: unknown */
	const char *executable; /* NULL: unknown */
	uint32_t parent;
	uint64_t start_ns; /* 0: of its own for each number, the later the higher it is */
};

/* What the played processes.h says. The thread of `select` reads it: set before it asks. */
static struct actor actors[PIDS];
static atomic_uint noted, asked, woken;
static atomic_bool late; /* what the kernel tells is not taken in in time */

static struct actor *actor_of(uint32_t pid)
{
	return pid >= FIRST_PID && pid < FIRST_PID + PIDS ? &actors[pid - FIRST_PID] : NULL;
}

static uint64_t start_of(uint32_t actor)
{
	return actors[actor].start_ns ? actors[actor].start_ns : 5000 + actor;
}

bool processes_catch_up(struct processes *processes, uint64_t deadline_ns)
{
	(void)processes;
	(void)deadline_ns;
	return !late;
}

void processes_note_sample(struct processes *processes, const struct process_key *key,
			   uint64_t time_ns)
{
	(void)processes;
	(void)key;
	(void)time_ns;
	noted++;
}

bool processes_name(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		    struct process_names *ret)
{
	const struct actor *actor = actor_of(key->pid);

	(void)processes;
	(void)time_ns;
	asked++;
	*ret = (struct process_names){ 0 };
	if (!actor || !actor->comm)
		return false;
	snprintf(ret->comm, sizeof(ret->comm), "%s", actor->comm);
	snprintf(ret->executable, sizeof(ret->executable), "%s",
		 actor->executable ? actor->executable : "");
	ret->parent = actor->parent;
	return true;
}

bool processes_still_runs(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns)
{
	(void)processes;
	(void)key;
	(void)time_ns;
	return true;
}

int processes_look(struct processes *processes, uint32_t pid, bool executable,
		   struct proc_look *ret)
{
	int status;

	(void)processes;
	*ret = (struct proc_look){ .directory = proc_open(pid) };
	status = ret->directory < 0 ? ret->directory : proc_read_stat(ret->directory, &ret->stat);
	if (status)
		proc_look_close(ret);
	else if (executable)
		ret->executable_length = (int)proc_executable(ret->directory, ret->executable);
	return status;
}

int processes_read_cgroups(struct processes *processes, int directory, char **text_ret,
			   size_t *length_ret)
{
	(void)processes;
	return file_read(directory, "cgroup", 64 << 10, text_ret, length_ret);
}

bool processes_origin(struct processes *processes, uint32_t pid, uint64_t by_ns,
		      struct process_origin *ret)
{
	const struct actor *actor = actor_of(pid);

	(void)processes;
	if (!actor || !actor->comm || start_of(pid - FIRST_PID) > by_ns)
		return false;
	ret->parent = actor->parent;
	ret->earliest_ns = ret->latest_ns = start_of(pid - FIRST_PID);
	return true;
}

/* ---- the host ---- */

struct stage {
	struct profcol_host host;
	struct select *select;
	int map;
	uint32_t active;
	uint64_t taken, filtered, lost;
	char cause[32];                       /* of the last loss */
	uint32_t released[64], release_count; /* tids, in their order */
};

static struct profcol_metric metric;

static struct profcol_metric *give_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	(void)host;
	(void)kind;
	(void)name;
	(void)label;
	(void)doc;
	return &metric;
}

static void account(const struct profcol_host *host, enum profcol_outcome outcome,
		    const char *cause, uint64_t samples)
{
	struct stage *stage = (struct stage *)(uintptr_t)host;

	if (outcome == PROFCOL_TAKEN) {
		stage->taken += samples;
		return;
	}
	if (outcome == PROFCOL_FILTERED) {
		assert_string_equal(cause, "select");
		stage->filtered += samples;
	} else {
		assert_int_equal(outcome, PROFCOL_LOST);
		stage->lost += samples;
		snprintf(stage->cause, sizeof(stage->cause), "%s", cause);
	}
	// Who looks at any moment never finds more of what became of them than of samples.
	assert_true(stage->taken >= stage->filtered + stage->lost);
}

static int set_up(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	memset(actors, 0, sizeof(actors));
	noted = asked = woken = 0;
	late = false;
	stage->host = (struct profcol_host){ .metric = give_metric, .account = account };
	stage->map = memfd_create("unselected", MFD_CLOEXEC);
	assert_int_equal(ftruncate(stage->map, SELECT_BUCKETS * sizeof(struct select_bucket)), 0);
	stage->select = select_create(&stage->host, NULL);
	assert_non_null(stage->select);
	*state = stage;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	select_destroy(stage->select);
	close(stage->map);
	free(stage);
	return 0;
}

/* ---- what tests do ---- */

static void configure(struct stage *stage, const struct select_rule_config *include,
		      const struct select_rule_config *exclude)
{
	struct select_config config = {
		.include = { .items = include, .count = include != NULL },
		.exclude = { .items = exclude, .count = exclude != NULL },
	};

	assert_null(select_configure(stage->select, &config));
}

static void start(struct stage *stage)
{
	struct select_maps maps = { .unselected = stage->map, .active = &stage->active };

	assert_null(select_start(stage->select, &maps));
}

static const char *const secret[] = { "secret" };
static const struct select_rule_config secret_comm = {
	.comm.values = { .items = secret, .count = 1 },
	.uid = -1,
};
static const char *const wanted[] = { "/wanted" };
static const struct select_rule_config wanted_executable = {
	.executable.values = { .items = wanted, .count = 1 },
	.uid = -1,
};

static struct sample_head sample_of(uint32_t actor, uint32_t tid)
{
	return (struct sample_head){
		.time_ns = clock_monotonic_ns(),
		.start_boottime_ns = start_of(actor),
		.pid = FIRST_PID + actor,
		.tid = tid,
		.exec_id = 1,
		.uid = KNOWN_UID,
	};
}

static bool takes(struct stage *stage, uint32_t actor, uint32_t tid)
{
	struct sample_head head = sample_of(actor, tid);

	return select_takes(stage->select, &head, sizeof(head));
}

static void note_release(void *context, const void *record, size_t length)
{
	struct stage *stage = context;
	const struct sample_head *head = record;

	assert_true(length >= sizeof(*head));
	assert_true(stage->release_count < 64);
	stage->released[stage->release_count++] = head->tid;
}

static void settle(struct stage *stage)
{
	uint64_t deadline = clock_monotonic_ns() + 20000000000;

	select_settle(stage->select, deadline);
	select_release(stage->select, note_release, stage);
}

/* Does the kernel side drop samples of @head's program? */
static bool is_dropped(const struct stage *stage, const struct sample_head *head)
{
	struct select_bucket bucket;
	uint64_t word =
		head->pid | (uint64_t)unwind_identity(head->start_boottime_ns, head->exec_id) << 32;
	off_t at = (off_t)((head->pid & (SELECT_BUCKETS - 1)) * sizeof(bucket));
	bool found = false;

	assert_int_equal(pread(stage->map, &bucket, sizeof(bucket), at), sizeof(bucket));
	for (size_t i = 0; i < SELECT_SLOTS; i++)
		found |= bucket.slots[i] == word;
	return found;
}

/* ---- tests ---- */

static void without_rules_all_pass_and_nobody_is_asked(void **state)
{
	struct stage *stage = *state;

	configure(stage, NULL, NULL);
	start(stage);
	assert_int_equal(stage->active, 0);
	assert_true(takes(stage, 0, 1));
	settle(stage);
	assert_int_equal(asked, 0);
}

static void samples_wait_and_pass_in_their_order(void **state)
{
	struct stage *stage = *state;

	actors[0] = (struct actor){ "wanted", "/wanted", 1 };
	configure(stage, &wanted_executable, NULL);
	for (uint32_t tid = 1; tid <= 3; tid++)
		assert_false(takes(stage, 0, tid));
	select_release(stage->select, note_release, stage);
	assert_int_equal(stage->release_count, 0);
	start(stage);
	assert_int_equal(stage->active, 1);
	settle(stage);
	assert_int_equal(stage->release_count, 3);
	for (uint32_t tid = 1; tid <= 3; tid++)
		assert_int_equal(stage->released[tid - 1], tid);
	assert_true(takes(stage, 0, 4));
	assert_int_equal(asked, 1);
	assert_int_equal(noted, 1);
	assert_int_equal(stage->filtered + stage->lost, 0);
}

static void excluded_ones_go_and_the_kernel_is_told(void **state)
{
	struct stage *stage = *state;
	struct sample_head head = sample_of(0, 1), other = sample_of(1, 1);

	actors[0] = (struct actor){ "secret", "/any", 1 };
	actors[1] = (struct actor){ "public", "/any", 1 };
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(takes(stage, 0, 1));
	assert_false(takes(stage, 1, 2));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_int_equal(stage->released[0], 2);
	assert_int_equal(stage->filtered, 1);
	assert_true(is_dropped(stage, &head));
	assert_false(is_dropped(stage, &other));
	// On their way while the kernel was told.
	assert_false(takes(stage, 0, 1));
	assert_int_equal(stage->filtered, 2);
}

static void another_program_of_the_process_is_decided_anew(void **state)
{
	struct stage *stage = *state;
	struct sample_head head = sample_of(0, 1), after;

	actors[0] = (struct actor){ "secret", "/any", 1 };
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	actors[0].comm = "public";
	after = head;
	after.exec_id++;
	assert_false(select_takes(stage->select, &after, sizeof(after)));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_false(is_dropped(stage, &after));
}

static void what_changes_is_seen_at_the_next_refresh(void **state)
{
	struct stage *stage = *state;
	struct sample_head head = sample_of(0, 1);

	actors[0] = (struct actor){ "public", "/any", 1 };
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	actors[0].comm = "secret";
	head.time_ns += SELECT_REFRESH_NS / 2;
	assert_true(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	assert_int_equal(asked, 1);
	head.time_ns += SELECT_REFRESH_NS;
	// This one passes still, the next one does not.
	assert_true(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	assert_int_equal(stage->filtered, 1);
	assert_true(is_dropped(stage, &head));
}

static void what_is_not_to_be_found_out_is_lost(void **state)
{
	struct stage *stage = *state;

	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(takes(stage, 0, 1));
	settle(stage);
	assert_int_equal(stage->release_count, 0);
	assert_int_equal(stage->lost, 1);
	assert_string_equal(stage->cause, "undecidable");
}

static void descendants_belong_to_their_ancestor_for_good(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config tree = { .uid = -1, .pid = FIRST_PID };
	struct sample_head child;

	actors[0] = (struct actor){ "root", "/any", 1 };
	actors[1] = (struct actor){ "middle", "/any", FIRST_PID };
	actors[2] = (struct actor){ "leaf", "/any", FIRST_PID + 1 };
	actors[3] = (struct actor){ "stranger", "/any", 1 };
	configure(stage, &tree, NULL);
	start(stage);
	for (uint32_t actor = 0; actor < 4; actor++)
		assert_false(takes(stage, actor, actor));
	settle(stage);
	assert_int_equal(stage->release_count, 3);
	assert_int_equal(stage->filtered, 1);
	// Its parent ends, so that another one takes it up.
	actors[2].parent = 1;
	child = sample_of(2, 9);
	child.time_ns += SELECT_REFRESH_NS / 2 * 3;
	assert_true(select_takes(stage->select, &child, sizeof(child)));
	settle(stage);
	assert_true(select_takes(stage->select, &child, sizeof(child)));
	// And a child of the one taken up.
	actors[4] = (struct actor){ "grandchild", "/any", FIRST_PID + 2 };
	assert_false(takes(stage, 4, 10));
	settle(stage);
	assert_int_equal(stage->released[stage->release_count - 1], 10);
}

/* The leaf's descent is known; then its parent ends, and another process takes it up. */
static void orphan_the_leaf(struct stage *stage)
{
	actors[0] = (struct actor){ "root", "/any", 1 };
	actors[1] = (struct actor){ "middle", "/any", FIRST_PID };
	actors[2] = (struct actor){ "leaf", "/any", FIRST_PID + 1 };
	assert_false(takes(stage, 2, 1));
	settle(stage);
	assert_int_equal(stage->filtered, 1);
	actors[2].parent = 1;
}

static void a_descent_outlives_other_rules(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config rules[] = { { .uid = -1, .pid = FIRST_PID + 9 },
						    { .uid = -1, .pid = FIRST_PID } };
	struct select_config config = { .exclude = { .items = rules, .count = 2 } };

	configure(stage, NULL, &rules[1]);
	start(stage);
	orphan_the_leaf(stage);
	assert_null(select_configure(stage->select, &config));
	assert_false(takes(stage, 2, 2));
	settle(stage);
	assert_int_equal(stage->filtered, 2);
	// That of a process that is named no more is none.
	configure(stage, NULL, &rules[0]);
	assert_false(takes(stage, 2, 3));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
}

static void a_descent_outlives_very_many_programs(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config tree = { .uid = -1, .pid = FIRST_PID };
	struct sample_head other = sample_of(3, 1);

	configure(stage, NULL, &tree);
	start(stage);
	orphan_the_leaf(stage);
	for (uint32_t i = 0; i < 20000; i++) {
		other.pid = 5000000 + i;
		select_takes(stage->select, &other, sizeof(other));
	}
	select_lose(stage->select);
	assert_false(takes(stage, 2, 2));
	assert_int_equal(stage->release_count, 0);
	assert_int_equal(stage->filtered, 2);
}

static void a_number_used_anew_descends_from_nobody(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config tree = { .uid = -1, .pid = FIRST_PID };

	actors[0] = (struct actor){ "root", "/any", 1 };
	actors[1] = (struct actor){ "middle", "/any", FIRST_PID };
	actors[2] = (struct actor){ "orphan", "/any", FIRST_PID + 1 };
	configure(stage, &tree, NULL);
	start(stage);
	assert_false(takes(stage, 1, 1));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	actors[1] = (struct actor){ "stranger", "/any", 1, .start_ns = 9000 };
	actors[3] = (struct actor){ "his child", "/any", FIRST_PID + 1, .start_ns = 9500 };
	assert_false(takes(stage, 3, 2));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_int_equal(stage->filtered, 1);
	// The stranger is younger than this one, whose parent was the one before.
	assert_false(takes(stage, 2, 3));
	settle(stage);
	assert_int_equal(stage->release_count, 2);
}

static void the_cgroup_of_an_ancestor_is_not_that_of_what_has_ended(void **state)
{
	static const char *const root[] = { "/" };
	struct stage *stage = *state;
	const struct select_rule_config any_cgroup = {
		.uid = -1,
		.cgroup.values = { .items = root, .count = 1 },
	};

	// Its parent is this program, whose cgroup there is to read.
	actors[0] = (struct actor){ "ended", "/any", (uint32_t)getpid() };
	configure(stage, &any_cgroup, NULL);
	start(stage);
	assert_false(takes(stage, 0, 1));
	settle(stage);
	assert_int_equal(stage->release_count, 0);
	assert_string_equal(stage->cause, "undecidable");
}

/* A sample waits, of a process of which the kernel's news come late. */
static void wait_for_late_news(struct stage *stage)
{
	actors[0] = (struct actor){ "public", "/any", 1 };
	late = true;
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(takes(stage, 0, 1));
}

static void what_was_told_too_late_is_not_believed(void **state)
{
	struct stage *stage = *state;

	wait_for_late_news(stage);
	for (int i = 0; i < 3; i++) {
		settle(stage);
		assert_int_equal(stage->lost, 0);
	}
	settle(stage);
	assert_int_equal(stage->release_count, 0);
	assert_int_equal(stage->lost, 1);
	assert_string_equal(stage->cause, "undecidable");
}

static void what_is_told_late_is_waited_for(void **state)
{
	struct stage *stage = *state;

	wait_for_late_news(stage);
	settle(stage);
	late = false;
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_int_equal(stage->lost, 0);
}

static void what_was_decided_long_ago_is_decided_anew_first(void **state)
{
	struct stage *stage = *state;
	struct sample_head head = sample_of(0, 1);

	actors[0] = (struct actor){ "public", "/any", 1 };
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	actors[0].comm = "secret";
	head.time_ns += 3 * SELECT_REFRESH_NS;
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	assert_int_equal(stage->filtered + stage->lost, 0);
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_int_equal(stage->filtered, 1);
}

static void note_decided(void *context)
{
	(void)context;
	woken++;
}

static void who_waits_is_told_at_once(void **state)
{
	struct stage *stage = *state;

	select_on_decided(stage->select, note_decided, NULL);
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(takes(stage, 0, 1));
	settle(stage);
	select_stop(stage->select);
	assert_in_range(woken, 1, 2);
}

static void a_user_goes_by_the_sample(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config user = { .uid = KNOWN_UID };
	struct sample_head head = sample_of(1, 2);

	configure(stage, &user, NULL);
	start(stage);
	head.uid = KNOWN_UID + 1;
	assert_false(takes(stage, 0, 1));
	assert_false(select_takes(stage->select, &head, sizeof(head)));
	settle(stage);
	assert_int_equal(stage->release_count, 1);
	assert_int_equal(stage->released[0], 1);
	assert_int_equal(stage->filtered, 1);
}

static void other_rules_hold_at_once(void **state)
{
	struct stage *stage = *state;
	struct sample_head secret_head = sample_of(0, 1);

	actors[0] = (struct actor){ "secret", "/wanted", 1 };
	actors[1] = (struct actor){ "public", "/any", 1 };
	configure(stage, NULL, &secret_comm);
	start(stage);
	assert_false(takes(stage, 0, 1));
	assert_false(takes(stage, 1, 2));
	settle(stage);
	assert_true(is_dropped(stage, &secret_head));
	configure(stage, &wanted_executable, NULL);
	assert_false(is_dropped(stage, &secret_head));
	assert_false(takes(stage, 0, 3));
	assert_false(takes(stage, 1, 4));
	settle(stage);
	assert_int_equal(stage->release_count, 2);
	assert_int_equal(stage->released[1], 3);
	assert_int_equal(stage->filtered, 2);
	configure(stage, NULL, NULL);
	assert_int_equal(stage->active, 0);
	assert_true(takes(stage, 1, 5));
}

static void samples_that_wait_survive_other_rules(void **state)
{
	struct stage *stage = *state;

	actors[0] = (struct actor){ "secret", "/wanted", 1 };
	configure(stage, NULL, &secret_comm);
	assert_false(takes(stage, 0, 1));
	configure(stage, &wanted_executable, NULL);
	start(stage);
	select_release(stage->select, note_release, stage);
	settle(stage);
	assert_int_equal(stage->release_count, 1);
}

static void faulty_rules_change_nothing(void **state)
{
	struct stage *stage = *state;
	const struct select_rule_config nothing = { .uid = -1 };
	struct select_config config = { .include = { .items = &nothing, .count = 1 } };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	configure(stage, NULL, NULL);
	error = select_configure(stage->select, &config);
	assert_non_null(error);
	assert_true(takes(stage, 0, 1));
}

static void what_waits_is_bounded_and_booked(void **state)
{
	struct stage *stage = *state;
	struct {
		struct sample_head head;
		uint64_t frames[SAMPLE_MAX_WORDS];
	} record = { .head = sample_of(0, 1) };
	uint64_t waiting = 0;

	configure(stage, NULL, &secret_comm);
	while (!stage->lost && waiting < 10000) {
		assert_false(select_takes(stage->select, &record, sizeof(record)));
		waiting += !stage->lost;
	}
	assert_string_equal(stage->cause, "waiting_full");
	assert_in_range(waiting * sizeof(record), 7 << 20, 8 << 20);
	select_lose(stage->select);
	assert_int_equal(stage->lost, waiting + 1);
	assert_string_equal(stage->cause, "undecidable");
}

static void the_second_half_of_what_waits_goes_without_copies_of_stacks(void **state)
{
	enum { STACK_BYTES = 15 << 10 };
	struct stage *stage = *state;
	struct {
		struct sample_head head;
		uint8_t rest[1000 + STACK_BYTES];
	} record = { .head = sample_of(0, 1) };
	const size_t walked = sizeof(record) - STACK_BYTES;
	uint64_t waiting = 0, most = (4 << 20) / sizeof(record) + (4 << 20) / walked;

	record.head.deferred_bytes = STACK_BYTES;
	configure(stage, NULL, &secret_comm);
	while (!stage->lost && waiting < 10000) {
		assert_false(select_takes(stage->select, &record, sizeof(record)));
		waiting += !stage->lost;
	}
	assert_string_equal(stage->cause, "waiting_full");
	assert_in_range(waiting, most / 10 * 9, most);
}

static const char labels[16] = "labels of it";

static bool is_said_to_be_cut(void *context, const void *record, size_t length)
{
	const struct sample_head *head = record;
	size_t *cut = context;

	assert_true(length >= sizeof(*head));
	if (head->deferred_bytes)
		assert_int_equal(head->end, 0);
	else
		assert_int_equal(head->end, UNWIND_END_NOT_COPIED);
	assert_memory_equal((const char *)record + length - sizeof(labels), labels, sizeof(labels));
	*cut += !head->deferred_bytes;
	return true;
}

/* Nobody has walked it before. */
static void a_copied_stack_that_is_let_go_is_said_to_be_cut(void **state)
{
	struct {
		struct sample_head head;
		uint8_t rest[15 << 10];
	} record = { .head = sample_of(0, 1) };
	struct waiting waiting = { 0 };
	size_t cut = 0;

	(void)state;
	// The rest of a frame is before the stack, labels are behind it.
	record.head.user_words = 0;
	record.head.end = 0;
	record.head.deferred_bytes = sizeof(record.rest) - 8 - sizeof(labels);
	record.head.label_bytes = sizeof(labels);
	memcpy(record.rest + sizeof(record.rest) - sizeof(labels), labels, sizeof(labels));
	for (size_t i = 0; i < 500; i++)
		assert_true(waiting_add(&waiting, &record.head, sizeof(record)));
	waiting_review(&waiting, is_said_to_be_cut, &cut);
	assert_in_range(cut, 200, 300);
	waiting_deinit(&waiting);
}

static void idle_and_broken_records_are_not_judged(void **state)
{
	struct stage *stage = *state;
	struct sample_head idle = { .time_ns = 1 };

	configure(stage, &wanted_executable, NULL);
	assert_true(select_takes(stage->select, &idle, sizeof(idle)));
	assert_true(select_takes(stage->select, &idle, sizeof(idle) - 8));
}

static void a_full_bucket_makes_room(void **state)
{
	struct stage *stage = *state;
	struct unselected unselected = { 0 };
	size_t dropped = 0;

	assert_int_equal(unselected_init(&unselected, stage->map), 0);
	for (uint32_t i = 0; i <= SELECT_SLOTS; i++) {
		struct process_key key = { .pid = 7 + i * SELECT_BUCKETS, .exec_id = 1 };

		unselected_add(&unselected, &key);
	}
	for (uint32_t i = 0; i <= SELECT_SLOTS; i++) {
		struct sample_head head = { .pid = 7 + i * SELECT_BUCKETS, .exec_id = 1 };

		dropped += is_dropped(stage, &head);
	}
	assert_int_equal(dropped, SELECT_SLOTS);
	assert_int_equal(unselected.displaced, 1);
	unselected_deinit(&unselected);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_rules_all_pass_and_nobody_is_asked),
		TEST(samples_wait_and_pass_in_their_order),
		TEST(excluded_ones_go_and_the_kernel_is_told),
		TEST(another_program_of_the_process_is_decided_anew),
		TEST(what_changes_is_seen_at_the_next_refresh),
		TEST(what_is_not_to_be_found_out_is_lost),
		TEST(descendants_belong_to_their_ancestor_for_good),
		TEST(a_descent_outlives_other_rules),
		TEST(a_descent_outlives_very_many_programs),
		TEST(a_number_used_anew_descends_from_nobody),
		TEST(the_cgroup_of_an_ancestor_is_not_that_of_what_has_ended),
		TEST(what_was_told_too_late_is_not_believed),
		TEST(what_is_told_late_is_waited_for),
		TEST(what_was_decided_long_ago_is_decided_anew_first),
		TEST(who_waits_is_told_at_once),
		TEST(a_user_goes_by_the_sample),
		TEST(other_rules_hold_at_once),
		TEST(samples_that_wait_survive_other_rules),
		TEST(faulty_rules_change_nothing),
		TEST(what_waits_is_bounded_and_booked),
		TEST(the_second_half_of_what_waits_goes_without_copies_of_stacks),
		TEST(a_copied_stack_that_is_let_go_is_said_to_be_cut),
		TEST(idle_and_broken_records_are_not_judged),
		TEST(a_full_bucket_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
