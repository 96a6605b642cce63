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

enum {
	PIECE_BYTES = 64 << 10, /* of a table, which may have very many lines */
	CGROUP_MAX_BYTES = 64 << 10,
	NAMESPACES_MAX = 4096, /* of ours */
	ESTABLISHED = 1,       /* TCP_ESTABLISHED of net/tcp_states.h */
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
	unsigned int port = 0;
	int count;

	count = six ? sscanf(text, "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 "%8" SCNx32 ":%4x",
			     &words[0], &words[1], &words[2], &words[3], &port)
		    : sscanf(text, "%8" SCNx32 ":%4x", &words[3], &port);
	if (count != (six ? 5 : 2))
		return false;
	memcpy(&ret->address, words, sizeof(words));
	ret->port = (uint16_t)port;
	return true;
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

/* ---- a search ---- */

struct look {
	const struct socket_search *search; /* borrowed */
	int proc;                           /* owned: a directory */
	ino_t user_namespace;
	VECTOR(ino_t) namespaces; /* of ours that have been looked at */
	uint64_t inode;           /* of the socket; 0: not found */
	bool is_ambiguous;        /* two namespaces have such a connection */
	bool is_incomplete;       /* something was not looked at that may have it */
};

static bool is_over(struct look *look)
{
	const struct socket_search *search = look->search;

	if (clock_monotonic_ns() < search->deadline_ns &&
	    !(search->is_over && search->is_over(search->context)))
		return false;
	look->is_incomplete = true;
	return true;
}

/* Notes why a process could not be looked at. One that has ended hides nothing, and one that we may
 * not look at is more privileged than we are: an init, or a monitor. Other failures make the search
 * incomplete. */
static void note_failure(struct look *look, int error)
{
	look->is_incomplete |=
		error != ENOENT && error != ESRCH && error != EACCES && error != EPERM;
}

/* A directory for readdir(3), or NULL. */
static DIR *open_directory(struct look *look, int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory) {
		note_failure(look, errno);
		if (fd >= 0)
			close(fd);
	}
	return directory;
}

/* The next entry, or NULL. */
static const struct dirent *next_entry(struct look *look, DIR *directory)
{
	const struct dirent *entry;

	if (is_over(look))
		return NULL;
	errno = 0;
	entry = readdir(directory);
	if (!entry && errno)
		note_failure(look, errno);
	return entry;
}

/* ---- connections of a namespace ---- */

/* Whole lines of what is in @text; the rest is moved to its begin. Returns how much that is. */
static size_t parse_piece(const struct look *look, char *text, size_t length, bool six,
			  uint64_t *inode)
{
	char *end = memrchr(text, '\n', length);
	size_t rest = end ? (size_t)(text + length - end - 1) : length;

	if (!end)
		return length;
	*end = '\0';
	*inode = socket_owner_parse(text, six, look->search->own, look->search->peer);
	memmove(text, end + 1, rest);
	return rest;
}

/* The number of the socket to *@inode, which is 0. False: it could not be read to its end. */
static bool read_table(struct look *look, int process, bool six, uint64_t *inode)
{
	const char *name = six ? "net/tcp6" : "net/tcp";
	CLEANUP_FREE char *text = malloc(PIECE_BYTES);
	CLEANUP_FD int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = -1;

	// Without IPv6 there is no such table.
	if (fd < 0 && errno == ENOENT)
		return true;
	while (text && fd >= 0 && length < PIECE_BYTES && !*inode && !is_over(look)) {
		got = read(fd, text + length, PIECE_BYTES - length);
		if (got <= 0)
			break;
		length = parse_piece(look, text, length + (size_t)got, six, inode);
	}
	return !got || *inode;
}

/* The same of both tables of @process's namespace. */
static bool read_tables(struct look *look, int process, uint64_t *inode)
{
	return read_table(look, process, false, inode) &&
	       (*inode || read_table(look, process, true, inode));
}

/* Which network namespace has @process, if it belongs to our user namespace? 0: it does not. */
static ino_t trusted_namespace(struct look *look, int process)
{
	CLEANUP_FD int network = openat(process, "ns/net", O_RDONLY | O_CLOEXEC);
	CLEANUP_FD int user = network < 0 ? -1 : ioctl(network, NS_GET_USERNS);
	struct stat owner, status;

	if (network < 0)
		note_failure(look, errno);
	return user >= 0 && !fstat(user, &owner) && owner.st_ino == look->user_namespace &&
			       !fstat(network, &status)
		       ? status.st_ino
		       : 0;
}

/* Of a process that changes its namespace meanwhile the tables may be another one's. */
static bool stays_in(int process, ino_t namespace)
{
	struct stat status;

	return !fstatat(process, "ns/net", &status, 0) && status.st_ino == namespace;
}

static bool was_visited(const struct look *look, ino_t namespace)
{
	for (size_t i = 0; i < look->namespaces.count; i++)
		if (look->namespaces.items[i] == namespace)
			return true;
	return false;
}

/* Look in the namespace of @process, unless that has been done. */
static bool visit_namespace(struct look *look, int process, pid_t pid, void *context)
{
	ino_t namespace = trusted_namespace(look, process);
	uint64_t inode = 0;

	(void)pid;
	(void)context;
	// Where a table cannot be read, the next process of that namespace is asked.
	if (!namespace || was_visited(look, namespace) || !read_tables(look, process, &inode) ||
	    !stays_in(process, namespace))
		return !look->is_incomplete;
	if (look->namespaces.count >= NAMESPACES_MAX || !VECTOR_PUSH(&look->namespaces, namespace))
		look->is_incomplete = true;
	look->is_ambiguous |= inode && look->inode;
	if (inode)
		look->inode = inode;
	return !look->is_ambiguous && !look->is_incomplete;
}

/* ---- processes ---- */

/* Calls @visit with a directory of each process until it returns false. */
static void visit_processes(struct look *look,
			    bool (*visit)(struct look *look, int process, pid_t pid, void *context),
			    void *context)
{
	DIR *directory = open_directory(look, look->proc, ".");
	const struct dirent *entry;
	bool goes_on = true;

	while (directory && goes_on && (entry = next_entry(look, directory))) {
		CLEANUP_FD int process = -1;
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0)
			continue;
		process = openat(look->proc, entry->d_name,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (process >= 0)
			goes_on = visit(look, process, (pid_t)pid, context);
		else
			note_failure(look, errno);
	}
	if (directory)
		closedir(directory);
}

static bool has_socket(struct look *look, int process)
{
	DIR *directory = open_directory(look, process, "fd");
	const struct dirent *entry;
	char wanted[48], link[48];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", look->inode);
	while (directory && !found && (entry = next_entry(look, directory))) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, link, sizeof(link) - 1);

		link[length > 0 ? length : 0] = '\0';
		found = !strcmp(link, wanted);
	}
	if (directory)
		closedir(directory);
	return found;
}

struct holders {
	struct socket_owner owner;
	bool are_several; /* in different containers */
};

static bool is_elsewhere(const struct socket_owner *a, const struct socket_owner *b)
{
	return strcmp(a->container_id, b->container_id) || strcmp(a->pod_uid, b->pod_uid);
}

static bool visit_holder(struct look *look, int process, pid_t pid, void *context)
{
	struct socket_owner owner = { .pid = pid, .inode = look->inode };
	CLEANUP_FREE char *text = NULL;
	struct holders *holders = context;
	size_t length;
	int status;

	if (!has_socket(look, process))
		return true;
	status = file_read(process, "cgroup", CGROUP_MAX_BYTES, &text, &length);
	if (status) {
		note_failure(look, -status);
		return true;
	}
	(void)container_id_parse(text, length, owner.container_id);
	(void)pod_uid_parse(text, length, owner.pod_uid);
	holders->are_several = holders->owner.pid && is_elsewhere(&holders->owner, &owner);
	holders->owner = owner;
	return !holders->are_several;
}

/* ---- all of it ---- */

static bool is_loopback(const struct sockaddr_storage *address)
{
	struct end end = end_of(address);

	return IN6_IS_ADDR_LOOPBACK(&end.address) ||
	       (IN6_IS_ADDR_V4MAPPED(&end.address) && end.address.s6_addr[12] == 127);
}

/* In our own namespace the kernel lets nobody have the ends of another connection. Every
 * namespace has the addresses of localhost, so that those of others say nothing. */
static void find_inode(struct look *look)
{
	CLEANUP_FD int self = openat(look->proc, "self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (self < 0 || !read_tables(look, self, &look->inode))
		look->is_incomplete = true;
	else if (!look->inode && !is_loopback(look->search->peer))
		visit_processes(look, visit_namespace, NULL);
}

static enum socket_finding find(struct look *look, struct socket_owner *ret)
{
	struct holders holders = { 0 };
	struct stat status;

	if (fstatat(look->proc, "self/ns/user", &status, 0))
		return SOCKET_UNDECIDED;
	look->user_namespace = status.st_ino;
	find_inode(look);
	if (look->inode && !look->is_ambiguous && !look->is_incomplete)
		visit_processes(look, visit_holder, &holders);
	if (look->is_incomplete)
		return SOCKET_UNDECIDED;
	if (!holders.owner.pid || holders.are_several)
		return SOCKET_NOBODYS;
	*ret = holders.owner;
	return SOCKET_FOUND;
}

enum socket_finding socket_owner_find(const struct socket_search *search, struct socket_owner *ret)
{
	struct look look = { .search = search };
	enum socket_finding finding;

	if ((search->own->ss_family != AF_INET && search->own->ss_family != AF_INET6) ||
	    search->own->ss_family != search->peer->ss_family)
		return SOCKET_NOBODYS;
	look.proc = open(search->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (look.proc < 0)
		return SOCKET_UNDECIDED;
	finding = find(&look, ret);
	VECTOR_DEINIT(&look.namespaces);
	close(look.proc);
	return finding;
}

bool socket_owner_stays(const struct socket_search *search, const struct socket_owner *owner)
{
	struct look look = { .search = search, .inode = owner->inode };
	CLEANUP_FD int proc = open(search->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_FD int process = -1;
	char name[24];

	snprintf(name, sizeof(name), "%d", owner->pid);
	if (proc >= 0)
		process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return process >= 0 && has_socket(&look, process);
}
