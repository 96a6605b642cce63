// SPDX-License-Identifier: Apache-2.0
/* Each test looks at a process of its own: what is given up does not come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/privileges.h"

#include <stdbool.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has(cap_t set, cap_flag_t flag, cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;

	return !cap_get_flag(set, capability, flag, &value) && value == CAP_SET;
}

/* The exit code of @body, run in a process of its own. */
static int in_a_child(int (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(body());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Of those that a profiler might be thought to need. */
static int no_use_means_not_held(void)
{
	static const cap_value_t useless[] = { CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_NET_ADMIN,
					       CAP_NET_RAW,    CAP_MKNOD,     CAP_SYS_CHROOT,
					       CAP_CHOWN,      CAP_SETFCAP };
	int held = 0;
	cap_t set;

	if (privileges_reduce())
		return 100;
	set = cap_get_proc();
	for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++)
		held += has(set, CAP_PERMITTED, useless[i]) || has(set, CAP_EFFECTIVE, useless[i]);
	cap_free(set);
	return held;
}

static void what_has_no_use_is_given_up(void **state)
{
	(void)state;
	assert_int_equal(in_a_child(no_use_means_not_held), 0);
}

static int what_is_left_was_there_before(void)
{
	cap_t before = cap_get_proc(), after;
	int gained = 0, lost = 0;

	if (privileges_reduce())
		return 100;
	after = cap_get_proc();
	for (cap_value_t each = 0; each < cap_max_bits(); each++)
		gained += has(after, CAP_EFFECTIVE, each) && !has(before, CAP_EFFECTIVE, each);
	lost += has(before, CAP_EFFECTIVE, CAP_BPF) && !has(after, CAP_EFFECTIVE, CAP_BPF);
	lost += has(before, CAP_EFFECTIVE, CAP_SYS_PTRACE) &&
		!has(after, CAP_EFFECTIVE, CAP_SYS_PTRACE);
	cap_free(before);
	cap_free(after);
	return gained + lost;
}

static void the_profilers_stay_and_none_is_gained(void **state)
{
	(void)state;
	assert_int_equal(in_a_child(what_is_left_was_there_before), 0);
}

/* As a service manager hands them out: a few, of which one is of use. */
static int an_inheritable_set_is_emptied(void)
{
	static const cap_value_t some[] = { CAP_SYSLOG, CAP_NET_ADMIN };
	cap_t set = cap_get_proc();
	int result;

	if (!has(set, CAP_PERMITTED, CAP_SYSLOG) || !has(set, CAP_PERMITTED, CAP_NET_ADMIN))
		return 77;
	cap_clear(set);
	cap_set_flag(set, CAP_PERMITTED, 2, some, CAP_SET);
	cap_set_flag(set, CAP_EFFECTIVE, 2, some, CAP_SET);
	cap_set_flag(set, CAP_INHERITABLE, 2, some, CAP_SET);
	if (cap_set_proc(set) || cap_set_ambient(CAP_SYSLOG, CAP_SET) || privileges_reduce())
		return 100;
	cap_free(set);
	set = cap_get_proc();
	result = !has(set, CAP_EFFECTIVE, CAP_SYSLOG) || has(set, CAP_PERMITTED, CAP_NET_ADMIN) ||
		 has(set, CAP_INHERITABLE, CAP_SYSLOG) || cap_get_ambient(CAP_SYSLOG) != 0;
	cap_free(set);
	return result;
}

static void a_helper_inherits_nothing(void **state)
{
	int result = in_a_child(an_inheritable_set_is_emptied);

	(void)state;
	if (result == 77)
		skip();
	assert_int_equal(result, 0);
}

static int executing_gains_nothing(void)
{
	return privileges_reduce() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static void nothing_is_gained_by_executing(void **state)
{
	(void)state;
	assert_int_equal(in_a_child(executing_gains_nothing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_use_is_given_up),
		cmocka_unit_test(the_profilers_stay_and_none_is_gained),
		cmocka_unit_test(a_helper_inherits_nothing),
		cmocka_unit_test(nothing_is_gained_by_executing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
