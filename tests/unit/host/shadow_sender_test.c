// SPDX-License-Identifier: Apache-2.0
/* Whose process it is that sends to `shadow`, and what it costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/commands/shadow/profiler_cost.h"
#include "host/commands/shadow/sender.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_port_is_behind_the_last_colon(void **state)
{
	(void)state;
	assert_int_equal(sender_port("[::1]:4317"), 4317);
	assert_int_equal(sender_port("localhost:65535"), 65535);
	assert_int_equal(sender_port("localhost:65536"), 0);
	assert_int_equal(sender_port("unix:///run/x"), 0);
	assert_int_equal(sender_port("nothing"), 0);
}

static int listen_at(const char *address, uint16_t *port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(*port) };
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 200), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	*port = ntohs(name.sin_port);
	return fd;
}

/* A process that keeps @count connections to that address until it is killed. */
static pid_t connect_from_child(const char *address, uint16_t port, int count)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port) };
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
	pid = fork();
	if (!pid) {
		for (int fd = 3; fd < 64; fd++)
			if (fd != ready[1])
				close(fd);
		for (int i = 0; i < count; i++)
			if (connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&name,
				    sizeof(name)))
				_exit(1);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* A server in another process, at the same port of another address, which it gets from us. */
static pid_t serve_from_child(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			accept(fd, NULL, NULL);
	}
	close(fd);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The connections of others at that port come before, and are too many to be remembered. */
static void the_sender_is_who_is_connected_to_us(void **state)
{
	uint16_t port = 0;
	int ours_fd = listen_at("127.0.0.1", &port), accepted;
	pid_t server = serve_from_child(listen_at("127.0.0.2", &port));
	pid_t bystander = connect_from_child("127.0.0.2", port, 150), sender, found[4];

	(void)state;
	assert_int_equal(sender_find(port, found, 4), 0);
	sender = connect_from_child("127.0.0.1", port, 1);
	accepted = accept(ours_fd, NULL, NULL);
	assert_true(accepted >= 0);
	assert_int_equal(sender_find(port, found, 4), 1);
	assert_int_equal(found[0], sender);
	close(accepted);
	close(ours_fd);
	end_child(sender);
	end_child(bystander);
	end_child(server);
}

static void a_process_that_ends_is_told_from_the_next(void **state)
{
	pid_t pid = fork();
	struct profiler_cost cost;

	(void)state;
	if (!pid)
		for (;;)
			pause();
	cost = profiler_cost_read(&pid, 1);
	assert_true(cost.now_ns && cost.starts && cost.memory_bytes);
	assert_false(cost.has_bpf);
	assert_int_equal(profiler_cost_read(&pid, 1).starts, cost.starts);
	end_child(pid);
	assert_int_equal(profiler_cost_read(&pid, 1).now_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_is_behind_the_last_colon),
		cmocka_unit_test(the_sender_is_who_is_connected_to_us),
		cmocka_unit_test(a_process_that_ends_is_told_from_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
