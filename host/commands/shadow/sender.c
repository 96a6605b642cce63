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
	CONNECTIONS_MAX = 64,
	ESTABLISHED = 1,
};

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

struct connections {
	struct connection items[CONNECTIONS_MAX];
	size_t count;
};

/* Those of @path that have @port at their local, or at their remote end. */
static void read_connections(const char *path, uint16_t port, bool local,
			     struct connections *connections)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL;
	size_t length;

	if (file_read(-1, path, TABLE_MAX, &text, &length))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct connection found;

		if (connections->count == CONNECTIONS_MAX)
			return;
		if (parse_line(line, &found) &&
		    (local ? found.local.port : found.remote.port) == port)
			connections->items[connections->count++] = found;
	}
}

static bool is_same(struct end left, struct end right)
{
	return left.address == right.address && left.port == right.port;
}

/* Leave the clients whose other end is one of @servers. */
static void match(struct connections *clients, const struct connections *servers)
{
	size_t kept = 0;

	for (size_t i = 0; i < clients->count; i++) {
		for (size_t j = 0; j < servers->count; j++) {
			if (is_same(clients->items[i].local, servers->items[j].remote)) {
				clients->items[kept++] = clients->items[i];
				break;
			}
		}
	}
	clients->count = kept;
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static bool holds_one(pid_t pid, const struct connections *clients)
{
	CLEANUP(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		uint64_t inode;

		if (length < 0)
			continue;
		target[length] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		for (size_t i = 0; i < clients->count; i++)
			if (clients->items[i].inode == inode)
				return true;
	}
	return false;
}

size_t sender_find(uint16_t port, pid_t *pids, size_t max)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	struct connections servers = { .count = 0 }, clients = { .count = 0 };
	CLEANUP(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		read_connections(tables[i], port, true, &servers);
		read_connections(tables[i], port, false, &clients);
	}
	match(&clients, &servers);
	directory = clients.count ? opendir("/proc") : NULL;
	while (directory && count < max && (entry = readdir(directory))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && holds_one(pid, &clients))
			pids[count++] = pid;
	}
	return count;
}
