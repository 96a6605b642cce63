// SPDX-License-Identifier: Apache-2.0
#include "sender.h"

#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	TABLE_MAX = 16 << 20, /* bytes of /proc/net/tcp */
	CONNECTIONS_MAX = 64, /* of ours */
	SOCKETS_MAX = 4096,   /* of ours, and of one process that is looked at */
	ESTABLISHED = 1,
};

static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };

/* One end of a connection. IPv4 in IPv6 has the IPv4 address in its last 4 bytes. */
struct end {
	uint32_t address; /* the last 4 bytes, as /proc prints them */
	uint16_t port;
};

struct connection {
	struct end local, remote;
	uint64_t inode;
};

uint16_t sender_port(const char *address)
{
	const char *colon = strrchr(address, ':');
	int64_t port = 0;

	if (!colon || !number_parse_int(colon + 1, strlen(colon + 1), &port) || port < 0 ||
	    port > UINT16_MAX)
		return 0;
	return (uint16_t)port;
}

static bool parse_end(const char *text, struct end *ret)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (length < 8)
		return false;
	ret->address = (uint32_t)strtoul(colon - 8, NULL, 16);
	ret->port = (uint16_t)strtoul(colon + 1, NULL, 16);
	return true;
}

/* A line of /proc/net/tcp or tcp6, of an established connection. */
static bool parse_line(const char *line, struct connection *ret)
{
	char local[48], remote[48];
	unsigned int state;

	return sscanf(line, " %*u: %47s %47s %x %*s %*s %*s %*u %*u %" SCNu64, local, remote,
		      &state, &ret->inode) == 4 &&
	       state == ESTABLISHED && parse_end(local, &ret->local) &&
	       parse_end(remote, &ret->remote);
}

/* ---- sockets of a process ---- */

struct sockets {
	uint64_t inodes[SOCKETS_MAX];
	size_t count;
};

static bool has_socket(const struct sockets *sockets, uint64_t inode)
{
	for (size_t i = 0; i < sockets->count; i++)
		if (sockets->inodes[i] == inode)
			return true;
	return false;
}

static void read_sockets(const char *directory_path, struct sockets *sockets)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(directory_path);
	struct dirent *entry;
	char target[64];

	sockets->count = 0;
	while (directory && sockets->count < SOCKETS_MAX && (entry = readdir(directory))) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		if (length < 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &sockets->inodes[sockets->count]) == 1)
			sockets->count++;
	}
}

/* ---- connections ---- */

struct search {
	uint16_t port;
	struct sockets sockets; /* first ours, then those of the process that is looked at */
	struct connection servers[CONNECTIONS_MAX];
	size_t server_count;
	uint64_t clients[CONNECTIONS_MAX]; /* inodes of their other ends */
	size_t client_count;
};

static bool is_same(struct end left, struct end right)
{
	return left.address == right.address && left.port == right.port;
}

/* Anybody may listen at that port of another address: only what is in our hands is ours. */
static void take_server(struct search *search, const struct connection *found)
{
	if (found->local.port == search->port && search->server_count < CONNECTIONS_MAX &&
	    has_socket(&search->sockets, found->inode))
		search->servers[search->server_count++] = *found;
}

static void take_client(struct search *search, const struct connection *found)
{
	if (found->remote.port != search->port || search->client_count == CONNECTIONS_MAX)
		return;
	for (size_t i = 0; i < search->server_count; i++) {
		const struct connection *server = &search->servers[i];

		if (is_same(found->local, server->remote) &&
		    is_same(found->remote, server->local)) {
			search->clients[search->client_count++] = found->inode;
			return;
		}
	}
}

static void read_connections(struct search *search, const char *path,
			     void (*take)(struct search *search, const struct connection *found))
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL;

	if (file_read(-1, path, TABLE_MAX, &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct connection found;

		if (parse_line(line, &found))
			take(search, &found);
	}
}

/* ---- processes ---- */

static bool holds_one(struct search *search, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	read_sockets(path, &search->sockets);
	for (size_t i = 0; i < search->client_count; i++)
		if (has_socket(&search->sockets, search->clients[i]))
			return true;
	return false;
}

static size_t find_processes(struct search *search, pid_t *pids, size_t max)
{
	CLEANUP_DIRECTORY DIR *directory = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	while (directory && count < max && (entry = readdir(directory))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && holds_one(search, pid))
			pids[count++] = pid;
	}
	return count;
}

size_t sender_find(uint16_t port, pid_t *pids, size_t max)
{
	CLEANUP_FREE struct search *search = calloc(1, sizeof(*search));

	if (!search)
		return 0;
	search->port = port;
	read_sockets("/proc/self/fd", &search->sockets);
	for (size_t i = 0; i < 2; i++)
		read_connections(search, tables[i], take_server);
	for (size_t i = 0; i < 2 && search->server_count; i++)
		read_connections(search, tables[i], take_client);
	return search->client_count ? find_processes(search, pids, max) : 0;
}
