// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include "base/base.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct signals {
	struct events *events; /* borrowed */
	pthread_t watcher;
	sigset_t watched;
	atomic_bool ending;
	int asked; /* the watcher's until it has ended */
};

/* Say why, unless stderr would block: nothing may hold up this way out. */
static _Noreturn void end_at_once(void)
{
	static const char message[] = "Error: second signal, ending without draining\n";
	struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&output, 1, 0) == 1 && write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(1);
	_exit(1);
}

enum { ECHO_NS = 100000000 };

/*
 * Is this the first request once more? Supervisors such as timeout(1) signal the program and
 * then its whole group: the same signal twice from one sender, at once.
 */
static bool is_echo(const siginfo_t *first, uint64_t first_ns, const siginfo_t *now)
{
	return first->si_signo == now->si_signo && first->si_pid == now->si_pid &&
	       clock_monotonic_ns() - first_ns < ECHO_NS;
}

static void *signals_thread(void *argument)
{
	struct signals *signals = argument;
	siginfo_t first = { 0 }, now;
	uint64_t first_ns = 0; /* 0: nobody has asked yet */

	for (;;) {
		int number = sigwaitinfo(&signals->watched, &now);

		if (number > 0 && number != SIGHUP && !signals->asked)
			signals->asked = number;
		if (atomic_load(&signals->ending))
			return NULL;
		if (number < 0)
			continue; // EINTR, by a debugger
		if (number == SIGHUP) {
			events_post_reload(signals->events);
			continue;
		}
		if (first_ns) {
			if (is_echo(&first, first_ns, &now))
				continue;
			end_at_once();
		}
		first = now;
		first_ns = clock_monotonic_ns();
		events_post_end(signals->events, number);
	}
}

struct profcol_error *signals_create(struct events *events, struct signals **ret)
{
	struct signals *signals = calloc(1, sizeof(*signals));
	int status;

	if (!signals)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	signals->events = events;
	sigemptyset(&signals->watched);
	sigaddset(&signals->watched, SIGINT);
	sigaddset(&signals->watched, SIGTERM);
	sigaddset(&signals->watched, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); // writes beyond RLIMIT_FSIZE fail with EFBIG, which is reported
	pthread_sigmask(SIG_BLOCK, &signals->watched, NULL);
	status = pthread_create(&signals->watcher, NULL, signals_thread, signals);
	if (status != 0) {
		free(signals);
		return profcol_error_errno(status, "cannot start the signal thread");
	}
	*ret = signals;
	return NULL;
}

/* A signal that the watcher has not taken any more. */
static int pending_end(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT)    ? SIGINT
	       : sigismember(&pending, SIGTERM) ? SIGTERM
						: 0;
}

int signals_destroy(struct signals *signals)
{
	int asked;

	if (!signals)
		return 0;
	atomic_store(&signals->ending, true);
	pthread_kill(signals->watcher, SIGHUP); // wakes it from sigwaitinfo()
	pthread_join(signals->watcher, NULL);
	asked = signals->asked ? signals->asked : pending_end();
	free(signals);
	return asked;
}
