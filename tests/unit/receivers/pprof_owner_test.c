// SPDX-License-Identifier: Apache-2.0
/* The search for the process at the other end of a connection: in tables as the kernel prints them,
 * and of real connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "socket_owner.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static struct sockaddr_storage four(const char *address, uint16_t port)
{
	struct sockaddr_storage to = { .ss_family = AF_INET };
	struct sockaddr_in *end = (struct sockaddr_in *)&to;

	assert_int_equal(inet_pton(AF_INET, address, &end->sin_addr), 1);
	end->sin_port = htons(port);
	return to;
}

static struct sockaddr_storage six(const char *address, uint16_t port)
{
	struct sockaddr_storage to = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *end = (struct sockaddr_in6 *)&to;

	assert_int_equal(inet_pton(AF_INET6, address, &end->sin6_addr), 1);
	end->sin6_port = htons(port);
	return to;
}

/* Lines are those of a Linux 6.18 for x86-64. */
static void tables_of_the_kernel_are_read(void **state)
{
	static const char table[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid"
		"  timeout inode\n"
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0"
		"        0 1001 1 0000000000000000 100 0 0 10 0\n"
		"   1: 0100007F:1F90 0200000A:C350 06 00000000:00000000 03:000016A4 00000000     0"
		"        0 0 3 0000000000000000\n"
		"  12: 0100007F:1F90 0200000A:C351 01 00000000:00000000 02:0008E2B3 00000000  1000"
		"        0 4294967297 2 0000000000000000 20 4 30 10 -1\n";
	static const char table_six[] =
		"  sl  local_address                         remote_address                        "
		"st\n"
		"   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200000A:C351 "
		"01"
		" 00000000:00000000 00:00000000 00000000     0        0 77 1 0000000000000000\n"
		"   1: B80D0120000000000000000001000000:1F90 B80D0120000000000000000002000000:C351 "
		"01"
		" 00000000:00000000 00:00000000 00000000     0        0 78 1 0000000000000000\n";
	struct sockaddr_storage own = four("10.0.0.2", 0xc351), peer = four("127.0.0.1", 0x1f90);
	struct sockaddr_storage ended = four("10.0.0.2", 0xc350);
	struct sockaddr_storage own_six = six("2001:db8::2", 0xc351);
	struct sockaddr_storage peer_six = six("2001:db8::1", 0x1f90);
	char text[1024];

	(void)state;
	assert_int_equal(socket_owner_parse(strcpy(text, table), false, &own, &peer), 4294967297);
	assert_int_equal(socket_owner_parse(strcpy(text, table), false, &peer, &own), 0);
	assert_int_equal(socket_owner_parse(strcpy(text, table), false, &ended, &peer), 0);
	// A server that listens to both has it in the other table.
	assert_int_equal(socket_owner_parse(strcpy(text, table_six), true, &own, &peer), 77);
	assert_int_equal(socket_owner_parse(strcpy(text, table_six), true, &own_six, &peer_six),
			 78);
}

static void what_is_no_table_has_nobody(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"0: 0100007F:1F90",
		"0: 0100007F:1F90 0200000A:C351 01",
		"0: 0100007F1F90 0200000A:C351 01 0:0 0:0 0 0 0 5",
		"0: 0100007F:1F90 0200000A:C351 02 0:0 0:0 0 0 0 5",
		"0: 0100007F:1F90 0000000000000000000000000000000000000000000000000000:C351 01",
	};
	struct sockaddr_storage own = four("10.0.0.2", 0xc351), peer = four("127.0.0.1", 0x1f90);
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(socket_owner_parse(strcpy(text, texts[i]), false, &own, &peer), 0);
		assert_int_equal(socket_owner_parse(strcpy(text, texts[i]), true, &own, &peer), 0);
	}
}

/* ---- real connections ---- */

struct connection {
	int listening, client, server;
	struct sockaddr_storage own, peer; /* as the client has them */
};

/* By localhost; @own may say from where. False: there is none. */
static bool connect_both(struct connection *connection)
{
	socklen_t length = sizeof(struct sockaddr_in);
	struct sockaddr_storage local = connection->peer;

	connection->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	connection->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(connection->listening, (struct sockaddr *)&local, length) ||
	    listen(connection->listening, 1) ||
	    getsockname(connection->listening, (struct sockaddr *)&local, &length))
		return false;
	if (bind(connection->client, (struct sockaddr *)&connection->own, length) ||
	    connect(connection->client, (struct sockaddr *)&local, length))
		return false;
	connection->server = accept(connection->listening, NULL, NULL);
	connection->peer = local;
	return connection->server >= 0 &&
	       !getsockname(connection->client, (struct sockaddr *)&connection->own, &length);
}

static void connection_close(struct connection *connection)
{
	close(connection->listening);
	close(connection->client);
	close(connection->server);
}

/* The number of the process that has the other end; 0: nobody's, -1: undecided. */
static pid_t find(const struct connection *connection)
{
	const struct socket_search search = { .proc = "/proc",
					      .own = &connection->own,
					      .peer = &connection->peer,
					      .deadline_ns = clock_monotonic_ns() + 120 * SECOND };
	struct socket_owner owner;
	enum socket_finding finding = socket_owner_find(&search, &owner);

	if (finding != SOCKET_FOUND)
		return finding == SOCKET_NOBODYS ? 0 : -1;
	assert_true(socket_owner_stays(&search, &owner));
	owner.inode++;
	assert_false(socket_owner_stays(&search, &owner));
	return owner.pid;
}

static bool is_root_or_skips(void)
{
	if (!geteuid())
		return true;
	print_message("skipped: not root\n");
	skip();
	return false;
}

static void who_has_the_other_end_is_found(void **state)
{
	struct connection connection = { .own = four("127.0.0.1", 0),
					 .peer = four("127.0.0.1", 0) };

	(void)state;
	if (!is_root_or_skips())
		return;
	assert_true(connect_both(&connection));
	assert_int_equal(find(&connection), getpid());
	connection_close(&connection);
	assert_int_equal(find(&connection), 0);
}

static bool ends_at_once(void *context)
{
	(void)context;
	return true;
}

static void a_search_that_is_ended_says_nothing(void **state)
{
	struct connection connection = { .own = four("127.0.0.1", 0),
					 .peer = four("127.0.0.1", 0) };
	struct socket_search search = { .proc = "/proc",
					.own = &connection.own,
					.peer = &connection.peer,
					.deadline_ns = UINT64_MAX,
					.is_over = ends_at_once };
	struct socket_owner owner;

	(void)state;
	assert_true(connect_both(&connection));
	assert_int_equal(socket_owner_find(&search, &owner), SOCKET_UNDECIDED);
	search.is_over = NULL;
	search.deadline_ns = 1;
	assert_int_equal(socket_owner_find(&search, &owner), SOCKET_UNDECIDED);
	search.deadline_ns = UINT64_MAX;
	search.proc = "/proc/none";
	assert_int_equal(socket_owner_find(&search, &owner), SOCKET_UNDECIDED);
	connection_close(&connection);
}

static void what_is_no_connection_of_the_internet_has_nobody(void **state)
{
	struct connection none = { .own.ss_family = AF_UNSPEC };

	(void)state;
	assert_int_equal(find(&none), 0);
	none.own.ss_family = none.peer.ss_family = AF_UNIX;
	assert_int_equal(find(&none), 0);
}

/* ---- other network namespaces ---- */

/* That the interface of localhost has @address. */
static bool give_address(int fd, const struct sockaddr_storage *address)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct ifreq request = { .ifr_name = "lo:1" };

	memcpy(&request.ifr_addr, address, sizeof(request.ifr_addr));
	((struct sockaddr_in *)&request.ifr_addr)->sin_port = 0;
	return fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &loopback) && !ioctl(fd, SIOCSIFADDR, &request);
}

/* A child in a network namespace, made with @flags, in which it has the connection @wanted, until
 * it is killed. -1: it cannot be made here. */
static pid_t start_apart(int flags, const struct connection *wanted)
{
	struct connection connection = *wanted;
	char said = 'n';
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		int fd = -1;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!unshare(flags))
			fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		said = give_address(fd, &wanted->peer) && connect_both(&connection) ? 'y' : 'n';
		if (write(ends[1], &said, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &said, 1), 1);
	close(ends[0]);
	close(ends[1]);
	if (said == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

static void end_apart(pid_t pid)
{
	if (pid < 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void only_namespaces_of_the_system_count(void **state)
{
	enum { OWN = 40123, PEER = 40124 };
	char address[32];
	struct connection wanted;
	pid_t container, forger, second;

	(void)state;
	// Of the addresses for documentation one of this process's own.
	snprintf(address, sizeof(address), "198.18.%d.%d", getpid() / 250 % 250 + 1,
		 getpid() % 250 + 1);
	wanted = (struct connection){ .own = four(address, OWN), .peer = four(address, PEER) };
	container = start_apart(CLONE_NEWNET, &wanted);
	if (container < 0) {
		print_message("skipped: no network namespace can be made here\n");
		skip();
	}
	assert_int_equal(find(&wanted), container);
	// Any user can make such a namespace, and have any address there.
	forger = start_apart(CLONE_NEWUSER | CLONE_NEWNET, &wanted);
	assert_int_equal(find(&wanted), container);
	end_apart(container);
	assert_int_equal(find(&wanted), 0);
	end_apart(forger);
	// Of two nobody knows which it is.
	container = start_apart(CLONE_NEWNET, &wanted);
	second = start_apart(CLONE_NEWNET, &wanted);
	assert_true(container > 0 && second > 0);
	assert_int_equal(find(&wanted), 0);
	end_apart(container);
	end_apart(second);
}

/* Every container has localhost, and may have a connection there with our ends. */
static void localhost_of_others_is_not_ours(void **state)
{
	struct connection wanted = { .own = four("127.0.0.1", 0), .peer = four("127.0.0.1", 0) };
	pid_t container;

	(void)state;
	if (!is_root_or_skips())
		return;
	assert_true(connect_both(&wanted));
	container = start_apart(CLONE_NEWNET, &wanted);
	assert_int_equal(find(&wanted), getpid());
	connection_close(&wanted);
	assert_int_equal(find(&wanted), 0);
	end_apart(container);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_the_kernel_are_read),
		cmocka_unit_test(what_is_no_table_has_nobody),
		cmocka_unit_test(who_has_the_other_end_is_found),
		cmocka_unit_test(a_search_that_is_ended_says_nothing),
		cmocka_unit_test(what_is_no_connection_of_the_internet_has_nobody),
		cmocka_unit_test(only_namespaces_of_the_system_count),
		cmocka_unit_test(localhost_of_others_is_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
