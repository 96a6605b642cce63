// SPDX-License-Identifier: Apache-2.0
/* Whose a process is: whatever numbers it has in namespaces of its own, it is who made them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/owner.h"

#include "base/base.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOMEONE = 12345, LENT = 200000, INSIDE = 5 };

/* A process that is told when to go on, by a byte, and says when it has. */
struct child {
	pid_t pid;
	int go[2], done[2];
};

static bool await(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

static bool tell(int fd)
{
	return write(fd, "x", 1) == 1;
}

static uint32_t ask(pid_t pid, uint32_t (*question)(int process))
{
	char path[32];
	CLEANUP_FD int process = -1;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(process >= 0);
	return question(process);
}

static uint32_t owner_of(pid_t pid)
{
	return ask(pid, owner_uid);
}

static uint32_t presumed_of(pid_t pid)
{
	return ask(pid, owner_presumed_uid);
}

/* As an ordinary user; in two namespaces, one in the other, with other numbers, if @nested. */
static void be_child(struct child *child, bool nested)
{
	bool fine = !setgroups(0, NULL) && !setresgid(SOMEONE, SOMEONE, SOMEONE) &&
		    !setresuid(SOMEONE, SOMEONE, SOMEONE);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nested)
		fine = fine && !unshare(CLONE_NEWUSER) && tell(child->done[1]) &&
		       await(child->go[0]) && !setresgid(INSIDE, INSIDE, INSIDE) &&
		       !setresuid(INSIDE, INSIDE, INSIDE) && !unshare(CLONE_NEWUSER);
	else
		prctl(PR_SET_DUMPABLE, 0);
	if (fine && tell(child->done[1]))
		pause();
	_exit(1);
}

static void begin(struct child *child, bool nested)
{
	assert_int_equal(pipe(child->go) || pipe(child->done), 0);
	child->pid = fork();
	if (!child->pid)
		be_child(child, nested);
	close(child->done[1]);
	if (!await(child->done[0])) {
		waitpid(child->pid, NULL, 0);
		skip(); // not root, or no namespaces to be had
	}
}

static void end(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->go[0]);
	close(child->go[1]);
	close(child->done[0]);
}

/* What newuidmap does for a user who was lent numbers. */
static void lend(pid_t pid, const char *what)
{
	char path[48], text[48];
	CLEANUP_FD int fd = -1;
	int length;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	length = snprintf(text, sizeof(text), "0 %d 1000", LENT);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, (size_t)length), length);
}

static void it_is_the_user_of_the_process(void **state)
{
	struct child child;

	(void)state;
	assert_int_equal(owner_of(getpid()), geteuid());
	assert_int_equal(presumed_of(getpid()), geteuid());
	// Also of one whose files in /proc are root's.
	begin(&child, false);
	assert_int_equal(owner_of(child.pid), SOMEONE);
	assert_int_equal(presumed_of(child.pid), SOMEONE);
	end(&child);
}

static void numbers_in_namespaces_are_their_makers(void **state)
{
	struct child child;

	(void)state;
	begin(&child, true);
	lend(child.pid, "gid_map");
	lend(child.pid, "uid_map");
	assert_true(tell(child.go[1]));
	assert_true(await(child.done[0]));
	assert_int_equal(owner_of(child.pid), SOMEONE);
	// Of 200,005: all that are lent at a time are presumed to be one's.
	assert_int_equal(presumed_of(child.pid), LENT / 65536 * 65536);
	end(&child);
}

static void containers_differ_by_their_ids(void **state)
{
	(void)state;
	assert_int_equal(owner_container(""), 0);
	assert_int_not_equal(owner_container("a"), 0);
	assert_int_not_equal(owner_container("a"), owner_container("b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_user_of_the_process),
		cmocka_unit_test(numbers_in_namespaces_are_their_makers),
		cmocka_unit_test(containers_differ_by_their_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
