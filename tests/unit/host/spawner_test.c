// SPDX-License-Identifier: Apache-2.0
/* Runs itself as the helper: `spawner_test helper exporter fake`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/spawner.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the helper's side ---- */

struct facts {
	int open_above_socket; /* descriptors besides 0 to 3 */
	int environment;       /* variables */
	int blocked, changed;  /* signals */
	int parent_death_signal;
	bool stdin_is_null;
	char name[16];
};

static void look_at_signals(struct facts *facts)
{
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < SIGRTMIN; number++) {
		struct sigaction action;
		bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP;

		if (sigismember(&blocked, number) == 1)
			facts->blocked++;
		// The sanitizer has handlers of its own on the signals of a crash.
		if (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL)
			continue;
		if (sigaction(number, NULL, &action) == 0 && !ends && action.sa_handler != SIG_DFL)
			facts->changed++;
		if (ends && action.sa_handler != SIG_IGN)
			facts->changed++;
	}
}

static struct facts look_around(void)
{
	struct facts facts = { 0 };
	struct stat null_status, stdin_status;

	for (int fd = 4; fd < 1024; fd++)
		facts.open_above_socket += fcntl(fd, F_GETFD) >= 0;
	for (char **variable = environ; variable && *variable; variable++)
		facts.environment++;
	look_at_signals(&facts);
	prctl(PR_GET_PDEATHSIG, &facts.parent_death_signal);
	prctl(PR_GET_NAME, facts.name);
	facts.stdin_is_null = stat("/dev/null", &null_status) == 0 &&
			      fstat(0, &stdin_status) == 0 &&
			      null_status.st_rdev == stdin_status.st_rdev;
	return facts;
}

/* 'f': send facts. 'p': never return. End of file: return 7. */
static int fake_helper(int socket_fd)
{
	char order;

	while (read(socket_fd, &order, 1) == 1) {
		struct facts facts = look_around();

		if (order == 'p') {
			if (write(socket_fd, "p", 1) == 1)
				for (;;)
					pause();
		}
		if (write(socket_fd, &facts, sizeof(facts)) != sizeof(facts))
			return 8;
	}
	return 7;
}

static const struct profcol_component component = {
	.kind = PROFCOL_EXPORTER,
	.type = "fake",
	.helper = fake_helper,
};

static const struct profcol_component helpless = { .kind = PROFCOL_EXPORTER, .type = "helpless" };

static const struct profcol_component *const components[] = { &component, &helpless };
static const struct component_registry registry = { components, 2 };

/* ---- the host's side ---- */

static void spawn(struct spawner *spawner, int *socket_fd, pid_t *pid)
{
	struct profcol_error *error;

	error = spawner_spawn(spawner, PROFCOL_EXPORTER, "fake", socket_fd, pid);
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static int reap(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static struct spawner *create_spawner(void)
{
	struct spawner *spawner = NULL;
	struct profcol_error *error = spawner_create(&spawner);

	assert_null(error);
	return spawner;
}

static void a_helper_starts_clean_and_ends_with_its_socket(void **state)
{
	struct spawner *spawner = create_spawner();
	struct facts facts;
	int socket_fd, leaked = open("/dev/null", O_RDONLY);
	sigset_t blocked;
	pid_t pid;

	(void)state;
	setenv("SECRET_TOKEN", "not for helpers", 1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigfillset(&blocked);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	spawn(spawner, &socket_fd, &pid);
	assert_true(fcntl(socket_fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(socket_fd, "f", 1), 1);
	assert_int_equal(read(socket_fd, &facts, sizeof(facts)), sizeof(facts));
	assert_int_equal(facts.open_above_socket, 0);
	assert_int_equal(facts.environment, 0);
	assert_int_equal(facts.blocked, 0);
	assert_int_equal(facts.changed, 0);
	assert_int_equal(facts.parent_death_signal, SIGKILL);
	assert_true(facts.stdin_is_null);
	assert_string_equal(facts.name, "profcol-helper");
	kill(pid,
	     SIGTERM); // as a service manager does to the whole group: not an order to a helper
	kill(pid, SIGINT);
	assert_int_equal(write(socket_fd, "f", 1), 1);
	assert_int_equal(read(socket_fd, &facts, sizeof(facts)), sizeof(facts));
	close(socket_fd);
	assert_int_equal(WEXITSTATUS(reap(pid)), 7);
	spawner_destroy(spawner);
	close(leaked);
	pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
	signal(SIGUSR1, SIG_DFL);
}

struct spawning {
	struct spawner *spawner;
	int socket_fd;
	pid_t pid;
};

static void *spawn_in_thread(void *argument)
{
	struct spawning *spawning = argument;

	return spawner_spawn(spawning->spawner, PROFCOL_EXPORTER, "fake", &spawning->socket_fd,
			     &spawning->pid);
}

/* PR_SET_PDEATHSIG acts when the forking thread ends, and these threads end at once. */
static void a_helper_outlives_the_thread_that_asked_for_it(void **state)
{
	struct spawner *spawner = create_spawner();
	struct spawning spawnings[3];
	pthread_t threads[3];
	struct facts facts;
	void *error;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		spawnings[i] = (struct spawning){ .spawner = spawner };
		assert_int_equal(pthread_create(&threads[i], NULL, spawn_in_thread, &spawnings[i]),
				 0);
	}
	for (size_t i = 0; i < 3; i++) {
		pthread_join(threads[i], &error);
		assert_null(error);
	}
	for (size_t i = 0; i < 3; i++) {
		int socket_fd = spawnings[i].socket_fd;

		assert_int_equal(write(socket_fd, "f", 1), 1);
		assert_int_equal(read(socket_fd, &facts, sizeof(facts)), sizeof(facts));
		close(socket_fd);
		assert_int_equal(WEXITSTATUS(reap(spawnings[i].pid)), 7);
	}
	spawner_destroy(spawner);
}

/* A host that starts a helper, tells its pid, and waits to be killed. */
static _Noreturn void doomed_host(int report_fd)
{
	struct spawner *spawner = create_spawner();
	int socket_fd;
	char answer;
	pid_t pid;

	spawn(spawner, &socket_fd, &pid);
	if (write(socket_fd, "p", 1) != 1 || read(socket_fd, &answer, 1) != 1 ||
	    write(report_fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

static void a_helper_dies_with_its_host(void **state)
{
	int report[2];
	pid_t host, helper;

	(void)state;
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	host = fork();
	if (host == 0)
		doomed_host(report[1]);
	close(report[1]);
	assert_int_equal(read(report[0], &helper, sizeof(helper)), sizeof(helper));
	close(report[0]);
	assert_int_equal(kill(helper, 0), 0);
	kill(host, SIGKILL);
	assert_true(WIFSIGNALED(reap(host)));
	// It ignores the end of its socket, so that only the kernel can end it.
	assert_int_equal(WTERMSIG(reap(helper)), SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void a_helper_ends_with_its_spawner(void **state)
{
	struct spawner *spawner = create_spawner();
	int socket_fd;
	pid_t pid;

	(void)state;
	spawn(spawner, &socket_fd, &pid);
	assert_int_equal(write(socket_fd, "p", 1), 1);
	spawner_destroy(spawner);
	assert_int_equal(WTERMSIG(reap(pid)), SIGKILL);
	close(socket_fd);
}

/* Threads of this process that can reach its descriptor @fd. */
static size_t count_threads_with(int fd)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	size_t count = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		char path[64];

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/fd/%d", task->d_name, fd);
		count += faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	closedir(tasks);
	return count;
}

/* An exec would have to close a copy in the child, which takes for ever where files hang. */
static void who_forks_has_none_of_the_files_that_the_host_opens(void **state)
{
	int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 500), after, socket_fd;
	struct spawner *spawner = create_spawner();
	pid_t pid;

	(void)state;
	after = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 600);
	spawn(spawner, &socket_fd, &pid);
	assert_int_equal(count_threads_with(STDERR_FILENO), 2);
	assert_int_equal(count_threads_with(before), 1);
	assert_int_equal(count_threads_with(after), 1);
	assert_int_equal(count_threads_with(socket_fd), 1);
	close(socket_fd);
	assert_int_equal(WEXITSTATUS(reap(pid)), 7);
	spawner_destroy(spawner);
	close(before);
	close(after);
}

static void a_spawner_without_descriptors_says_so(void **state)
{
	struct spawner *spawner = create_spawner();
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct rlimit limit, none;
	int socket_fd = -1;
	pid_t pid = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	error = spawner_spawn(spawner, PROFCOL_EXPORTER, "fake", &socket_fd, &pid);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error),
			    "cannot create a socket pair for a helper: Too many open files");
	assert_int_equal(socket_fd, -1);
	assert_int_equal(pid, -1);
	spawner_destroy(spawner);
}

static void the_hidden_command_refuses_strangers(void **state)
{
	char program[] = "profcol", command[] = "helper", kind[] = "exporter", type[] = "fake",
	     other[] = "helpless";
	char *const no_type[] = { program, command, kind, NULL };
	char *const no_helper[] = { program, command, kind, other, NULL };
	char *const no_socket[] = { program, command, kind, type, NULL };

	(void)state;
	assert_int_equal(spawner_run_helper(3, no_type, &registry), 2);
	assert_int_equal(spawner_run_helper(4, no_helper, &registry), 2);
	assert_int_equal(spawner_run_helper(4, no_socket, &registry), 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_helper_starts_clean_and_ends_with_its_socket),
		cmocka_unit_test(a_helper_outlives_the_thread_that_asked_for_it),
		cmocka_unit_test(a_helper_dies_with_its_host),
		cmocka_unit_test(a_helper_ends_with_its_spawner),
		cmocka_unit_test(who_forks_has_none_of_the_files_that_the_host_opens),
		cmocka_unit_test(a_spawner_without_descriptors_says_so),
		cmocka_unit_test(the_hidden_command_refuses_strangers),
	};

	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return spawner_run_helper(argc, argv, &registry);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
