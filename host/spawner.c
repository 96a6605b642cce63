// SPDX-License-Identifier: Apache-2.0
#include "spawner.h"

#include "plugins/plugins.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
	HELPER_SOCKET = 3,
	HELPER_REPORT = 4, /* open only until the exec: tells the parent why it failed */
	HELPER_PLUGIN = 5, /* the file that the component is in, if it is loaded */
	FIRST_UNUSED = 6,
	EXEC_MOST_MS = 60000, /* on a machine that is busy with much else, too */
};

/* The spawner's caller hands these descriptors to the thread, in this order. */
enum { GIVEN_SOCKET, GIVEN_PLUGIN, GIVEN_MOST };

struct spawn_request {
	char kind[16], type[64];
	pid_t pid;
	struct profcol_error *error; /* owned by the caller once done */
	bool done;
};

struct spawner {
	const struct plugins *plugins; /* borrowed; may be NULL */
	pthread_mutex_t turn;          /* held by the one caller that is being served */
	int give;                      /* socket: hands descriptors to the thread; owned */
	int taken;                     /* the thread's end, a number of its own table */
	pthread_mutex_t lock;          /* guards what follows */
	pthread_cond_t changed;
	struct spawn_request *request; /* borrowed from that caller; NULL = none */
	bool running, ready, ending;
	int unshare_error;
	pthread_t thread;
};

/* ---- the child, between fork and exec: async-signal-safe calls only ---- */

static bool child_reset_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	// Ignored signals stay ignored across exec; SIGKILL and SIGSTOP refuse, which is fine.
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		sigaction(signal_number, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static bool child_arrange_descriptors(int socket_fd, int report_fd, int plugin_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return false;
	if (plugin_fd >= 0) {
		plugin_fd = fcntl(plugin_fd, F_DUPFD_CLOEXEC, FIRST_UNUSED);
		if (plugin_fd < 0)
			return false;
	}
	// All are above these numbers already, so no step overwrites another's source.
	if (dup2(socket_fd, HELPER_SOCKET) < 0 || dup3(report_fd, HELPER_REPORT, O_CLOEXEC) < 0)
		return false;
	if (plugin_fd >= 0 && dup2(plugin_fd, HELPER_PLUGIN) < 0)
		return false;
	return close_range(plugin_fd >= 0 ? FIRST_UNUSED : HELPER_PLUGIN, ~0U, 0) == 0;
}

static _Noreturn void child_exec(struct spawn_request *request, int socket_fd, int plugin_fd,
				 int report_fd, pid_t parent)
{
	char program[] = "profcol", command[] = "helper", loaded[] = "plugin";
	char *const arguments[] = {
		program, command, request->kind, request->type, plugin_fd >= 0 ? loaded : NULL, NULL
	};
	char *const environment[] = { NULL };
	int error;

	// The host may have died before prctl(): then nobody would ever send the signal.
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && child_reset_signals() &&
	    child_arrange_descriptors(socket_fd, report_fd, plugin_fd)) {
		report_fd = HELPER_REPORT;
		execve("/proc/self/exe", arguments, environment);
	}
	error = errno;
	if (write(report_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- the thread, which has a table of descriptors of its own ---- */

/*
 * Keep the standard streams and the socket, and share no table with the host from here on. Its
 * descriptors are of other people's files, too. A copy that a child had of one would be closed by
 * the exec, and where the server of that file does not answer, a close waits for ever.
 */
static int leave_table(int socket)
{
	if (close_range((unsigned int)socket + 1, ~0U, CLOSE_RANGE_UNSHARE) ||
	    close_range(STDERR_FILENO + 1, (unsigned int)socket - 1, 0))
		return errno;
	return 0;
}

/* The descriptors of a request into @fds, -1 where there is none. 0, or a negative errno. */
static int take_descriptors(int from, int fds[GIVEN_MOST])
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int[GIVEN_MOST]))];
	} control;
	char byte;
	struct iovec one = { &byte, sizeof(byte) };
	struct msghdr message = { .msg_iov = &one,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *head;
	size_t length;

	for (size_t i = 0; i < GIVEN_MOST; i++)
		fds[i] = -1;
	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	length = head ? head->cmsg_len - CMSG_LEN(0) : 0;
	if (length)
		memcpy(fds, CMSG_DATA(head), length);
	return message.msg_flags & MSG_CTRUNC || !length ? -EMFILE : 0;
}

/* Move @fd out of the way of the numbers that the child gives out. */
static int raise_fd(int *fd)
{
	int raised = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_UNUSED);

	if (raised < 0)
		return -errno;
	close(*fd);
	*fd = raised;
	return 0;
}

/*
 * Wait until the child has become the helper, or has said why it could not. A program on a file
 * system that does not answer any more is not waited for for ever, since others wait meanwhile.
 */
static struct profcol_error *await_exec(int report_fd, pid_t pid)
{
	struct pollfd report = { .fd = report_fd, .events = POLLIN };
	int error = 0, ready;
	ssize_t length;

	do {
		ready = poll(&report, 1, EXEC_MOST_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0) {
		kill(pid, SIGKILL);
		return profcol_error_create(PROFCOL_SYSTEM,
					    "a helper process has not begun within %d s: the file "
					    "system of '/proc/self/exe' does not answer",
					    EXEC_MOST_MS / 1000);
	}
	do {
		length = read(report_fd, &error, sizeof(error));
	} while (length < 0 && errno == EINTR);
	if (length == 0)
		return NULL; // closed by the exec
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return profcol_error_errno(length == sizeof(error) ? error : EIO,
				   "cannot start a helper process from '/proc/self/exe'");
}

static struct profcol_error *fork_helper(struct spawn_request *request, int socket_fd,
					 int plugin_fd)
{
	CLEANUP_FD int report_read = -1, report_write = -1;
	int pair[2], status;
	pid_t parent = getpid();

	if (pipe2(pair, O_CLOEXEC) != 0)
		return profcol_error_errno(errno, "cannot create a pipe for a helper");
	report_read = pair[0];
	report_write = pair[1];
	status = raise_fd(&report_write);
	if (status != 0)
		return profcol_error_errno(-status, "cannot duplicate a helper's descriptor");
	request->pid = fork();
	if (request->pid < 0)
		return profcol_error_errno(errno, "cannot fork a helper process");
	if (request->pid == 0)
		child_exec(request, socket_fd, plugin_fd, report_write, parent);
	close(TAKE_FD(report_write)); // else the read below would never see the end
	return await_exec(report_read, request->pid);
}

static struct profcol_error *serve(struct spawner *spawner, struct spawn_request *request)
{
	int fds[GIVEN_MOST];
	int status = take_descriptors(spawner->taken, fds);
	CLEANUP_FD int socket_fd = fds[GIVEN_SOCKET], plugin_fd = fds[GIVEN_PLUGIN];

	if (status == 0)
		status = raise_fd(&socket_fd);
	if (status != 0)
		return profcol_error_errno(-status, "cannot hand descriptors to a helper");
	return fork_helper(request, socket_fd, plugin_fd);
}

static void *spawner_thread(void *argument)
{
	struct spawner *spawner = argument;
	int error = leave_table(spawner->taken);

	pthread_mutex_lock(&spawner->lock);
	spawner->ready = true;
	spawner->unshare_error = error;
	pthread_cond_broadcast(&spawner->changed);
	while (!spawner->ending) {
		struct spawn_request *request = spawner->request;

		if (!request || request->done) {
			pthread_cond_wait(&spawner->changed, &spawner->lock);
			continue;
		}
		request->error = serve(spawner, request);
		request->done = true;
		pthread_cond_broadcast(&spawner->changed);
	}
	pthread_mutex_unlock(&spawner->lock);
	return NULL;
}

/* ---- the host ---- */

/* Start the thread; when it has its own table, @taken is its alone. */
static struct profcol_error *start_thread(struct spawner *spawner, int taken)
{
	int error;

	spawner->taken = taken;
	error = pthread_create(&spawner->thread, NULL, spawner_thread, spawner);
	if (error)
		return profcol_error_errno(error, "cannot start the spawner thread");
	spawner->running = true;
	pthread_mutex_lock(&spawner->lock);
	while (!spawner->ready)
		pthread_cond_wait(&spawner->changed, &spawner->lock);
	error = spawner->unshare_error;
	pthread_mutex_unlock(&spawner->lock);
	return error ? profcol_error_errno(error, "cannot give the spawner thread descriptors of "
						  "its own")
		     : NULL;
}

static struct profcol_error *start(struct spawner *spawner)
{
	CLEANUP_FD int taken = -1;
	int pair[2], status;

	// Not a stream: each request is a message.
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0)
		return profcol_error_errno(errno, "cannot create a socket pair for the spawner");
	spawner->give = pair[0];
	taken = pair[1];
	status = raise_fd(&taken);
	if (status != 0)
		return profcol_error_errno(-status, "cannot duplicate the spawner's descriptor");
	return start_thread(spawner, taken);
}

struct profcol_error *spawner_create(struct spawner **ret)
{
	struct spawner *spawner = calloc(1, sizeof(*spawner));
	struct profcol_error *error;

	if (!spawner)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	pthread_mutex_init(&spawner->turn, NULL);
	pthread_mutex_init(&spawner->lock, NULL);
	pthread_cond_init(&spawner->changed, NULL);
	spawner->give = -1;
	error = start(spawner);
	if (error) {
		spawner_destroy(spawner);
		return error;
	}
	*ret = spawner;
	return NULL;
}

void spawner_set_plugins(struct spawner *spawner, const struct plugins *plugins)
{
	spawner->plugins = plugins;
}

void spawner_destroy(struct spawner *spawner)
{
	if (!spawner)
		return;
	if (spawner->running) {
		pthread_mutex_lock(&spawner->lock);
		spawner->ending = true;
		pthread_cond_broadcast(&spawner->changed);
		pthread_mutex_unlock(&spawner->lock);
		pthread_join(spawner->thread, NULL);
	}
	if (spawner->give >= 0)
		close(spawner->give);
	pthread_cond_destroy(&spawner->changed);
	pthread_mutex_destroy(&spawner->lock);
	pthread_mutex_destroy(&spawner->turn);
	free(spawner);
}

/* The helper's end, and the plugin's file unless that is -1. 0, or a negative errno. */
static int give_descriptors(int to, int socket_fd, int plugin_fd)
{
	const int fds[GIVEN_MOST] = { socket_fd, plugin_fd };
	size_t bytes = plugin_fd >= 0 ? sizeof(fds) : sizeof(fds[0]);
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(bytes) } };
	char byte = 0;
	struct iovec one = { &byte, sizeof(byte) };
	const struct msghdr message = { .msg_iov = &one,
					.msg_iovlen = 1,
					.msg_control = control.bytes,
					.msg_controllen = CMSG_SPACE(bytes) };

	memcpy(CMSG_DATA(&control.head), fds, bytes);
	return sendmsg(to, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Hand @request to the thread and wait for it. The caller holds its turn. */
static void spawner_serve(struct spawner *spawner, struct spawn_request *request)
{
	pthread_mutex_lock(&spawner->lock);
	spawner->request = request;
	pthread_cond_broadcast(&spawner->changed);
	while (!request->done)
		pthread_cond_wait(&spawner->changed, &spawner->lock);
	spawner->request = NULL;
	pthread_mutex_unlock(&spawner->lock);
}

static struct profcol_error *ask(struct spawner *spawner, struct spawn_request *request,
				 int plugin_fd, int *socket_ret)
{
	CLEANUP_FD int host_end = -1, helper_end = -1;
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return profcol_error_errno(errno, "cannot create a socket pair for a helper");
	host_end = pair[0];
	helper_end = pair[1];
	status = give_descriptors(spawner->give, helper_end, plugin_fd);
	if (status != 0)
		return profcol_error_errno(-status, "cannot hand descriptors to a helper");
	spawner_serve(spawner, request);
	if (!request->error)
		*socket_ret = TAKE_FD(host_end);
	return request->error;
}

struct profcol_error *spawner_spawn(struct spawner *spawner, enum profcol_kind kind,
				    const char *type, int *socket_ret, pid_t *pid_ret)
{
	struct spawn_request request = { 0 };
	size_t type_length = strlen(type);
	struct profcol_error *error;

	if (type_length >= sizeof(request.type))
		return profcol_error_create(PROFCOL_UNSUPPORTED, "component type '%s' is too long",
					    type);
	memcpy(request.type, type, type_length);
	stpncpy(request.kind, registry_kind_name(kind), sizeof(request.kind) - 1);
	pthread_mutex_lock(&spawner->turn);
	error = ask(spawner, &request, plugins_descriptor(spawner->plugins, kind, type),
		    socket_ret);
	pthread_mutex_unlock(&spawner->turn);
	if (!error)
		*pid_ret = request.pid;
	return error;
}

/* ---- the helper, after the exec ---- */

/* Before a plugin is loaded: what its constructors open is its own. */
static void close_strays(bool loaded)
{
	close(HELPER_REPORT);
	if (!loaded)
		close(HELPER_PLUGIN);
	close_range(FIRST_UNUSED, ~0U, 0);
}

/* What the host's command asks for; false after an error message. */
static bool find_helper(int argc, char *const *argv, const struct component_registry *registry,
			struct profcol_component *ret)
{
	const struct profcol_component *builtin = NULL;
	bool loaded = argc == 5 && strcmp(argv[4], "plugin") == 0;
	struct profcol_error *error = NULL;
	enum profcol_kind kind;
	struct stat status;

	*ret = (struct profcol_component){ 0 };
	if ((loaded || argc == 4) && registry_kind_parse(argv[2], &kind) &&
	    fstat(HELPER_SOCKET, &status) == 0 && S_ISSOCK(status.st_mode)) {
		close_strays(loaded);
		if (loaded) {
			error = plugins_inherit(HELPER_PLUGIN, kind, argv[3], ret);
			// Nothing will be loaded any more that could be taken for it by its number.
			close(HELPER_PLUGIN);
		} else {
			builtin = registry_find(registry, kind, argv[3]);
		}
	}
	if (builtin)
		*ret = *builtin;
	if (error)
		fprintf(stderr, "Error: cannot run the helper of %s '%s': %s\n", argv[2], argv[3],
			profcol_error_message(error));
	else if (!ret->helper)
		fputs("Error: 'helper' is a command that profcol gives itself\n", stderr);
	profcol_error_destroy(error);
	return !error && ret->helper;
}

int spawner_run_helper(int argc, char *const *argv, const struct component_registry *registry)
{
	struct profcol_component component;

	if (!find_helper(argc, argv, registry, &component))
		return 2;
	// An exec that raises privileges (file capabilities) has cleared the parent's setting.
	// Should the host be dead by now, the socket says so.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "profcol-helper");
	fcntl(HELPER_SOCKET, F_SETFD, FD_CLOEXEC);
	return component.helper(HELPER_SOCKET);
}
