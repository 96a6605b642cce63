// SPDX-License-Identifier: Apache-2.0
#include "fake_host.h"

#include "receiver/ebpf/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char helper_argument[] = "--fake-helper";

/*
 * A helper calls the body that its arguments name, before main(), and ends with it. Each run loads
 * the program at another address, so the arguments have the body's distance from fake_host_init().
 */
__attribute__((constructor)) static void be_helper(int count, char **arguments)
{
	int (*body)(int socket);
	uintptr_t place;

	if (count != 4 || strcmp(arguments[1], helper_argument))
		return;
	place = (uintptr_t)fake_host_init + strtoull(arguments[2], NULL, 10);
	memcpy(&body, &place, sizeof(body));
	_exit(body(atoi(arguments[3])));
}

/* As a helper of profcol's the test executes itself: what was forked of several threads may wait
 * for ever for a lock, such as that of malloc(), whose holder is not there. */
static pid_t execute(int (*body)(int socket), int socket)
{
	char at[24], descriptor[12];
	char *arguments[] = { "test", helper_argument, at, descriptor, NULL };
	pid_t pid;

	snprintf(at, sizeof(at), "%ju", (uintmax_t)((uintptr_t)body - (uintptr_t)fake_host_init));
	snprintf(descriptor, sizeof(descriptor), "%d", socket);
	pid = fork();
	if (pid)
		return pid;
	fcntl(socket, F_SETFD, 0);
	execv("/proc/self/exe", arguments);
	_exit(127);
}

static pid_t fork_body(int (*body)(int socket), int socket)
{
	pid_t pid = fork();

	if (!pid)
		_exit(body(socket));
	return pid;
}

static struct profcol_error *fake_spawn_helper(const struct profcol_host *host, int *socket_ret,
					       pid_t *pid_ret)
{
	struct fake_host *fake = (struct fake_host *)(uintptr_t)host;
	int ends[2];
	pid_t pid;

	if (fake->spawn_fails)
		return profcol_error_create(PROFCOL_SYSTEM, "no process today");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return profcol_error_errno(errno, "socketpair");
	pid = fake->shares_memory ? fork_body(fake->body, ends[1]) : execute(fake->body, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return profcol_error_errno(errno, "fork");
	}
	if (fake->helper_count < FAKE_MAX_HELPERS)
		fake->helpers[fake->helper_count] = pid;
	fake->helper_count++;
	*socket_ret = ends[0];
	*pid_ret = pid;
	return NULL;
}

static struct profcol_metric *fake_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	struct fake_host *fake = (struct fake_host *)(uintptr_t)host;
	size_t at = fake->metric_count++;

	(void)kind;
	(void)doc;
	snprintf(fake->metrics[at].name, sizeof(fake->metrics[at].name), "%s", name);
	snprintf(fake->metrics[at].label, sizeof(fake->metrics[at].label), "%s", label);
	return &fake->metrics[at].metric;
}

static void fake_write(const struct profcol_logger *logger, enum profcol_level level,
		       const char *format, va_list arguments)
{
	struct fake_host *fake =
		(struct fake_host *)((uintptr_t)logger - offsetof(struct fake_host, logger));

	(void)level;
	vsnprintf(fake->last_line, sizeof(fake->last_line), format, arguments);
}

void fake_host_init(struct fake_host *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->logger = (struct profcol_logger){
		.size = sizeof(fake->logger),
		.level = PROFCOL_DEBUG,
		.write = fake_write,
	};
	fake->host = (struct profcol_host){
		.size = sizeof(fake->host),
		.id = "profiling",
		.logger = &fake->logger,
		.metric = fake_metric,
		.spawn_helper = fake_spawn_helper,
	};
	fake->body = worker_helper;
}

int64_t fake_host_metric(struct fake_host *fake, const char *name, const char *label)
{
	for (size_t i = 0; i < fake->metric_count; i++)
		if (!strcmp(fake->metrics[i].name, name) && !strcmp(fake->metrics[i].label, label))
			return profcol_metric_get(&fake->metrics[i].metric);
	return 0;
}
