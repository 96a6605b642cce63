// SPDX-License-Identifier: Apache-2.0
#include "socket_owner.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_MAX_BYTES ((size_t)64 << 20) /* some 400,000 connections */

enum {
	CGROUP_MAX_BYTES = 64 << 10,
	NAMESPACES_MAX = 4096,
	ESTABLISHED = 1, /* TCP_ESTABLISHED of net/tcp_states.h */
};

/* ---- tables of connections ---- */

/* One end, of IPv4 as IPv6 has it: a server that listens to both has such. */
struct end {
	struct in6_addr address;
	uint16_t port;
};

static struct end end_of(const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;
	struct end end = { .address.s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (from->ss_family == AF_INET6)
		return (struct end){ six->sin6_addr, ntohs(six->sin6_port) };
	memcpy(&end.address.s6_addr[12], &four->sin_addr, sizeof(four->sin_addr));
	end.port = ntohs(four->sin_port);
	return end;
}

static bool is_same(const struct end *a, const struct end *b)
{
	return a->port == b->port && !memcmp(&a->address, &b->address, sizeof(a->address));
}

/* "0100007F:1F90": words of the address as this machine has them in memory (net/ipv4/tcp_ipv4.c),
 * and the port. */
static bool parse_end(const char *text, bool six, struct end *ret)
{
	uint32_t words[4] = { 0, 0, htonl(0xffff), 0 };
	unsigned int port;
	int count;

	count = six ? sscanf(text, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 ":%4x",
			     &words[0], &words[1], &words[2], &words[3], &port)
		    : sscanf(text, "%8" SCNx32 ":%4x", &words[3], &port);
	memcpy(&ret->address, words, sizeof(words));
	ret->port = (uint16_t)port;
	return count == (six ? 5 : 2);
}

/* "  0: OWN OTHER 01 00000000:00000000 00:00000000 00000000  1000        0 INODE ..." */
static uint64_t parse_line(const char *line, bool six, const struct end *own,
			   const struct end *other)
{
	char texts[2][48];
	struct end ends[2];
	unsigned int state;
	uint64_t inode;

	if (sscanf(line, " %*[0-9]: %47s %47s %2x %*s %*s %*s %*s %*s %" SCNu64, texts[0], texts[1],
		   &state, &inode) != 4)
		return 0;
	if (state != ESTABLISHED || !parse_end(texts[0], six, &ends[0]) ||
	    !parse_end(texts[1], six, &ends[1]))
		return 0;
	return is_same(&ends[0], own) && is_same(&ends[1], other) ? inode : 0;
}

uint64_t socket_owner_parse(char *text, bool six, const struct sockaddr_storage *own,
			    const struct sockaddr_storage *peer)
{
	struct end own_end = end_of(own), peer_end = end_of(peer);
	uint64_t inode = 0;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line && !inode;
	     line = strtok_r(NULL, "\n", &rest))
		inode = parse_line(line, six, &peer_end, &own_end);
	return inode;
}

/* ---- namespaces ---- */

struct search {
	const struct sockaddr_storage *own, *peer; /* borrowed */
	int proc;                                  /* owned: a directory */
	uint64_t deadline_ns;
	ino_t user_namespace;
	VECTOR(ino_t) namespaces; /* that have been looked at */
	ino_t namespace;          /* in which the socket is... */
	uint64_t inode;           /* ...of which this is the number; 0: not found */
	bool is_ambiguous;
};

static bool is_late(const struct search *search)
{
	return clock_monotonic_ns() >= search->deadline_ns;
}

static bool namespace_of(int process, const char *name, ino_t *ret)
{
	struct stat status;

	if (fstatat(process, name, &status, 0))
		return false;
	*ret = status.st_ino;
	return true;
}

/* Does the network namespace of @process belong to our user namespace? */
static bool is_trusted(const struct search *search, int process)
{
	CLEANUP_FD int network = openat(process, "ns/net", O_RDONLY | O_CLOEXEC);
	CLEANUP_FD int user = network < 0 ? -1 : ioctl(network, NS_GET_USERNS);
	struct stat status;

	return user >= 0 && !fstat(user, &status) && status.st_ino == search->user_namespace;
}

static uint64_t find_inode(const struct search *search, int process)
{
	static const char *const tables[] = { "net/tcp", "net/tcp6" };
	uint64_t inode = 0;

	for (int six = 0; six < 2 && !inode; six++) {
		CLEANUP_FREE char *text = NULL;

		if (!file_read_until(process, tables[six], TABLE_MAX_BYTES, search->deadline_ns,
				     &text, NULL))
			inode = socket_owner_parse(text, six, search->own, search->peer);
	}
	return inode;
}

/* Look in the namespace of @process, unless that has been done. */
static bool visit_namespace(void *context, int process, pid_t pid)
{
	struct search *search = context;
	ino_t namespace;
	uint64_t inode;

	(void)pid;
	if (!namespace_of(process, "ns/net", &namespace))
		return true;
	for (size_t i = 0; i < search->namespaces.count; i++)
		if (search->namespaces.items[i] == namespace)
			return true;
	if (search->namespaces.count >= NAMESPACES_MAX ||
	    !VECTOR_PUSH(&search->namespaces, namespace))
		return false;
	inode = is_trusted(search, process) ? find_inode(search, process) : 0;
	search->is_ambiguous |= inode && search->inode;
	if (inode) {
		search->namespace = namespace;
		search->inode = inode;
	}
	return !search->is_ambiguous;
}

/* ---- processes ---- */

/* Calls @visit with a directory of each process until it returns false. */
static void visit_processes(struct search *search,
			    bool (*visit)(void *context, int process, pid_t pid), void *context)
{
	int fd = openat(search->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool goes_on = true;

	if (fd >= 0 && !directory)
		close(fd);
	while (directory && goes_on && !is_late(search) && (entry = readdir(directory))) {
		CLEANUP_FD int process = -1;
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0)
			continue;
		process = openat(search->proc, entry->d_name,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (process >= 0)
			goes_on = visit(context, process, (pid_t)pid);
	}
	if (directory)
		closedir(directory);
}

static bool has_socket(const struct search *search, int process)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char wanted[48], link[48];
	bool found = false;

	if (fd >= 0 && !directory)
		close(fd);
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", search->inode);
	while (directory && !found && !is_late(search) && (entry = readdir(directory))) {
		ssize_t length = readlinkat(fd, entry->d_name, link, sizeof(link) - 1);

		link[length > 0 ? length : 0] = '\0';
		found = !strcmp(link, wanted);
	}
	if (directory)
		closedir(directory);
	return found;
}

static bool describe(int process, pid_t pid, struct socket_owner *ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;

	*ret = (struct socket_owner){ .pid = pid };
	if (file_read(process, "cgroup", CGROUP_MAX_BYTES, &text, &length))
		return false;
	(void)container_id_parse(text, length, ret->container_id);
	(void)pod_uid_parse(text, length, ret->pod_uid);
	return true;
}

struct holders {
	struct search *search;
	struct socket_owner owner;
	bool are_several; /* in different containers, or one of them is not to be known */
};

static bool visit_holder(void *context, int process, pid_t pid)
{
	struct holders *holders = context;
	struct socket_owner owner;
	ino_t namespace;

	if (!namespace_of(process, "ns/net", &namespace) ||
	    namespace != holders->search->namespace || !has_socket(holders->search, process))
		return true;
	if (!describe(process, pid, &owner) ||
	    (holders->owner.pid && strcmp(holders->owner.container_id, owner.container_id)))
		holders->are_several = true;
	holders->owner = owner;
	return !holders->are_several;
}

/* ---- all of it ---- */

/* Who had the last connection may have this one. */
static bool ask_last(struct search *search, struct socket_owner *owner)
{
	CLEANUP_FD int process = -1;
	char name[24];

	snprintf(name, sizeof(name), "%d", owner->pid);
	if (owner->pid > 0)
		process =
			openat(search->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (process < 0 || !is_trusted(search, process))
		return false;
	search->inode = find_inode(search, process);
	if (search->inode && has_socket(search, process) && describe(process, owner->pid, owner))
		return true;
	search->inode = 0;
	return false;
}

static void ask_all(struct search *search, struct socket_owner *owner)
{
	struct holders holders = { .search = search };

	visit_processes(search, visit_namespace, search);
	if (search->inode && !search->is_ambiguous)
		visit_processes(search, visit_holder, &holders);
	// In time nobody else can have been missed.
	if (!holders.are_several && !is_late(search))
		*owner = holders.owner;
}

void socket_owner_find(const char *proc, const struct sockaddr_storage *own,
		       const struct sockaddr_storage *peer, uint64_t deadline_ns,
		       struct socket_owner *owner)
{
	struct search search = { .own = own, .peer = peer, .deadline_ns = deadline_ns };
	struct socket_owner last = *owner;

	*owner = (struct socket_owner){ 0 };
	if ((own->ss_family != AF_INET && own->ss_family != AF_INET6) ||
	    own->ss_family != peer->ss_family)
		return;
	search.proc = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (search.proc < 0)
		return;
	if (namespace_of(search.proc, "self/ns/user", &search.user_namespace)) {
		if (ask_last(&search, &last))
			*owner = last;
		else
			ask_all(&search, owner);
	}
	VECTOR_DEINIT(&search.namespaces);
	close(search.proc);
}
