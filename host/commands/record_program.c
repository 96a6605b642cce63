// SPDX-License-Identifier: Apache-2.0
#include "record_program.h"

#include "caller.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { SHELL_CANNOT_EXECUTE = 126, SHELL_NOT_FOUND = 127, SHELL_SIGNAL = 128 };

/* ---- in the child ---- */

/* Be the user who called sudo, for good. Returns 0 or an errno. */
static int become_caller(void)
{
	const struct passwd *entry;
	uid_t user;
	gid_t group;

	if (!caller_find(&user, &group))
		return 0;
	entry = getpwuid(user);
	if (entry ? initgroups(entry->pw_name, group) : setgroups(0, NULL))
		return errno;
	if (setgid(group) || setuid(user))
		return errno;
	if (!entry)
		return 0;
	setenv("HOME", entry->pw_dir, true);
	setenv("USER", entry->pw_name, true);
	setenv("LOGNAME", entry->pw_name, true);
	setenv("SHELL", entry->pw_shell, true);
	return 0;
}

static _Noreturn void run_child(char *const *words, int go_fd, int failure_fd)
{
	int error = become_caller();
	char go;

	// Its end without a word: the recording has not come about.
	if (read(go_fd, &go, 1) != 1)
		_exit(SHELL_CANNOT_EXECUTE);
	if (!error) {
		execvp(words[0], words);
		error = errno;
	}
	if (write(failure_fd, &error, sizeof(error)) != sizeof(error))
		_exit(SHELL_CANNOT_EXECUTE);
	_exit(error == ENOENT ? SHELL_NOT_FOUND : SHELL_CANNOT_EXECUTE);
}

/* ---- in the parent ---- */

static void close_both(int (*ends)[2])
{
	for (int i = 0; i < 2; i++)
		if ((*ends)[i] >= 0)
			close((*ends)[i]);
}

struct profcol_error *record_program_start(char *const *words, struct record_program *ret)
{
	CLEANUP(close_both) int go[2] = { -1, -1 };
	CLEANUP(close_both) int failure[2] = { -1, -1 };
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		return profcol_error_errno(errno, "make a pipe to the program");
	pid = fork();
	if (pid < 0)
		return profcol_error_errno(errno, "fork");
	if (!pid) {
		close(TAKE_FD(go[1]));
		run_child(words, go[0], failure[1]);
	}
	*ret = (struct record_program){
		.pid = pid,
		.pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
		.go_fd = TAKE_FD(go[1]),
		.failure_fd = TAKE_FD(failure[0]),
		.name = words[0],
	};
	if (ret->pid_fd >= 0)
		return NULL;
	record_program_deinit(ret);
	return profcol_error_errno(errno, "watch process %d", (int)pid);
}

void record_program_go(struct record_program *program)
{
	struct sigaction before, ignored = { .sa_handler = SIG_IGN };

	// It may have been killed; the service has it ignored already, but who knows.
	sigaction(SIGPIPE, &ignored, &before);
	if (write(program->go_fd, "g", 1) == 1)
		close(TAKE_FD(program->go_fd));
	sigaction(SIGPIPE, &before, NULL);
}

bool record_program_has_ended(struct record_program *program)
{
	if (!program->ended && waitpid(program->pid, &program->status, WNOHANG) == program->pid)
		program->ended = true;
	return program->ended;
}

bool record_program_wait(struct record_program *program, uint64_t deadline_ns)
{
	struct pollfd end = { .fd = program->pid_fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();

	while (!record_program_has_ended(program) && now_ns < deadline_ns) {
		poll(&end, 1, (int)((deadline_ns - now_ns) / 1000000) + 1);
		now_ns = clock_monotonic_ns();
	}
	return program->ended;
}

bool record_program_was_ended_by(const struct record_program *program, int number)
{
	return program->ended && WIFSIGNALED(program->status) &&
	       WTERMSIG(program->status) == number;
}

int record_program_code(const struct record_program *program)
{
	return WIFSIGNALED(program->status) ? SHELL_SIGNAL + WTERMSIG(program->status)
					    : WEXITSTATUS(program->status);
}

struct profcol_error *record_program_failure(const struct record_program *program)
{
	int error;

	if (read(program->failure_fd, &error, sizeof(error)) != sizeof(error))
		return NULL;
	return profcol_error_create(PROFCOL_SYSTEM, "cannot run '%s': %s%s", program->name,
				    strerrordesc_np(error),
				    error == ENOENT ? "; is it in PATH?" : "");
}

void record_program_deinit(struct record_program *program)
{
	if (!program->pid)
		return;
	// This ends one that still waits.
	if (program->go_fd >= 0) {
		close(TAKE_FD(program->go_fd));
		waitpid(program->pid, &program->status, 0);
	}
	if (program->pid_fd >= 0)
		close(TAKE_FD(program->pid_fd));
	close(TAKE_FD(program->failure_fd));
	program->pid = 0;
}
