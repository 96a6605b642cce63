// SPDX-License-Identifier: Apache-2.0
/* What the rules of `select` say of a process, and how they are refused. */
#include "select/rules.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum { ALL_KNOWN = 0x1f, ANYONE = -1 };

static struct profcol_list list(const char *const *items)
{
	struct profcol_list list = { .items = items };

	while (items[list.count])
		list.count++;
	return list;
}

#define LIST(...)       list((const char *const[]){ __VA_ARGS__, NULL })
#define RULE(uid_, ...) ((struct select_rule_config){ .uid = (uid_), ##__VA_ARGS__ })

static struct profcol_sections sections(const struct select_rule_config *rules, size_t count)
{
	return (struct profcol_sections){ .items = rules, .count = count };
}

/* A process as most of the tests have it. */
static struct select_facts facts(void)
{
	static const char cgroups[] = "12:cpu,cpuacct:/old/place\n"
				      "0::/kubepods.slice/pod1.slice/" CONTAINER "\n";

	return (struct select_facts){
		.known = ALL_KNOWN,
		.executable = "/usr/bin/python3.11",
		.comm = "gunicorn",
		.cgroups = cgroups,
		.cgroups_length = sizeof(cgroups) - 1,
		.uid = 1000,
	};
}

static enum select_verdict judge_both(const struct select_rule_config *include,
				      const struct select_rule_config *exclude,
				      const struct select_facts *facts)
{
	struct select_config config = {
		.include = sections(include, include != NULL),
		.exclude = sections(exclude, exclude != NULL),
	};
	struct select_rules *rules = NULL;
	enum select_verdict verdict;

	assert_null(select_rules_create(&config, &rules));
	verdict = select_rules_judge(rules, facts);
	select_rules_destroy(rules);
	return verdict;
}

static enum select_verdict judge(struct select_rule_config include)
{
	struct select_facts process = facts();

	return judge_both(&include, NULL, &process);
}

static void without_rules_all_are_selected(void **state)
{
	struct select_config config = { 0 };
	struct select_rules *rules = NULL;
	struct select_facts nobody = { 0 };

	(void)state;
	assert_null(select_rules_create(&config, &rules));
	assert_true(select_rules_are_empty(rules));
	assert_int_equal(select_rules_judge(rules, &nobody), SELECT_SELECTED);
	select_rules_destroy(rules);
}

static void texts_are_equal_or_a_pattern_occurs(void **state)
{
	(void)state;
	assert_int_equal(
		judge(RULE(ANYONE, .executable.values = LIST("/bin/sh", "/usr/bin/python3.11"))),
		SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .executable.values = LIST("/usr/bin/python3"))),
			 SELECT_UNSELECTED);
	assert_int_equal(judge(RULE(ANYONE, .executable.regexes = LIST("bin/python3"))),
			 SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .executable.regexes = LIST("^python"))),
			 SELECT_UNSELECTED);
	assert_int_equal(judge(RULE(ANYONE, .comm.values = LIST("gunicorn"))), SELECT_SELECTED);
	assert_int_equal(
		judge(RULE(ANYONE, .comm.values = LIST("guni"), .comm.regexes = LIST("^guni"))),
		SELECT_SELECTED);
}

static void a_cgroup_has_those_below_it(void **state)
{
	(void)state;
	assert_int_equal(judge(RULE(ANYONE, .cgroup.values = LIST("/kubepods.slice"))),
			 SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .cgroup.values = LIST("/kubepods.slice/pod1.slice/"))),
			 SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .cgroup.values = LIST("/kubepods.slice/pod"))),
			 SELECT_UNSELECTED);
	assert_int_equal(judge(RULE(ANYONE, .cgroup.values = LIST("/old"))), SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .cgroup.values = LIST("/"))), SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .cgroup.regexes = LIST("^/kubepods.*pod1"))),
			 SELECT_SELECTED);
	// The controllers in front of a path are none of it.
	assert_int_equal(judge(RULE(ANYONE, .cgroup.regexes = LIST("cpuacct"))), SELECT_UNSELECTED);
}

static void a_container_goes_by_its_id(void **state)
{
	(void)state;
	assert_int_equal(judge(RULE(ANYONE, .container_id.values = LIST(CONTAINER))),
			 SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .container_id.regexes = LIST("^0123456789ab"))),
			 SELECT_SELECTED);
	assert_int_equal(judge(RULE(ANYONE, .container_id.regexes = LIST("^$"))),
			 SELECT_UNSELECTED);
}

static void numbers_are_compared(void **state)
{
	struct select_rule_config rule = RULE(ANYONE, .pid = 42);
	struct select_facts process = facts();

	(void)state;
	assert_int_equal(judge(RULE(1000)), SELECT_SELECTED);
	assert_int_equal(judge(RULE(0)), SELECT_UNSELECTED);
	assert_int_equal(judge_both(&rule, NULL, &process), SELECT_UNSELECTED);
	process.lineage = 1;
	assert_int_equal(judge_both(&rule, NULL, &process), SELECT_SELECTED);
}

static void all_of_a_rule_has_to_hold_and_one_of_the_rules(void **state)
{
	const struct select_rule_config rules[] = {
		RULE(0, .comm.values = LIST("gunicorn")),
		RULE(1000, .comm.values = LIST("nginx")),
		RULE(1000, .executable.regexes = LIST("python")),
	};
	struct select_config config = { .include = sections(rules, 2) };
	struct select_rules *compiled = NULL;
	struct select_facts process = facts();

	(void)state;
	assert_null(select_rules_create(&config, &compiled));
	assert_int_equal(select_rules_judge(compiled, &process), SELECT_UNSELECTED);
	select_rules_destroy(compiled);
	config.include.count = 3;
	assert_null(select_rules_create(&config, &compiled));
	assert_int_equal(select_rules_judge(compiled, &process), SELECT_SELECTED);
	select_rules_destroy(compiled);
}

static void what_is_excluded_stays_out(void **state)
{
	struct select_rule_config python = RULE(ANYONE, .executable.regexes = LIST("python"));
	struct select_rule_config root = RULE(0), user = RULE(1000);
	struct select_facts process = facts();

	(void)state;
	assert_int_equal(judge_both(&python, &user, &process), SELECT_UNSELECTED);
	assert_int_equal(judge_both(&python, &root, &process), SELECT_SELECTED);
	assert_int_equal(judge_both(NULL, &user, &process), SELECT_UNSELECTED);
	assert_int_equal(judge_both(NULL, &root, &process), SELECT_SELECTED);
}

static void what_is_not_known_is_not_guessed(void **state)
{
	struct select_rule_config user = RULE(1000);
	struct select_rule_config python_of_user = RULE(1000, .executable.regexes = LIST("python"));
	struct select_rule_config java_of_user = RULE(1000, .executable.regexes = LIST("java"));
	struct select_facts process = facts();

	(void)state;
	process.known = SELECT_EXECUTABLE;
	assert_int_equal(judge_both(&user, NULL, &process), SELECT_UNDECIDABLE);
	assert_int_equal(judge_both(NULL, &user, &process), SELECT_UNDECIDABLE);
	assert_int_equal(judge_both(&python_of_user, NULL, &process), SELECT_UNDECIDABLE);
	// What is known is enough.
	assert_int_equal(judge_both(&java_of_user, NULL, &process), SELECT_UNSELECTED);
	assert_int_equal(judge_both(NULL, &java_of_user, &process), SELECT_SELECTED);
}

static void a_pattern_that_cannot_tell_decides_nothing(void **state)
{
	static char path[64];
	struct select_rule_config slow = RULE(ANYONE, .executable.regexes = LIST("(a|a?)+$"));
	struct select_facts process = facts();

	(void)state;
	memset(path, 'a', sizeof(path) - 2);
	path[sizeof(path) - 2] = '!';
	process.executable = path;
	assert_int_equal(judge_both(NULL, &slow, &process), SELECT_UNDECIDABLE);
}

static void rules_say_what_they_ask_for(void **state)
{
	const struct select_rule_config rules[] = {
		RULE(ANYONE, .comm.values = LIST("a"), .pid = 7),
		RULE(ANYONE, .container_id.values = LIST(CONTAINER), .pid = 7),
	};
	struct select_config config = { .exclude = sections(rules, 2) };
	struct select_rules *compiled = NULL;

	(void)state;
	assert_null(select_rules_create(&config, &compiled));
	assert_int_equal(select_rules_needs(compiled),
			 SELECT_COMM | SELECT_CGROUP | SELECT_LINEAGE);
	assert_int_equal(select_rules_pid_count(compiled), 1);
	assert_int_equal(select_rules_pid(compiled, 0), 7);
	select_rules_destroy(compiled);
}

static void assert_refused(const struct profcol_sections *include, const char *message)
{
	struct select_config config = { .include = *include };
	struct select_rules *rules = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = select_rules_create(&config, &rules);

	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), message);
	assert_null(rules);
}

static void faults_are_named_with_their_place(void **state)
{
	const struct select_rule_config faults[] = {
		RULE(ANYONE, .pid = 0),
		RULE(ANYONE, .comm.values = LIST("a-name-that-is-too-long", "fine"),
		     .cgroup.values = LIST("/", "")),
	};
	struct profcol_sections all = sections(faults, 2);

	(void)state;
	assert_refused(&all,
		       "select::include::0: no condition, so that it would hold for every process; "
		       "add executable, comm, cgroup, container_id, uid or pid\n"
		       "select::include::1::comm::values::0: 'a-name-that-is-too-long' is longer "
		       "than the name of any process; write 'a-name-that-is-'\n"
		       "select::include::1::cgroup::values::1: is empty; remove it, or use the "
		       "pattern '^$' for what has none");
}

static void values_that_nothing_can_have_are_refused(void **state)
{
	const struct select_rule_config faults[] = {
		RULE(ANYONE, .executable.values = LIST("/bin/sh", "nginx"),
		     .cgroup.values = LIST("kubepods.slice"),
		     .container_id.values = LIST(CONTAINER, "0123456789ab")),
	};
	const struct select_rule_config task = RULE(
		ANYONE, .container_id.values = LIST("0123456789abcdef0123456789abcdef-1234567890"));
	struct select_facts process = facts();
	struct profcol_sections all = sections(faults, 1);

	(void)state;
	assert_refused(&all,
		       "select::include::0::executable::values::1: 'nginx' does not begin with "
		       "'/'; write the whole path, or use regexes\n"
		       "select::include::0::cgroup::values::0: 'kubepods.slice' does not begin "
		       "with '/'; write the whole path, or use regexes\n"
		       "select::include::0::container_id::values::1: '0123456789ab' is no whole "
		       "id, which has 64 hexadecimal digits, or 32, '-' and a number; for how one "
		       "begins write regexes: ['^0123456789ab']");
	assert_int_equal(judge_both(&task, NULL, &process), SELECT_UNSELECTED);
}

static void broken_patterns_are_refused(void **state)
{
	const struct select_rule_config broken =
		RULE(ANYONE, .executable.regexes = LIST("fine", "(a"));
	struct select_config config = { .exclude = sections(&broken, 1) };
	struct select_rules *rules = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = select_rules_create(&config, &rules);

	(void)state;
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_memory_equal(profcol_error_message(error),
			    "select::exclude::0::executable::regexes::1: ", 44);
}

static void more_pids_than_fit_are_refused(void **state)
{
	struct select_rule_config rules[SELECT_MAX_PIDS + 1] = { 0 };
	struct profcol_sections all = sections(rules, SELECT_MAX_PIDS + 1);

	(void)state;
	for (int i = 0; i <= SELECT_MAX_PIDS; i++)
		rules[i] = RULE(ANYONE, .pid = i + 1);
	assert_refused(&all, "select::include::64::pid: there are more than 64 different ones; "
			     "select them by something that they have in common");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_rules_all_are_selected),
		cmocka_unit_test(texts_are_equal_or_a_pattern_occurs),
		cmocka_unit_test(a_cgroup_has_those_below_it),
		cmocka_unit_test(a_container_goes_by_its_id),
		cmocka_unit_test(numbers_are_compared),
		cmocka_unit_test(all_of_a_rule_has_to_hold_and_one_of_the_rules),
		cmocka_unit_test(what_is_excluded_stays_out),
		cmocka_unit_test(what_is_not_known_is_not_guessed),
		cmocka_unit_test(a_pattern_that_cannot_tell_decides_nothing),
		cmocka_unit_test(rules_say_what_they_ask_for),
		cmocka_unit_test(faults_are_named_with_their_place),
		cmocka_unit_test(values_that_nothing_can_have_are_refused),
		cmocka_unit_test(broken_patterns_are_refused),
		cmocka_unit_test(more_pids_than_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
