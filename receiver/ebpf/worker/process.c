// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The memory of a process has no file system that may keep whoever closes it waiting. */
static bool is_of_memory(const struct worker_request *request)
{
	return request->head.kind == PROTOCOL_ATTACH || request->head.kind == PROTOCOL_NAMES;
}

static void close_files(struct worker_request *request)
{
	for (size_t i = 0; i < PROTOCOL_MAX_FILES; i++) {
		int fd = TAKE_FD(request->fds[i]);

		if (fd >= 0 && is_of_memory(request))
			close(fd);
		else if (fd >= 0)
			close_later(fd, request->origin.payer);
	}
}

void worker_request_destroy(struct worker_request *request)
{
	if (!request)
		return;
	close_files(request);
	free(request);
}

struct profcol_error *worker_start(struct worker_process *process, const struct profcol_host *host,
				   uint32_t uid, uint64_t now_ns)
{
	const struct protocol_hello hello = { .magic = PROTOCOL_MAGIC, .uid = uid };
	struct worker_process started = {
		.state = WORKER_STARTING,
		.origin.owner = OWNER_NOBODY,
		.since_ns = now_ns,
	};
	struct profcol_error *error = host->spawn_helper(host, &started.socket, &started.pid);

	if (error)
		return error;
	*process = started;
	// There is room for it. If its end is closed already, the start fails by that.
	(void)!send(process->socket, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT);
	return NULL;
}

void worker_give(struct worker_process *process, struct worker_request *request, uint64_t now_ns)
{
	process->state = WORKER_BUSY;
	process->origin = request->origin;
	process->since_ns = now_ns;
	process->request = request;
	process->sent = 0;
}

static size_t request_bytes(const struct worker_request *request)
{
	return sizeof(request->head) + request->head.asked_count * sizeof(request->asked[0]);
}

bool worker_is_sending(const struct worker_process *process)
{
	return process->state == WORKER_BUSY && process->sent < request_bytes(process->request);
}

void worker_rest(struct worker_process *process, uint64_t now_ns)
{
	worker_request_destroy(TAKE(process->request));
	free(TAKE(process->body));
	process->received = 0;
	process->state = WORKER_IDLE;
	process->since_ns = now_ns;
}

static size_t fds_count(const struct worker_request *request)
{
	size_t count = 0;

	while (count < PROTOCOL_MAX_FILES && request->fds[count] >= 0)
		count++;
	return count;
}

/* One sendmsg: the descriptors go with the first byte. Returns what it returned. */
static ssize_t worker_send_some(struct worker_process *process, size_t total)
{
	struct worker_request *request = process->request;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(PROTOCOL_MAX_FILES * sizeof(int))] = { 0 };
	size_t fds_bytes = fds_count(request) * sizeof(int);
	struct iovec part = { (char *)&request->head + process->sent, total - process->sent };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fds_bytes) {
		struct cmsghdr *header;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fds_bytes);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(header), request->fds, fds_bytes);
	}
	return sendmsg(process->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static enum worker_event worker_send(struct worker_process *process, uint64_t now_ns)
{
	struct worker_request *request = process->request;
	size_t total = request_bytes(request);

	while (process->sent < total) {
		ssize_t sent = worker_send_some(process, total);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? WORKER_WAITS : WORKER_ENDED;
		close_files(request);
		process->sent += (size_t)sent;
		process->since_ns = now_ns;
	}
	return WORKER_WAITS;
}

static bool header_is_sound(const struct worker_process *process)
{
	const struct protocol_header *header = &process->header;
	uint32_t id = process->state == WORKER_BUSY ? process->request->head.id : 0;
	uint32_t most = !header->status && id ? PROTOCOL_MAX_BODY : PROTOCOL_MAX_COMPLAINT;

	return process->state != WORKER_IDLE && header->magic == PROTOCOL_MAGIC &&
	       header->id == id && header->body_bytes <= most && header->status <= INT32_MAX;
}

/* Where the next bytes go and how many fit; 0 when the message is whole. */
static size_t worker_room(struct worker_process *process, char **to_ret)
{
	const size_t head = sizeof(process->header);

	if (process->received < head) {
		*to_ret = (char *)&process->header + process->received;
		return head - process->received;
	}
	*to_ret = (char *)process->body + (process->received - head);
	return process->header.body_bytes - (process->received - head);
}

static enum worker_event worker_receive(struct worker_process *process, uint64_t now_ns)
{
	for (;;) {
		size_t room;
		ssize_t got;
		char *to;

		room = worker_room(process, &to);
		if (!room)
			return WORKER_SPOKE;
		got = recv(process->socket, to, room, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return WORKER_WAITS;
		if (got <= 0)
			return WORKER_ENDED;
		if (!process->received)
			process->since_ns = now_ns;
		process->received += (size_t)got;
		if (process->received != sizeof(process->header))
			continue;
		if (!header_is_sound(process))
			return WORKER_BABBLED;
		process->body = malloc(process->header.body_bytes + 1ul);
		if (!process->body)
			return WORKER_BABBLED;
	}
}

enum worker_event worker_advance(struct worker_process *process, uint64_t now_ns)
{
	if (process->state == WORKER_BUSY && worker_send(process, now_ns) == WORKER_ENDED)
		return WORKER_ENDED;
	return worker_receive(process, now_ns);
}

void worker_tell_end(const struct worker_process *process, char *text, size_t size)
{
	enum { PATIENCE_MS = 100 };
	siginfo_t end = { 0 };

	// Its socket is closed somewhat before there is something to wait for.
	for (int waited_ms = 0; waited_ms < PATIENCE_MS && !end.si_pid; waited_ms++)
		if (waitid(P_PID, (id_t)process->pid, &end, WEXITED | WNOWAIT | WNOHANG) ||
		    (!end.si_pid && poll(NULL, 0, 1)))
			break;
	if (!end.si_pid)
		snprintf(text, size, "it closed its socket before it was ready");
	else if (end.si_code == CLD_EXITED)
		snprintf(text, size, "it ended before it was ready, with exit code %d",
			 end.si_status);
	else
		snprintf(text, size,
			 "it ended before it was ready, killed by SIG%s; the kernel's log may say "
			 "why",
			 sigabbrev_np(end.si_status));
}

pid_t worker_kill(struct worker_process *process)
{
	pid_t pid = process->pid, reaped;

	kill(pid, SIGKILL);
	close(process->socket);
	worker_request_destroy(process->request);
	free(process->body);
	*process = (struct worker_process){ .state = WORKER_NONE, .socket = -1 };
	do
		reaped = waitpid(pid, NULL, WNOHANG);
	while (reaped < 0 && errno == EINTR);
	return reaped ? 0 : pid;
}
