// SPDX-License-Identifier: Apache-2.0
/* The detector `system`: this machine, as its kernel and its files tell. */
#include "detectors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { FILE_MAX_BYTES = 1 << 20, ADDRESSES_MAX = 128, ETHERNET_BYTES = 6 };

/* ---- names of this host ---- */

static struct profcol_error *wait_for(const struct detecting *detecting,
				      const struct lookup *lookup)
{
	struct pollfd ready[] = {
		{ .fd = lookup ? lookup_fd(lookup) : -1, .events = POLLIN },
		{ .fd = detecting->cancel_fd, .events = POLLIN },
	};
	uint64_t now = clock_monotonic_ns();
	struct timespec left = { 0 };

	if (!lookup)
		return profcol_error_errno(ENOMEM, "look up this host");
	if (detecting->deadline_ns > now)
		left = clock_timespec(detecting->deadline_ns - now);
	while (ppoll(ready, 2, &left, NULL) < 0 && errno == EINTR)
		;
	if (ready[1].revents)
		return profcol_error_create(PROFCOL_SHUTDOWN, "cancelled");
	return ready[0].revents ? NULL
				: profcol_error_create(PROFCOL_UNAVAILABLE,
						       "the name server does not answer");
}

static void lookup_cleanup(struct lookup **lookup)
{
	lookup_drop(*lookup);
}

/* NAME without a dot at its end; NULL without memory. */
static char *copy_name(const char *name)
{
	size_t length = strlen(name);

	while (length && name[length - 1] == '.')
		length--;
	return strndup(name, length);
}

/* Addresses of @host; *@lookup_ret owns them. */
static struct profcol_error *find_addresses(const struct detecting *detecting, const char *host,
					    struct lookup **lookup_ret, const struct addrinfo **ret)
{
	struct profcol_error *error;
	int status;

	*lookup_ret = lookup_start(host, "0");
	error = wait_for(detecting, *lookup_ret);
	if (error)
		return error;
	status = lookup_result(*lookup_ret, ret);
	if (status || !*ret)
		return profcol_error_create(PROFCOL_UNAVAILABLE, "'%s' has no address: %s", host,
					    gai_strerror(status));
	return NULL;
}

/* The name that /etc/hosts or the name server has for it. */
static struct profcol_error *find_whole_name(const struct detecting *detecting, const char *host,
					     char **ret)
{
	CLEANUP(lookup_cleanup) struct lookup *lookup = NULL;
	const struct addrinfo *found = NULL;
	struct profcol_error *error = find_addresses(detecting, host, &lookup, &found);

	if (error)
		return error;
	*ret = copy_name(found->ai_canonname ? found->ai_canonname : host);
	return NULL;
}

/* What its first address with a name is called. */
static struct profcol_error *find_name_of_address(const struct detecting *detecting,
						  const char *host, char **ret)
{
	CLEANUP(lookup_cleanup) struct lookup *lookup = NULL;
	const struct addrinfo *found = NULL;
	struct profcol_error *error = find_addresses(detecting, host, &lookup, &found);

	for (; !error && found && !*ret; found = found->ai_next) {
		CLEANUP(lookup_cleanup) struct lookup *inverse = lookup_start_name(found->ai_addr);
		const char *name;

		error = wait_for(detecting, inverse);
		if (!error && !lookup_name_result(inverse, &name))
			*ret = copy_name(name);
	}
	if (!error && !*ret)
		error = profcol_error_create(PROFCOL_UNAVAILABLE, "no address of '%s' has a name",
					     host);
	return error;
}

static struct profcol_error *find_name_by(const struct detecting *detecting, const char *source,
					  const char *host, char **ret)
{
	struct profcol_error *error = NULL;

	*ret = NULL;
	if (!strcmp(source, "os"))
		*ret = strdup(host);
	else if (!strcmp(source, "lookup"))
		error = find_name_of_address(detecting, host, ret);
	else
		error = find_whole_name(detecting, host, ret);
	if (!error && !*ret)
		error = profcol_error_errno(ENOMEM, "look up this host");
	return error;
}

/* By the first source that knows one. */
static struct profcol_error *find_host_name(const struct detecting *detecting, const char *host,
					    struct found *found)
{
	static const char *const usual[] = { "dns", "os" };
	struct profcol_list sources = detecting->config->system.hostname_sources;
	struct profcol_error *error = NULL;

	if (!found_wants(found, HOST_NAME))
		return NULL;
	if (!sources.count)
		sources = (struct profcol_list){ .items = usual, .count = 2 };
	for (size_t i = 0; i < sources.count; i++) {
		struct detecting part = *detecting;
		CLEANUP_FREE char *name = NULL;
		uint64_t now = clock_monotonic_ns();

		// A name server that is away leaves time for the sources that follow.
		if (part.deadline_ns > now)
			part.deadline_ns = now + (part.deadline_ns - now) / (sources.count - i + 1);
		profcol_error_destroy(error);
		error = find_name_by(&part, sources.items[i], host, &name);
		found_add(found, HOST_NAME, name);
		if (!error || profcol_error_code(error) == PROFCOL_SHUTDOWN)
			return error;
	}
	return profcol_error_prefix(error, "all hostname sources failed to get hostname");
}

/* ---- the operating system ---- */

/* Value of KEY= in the text of os-release(5), without quotes, free(); NULL when there is none. */
static char *release_value(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *value;
		size_t end;

		line += *line == '\n';
		if (strncmp(line, key, length) || line[length] != '=')
			continue;
		value = line + length + 1;
		end = strcspn(value, "\n");
		if (end >= 2 && (value[0] == '"' || value[0] == '\'') && value[end - 1] == value[0])
			return strndup(value + 1, end - 2);
		return strndup(value, end);
	}
	return NULL;
}

static char *read_release(void)
{
	char *text = NULL;

	if (file_read(AT_FDCWD, "/etc/os-release", FILE_MAX_BYTES, &text, NULL) &&
	    file_read(AT_FDCWD, "/usr/lib/os-release", FILE_MAX_BYTES, &text, NULL))
		return NULL;
	return text;
}

/* "Debian GNU/Linux 12 (bookworm) (Linux host 6.1.0 #1 SMP x86_64)" */
static void find_description(const struct utsname *kernel, const char *pretty, struct found *found)
{
	CLEANUP_FREE char *text = NULL;

	if (asprintf(&text, "%s%s%s %s %s %s %s%s", pretty ? pretty : "", pretty ? " (" : "",
		     kernel->sysname, kernel->nodename, kernel->release, kernel->version,
		     kernel->machine, pretty ? ")" : "") < 0)
		text = NULL;
	found_add(found, OS_DESCRIPTION, text);
}

static void find_system(const struct utsname *kernel, struct found *found)
{
	CLEANUP_FREE char *text = read_release();
	CLEANUP_FREE char *name = release_value(text, "NAME");
	CLEANUP_FREE char *version = release_value(text, "VERSION_ID");
	CLEANUP_FREE char *build = release_value(text, "BUILD_ID");
	CLEANUP_FREE char *pretty = release_value(text, "PRETTY_NAME");

	found_add(found, OS_TYPE, "linux");
	found_add(found, OS_NAME, name);
	found_add(found, OS_VERSION, version);
	found_add(found, OS_BUILD_ID, build ? build : kernel->release);
	find_description(kernel, pretty, found);
	if (!strcmp(kernel->machine, "x86_64"))
		found_add(found, HOST_ARCH, "amd64");
	else
		found_add(found, HOST_ARCH,
			  strcmp(kernel->machine, "aarch64") ? kernel->machine : "arm64");
}

static void find_machine_id(struct found *found)
{
	static const char *const paths[] = { "/etc/machine-id", "/var/lib/dbus/machine-id" };

	for (size_t i = 0; i < 2; i++) {
		CLEANUP_FREE char *text = NULL;

		if (file_read(AT_FDCWD, paths[i], FILE_MAX_BYTES, &text, NULL))
			continue;
		text[strcspn(text, "\r\n")] = '\0';
		found_add(found, HOST_ID, text);
		return;
	}
}

/* ---- the first CPU ---- */

/* Value of "KEY\t: VALUE", free(); NULL when there is none. */
static char *cpu_value(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *value;

		line += *line == '\n';
		if (strncmp(line, key, length) || !strchr("\t :", line[length]))
			continue;
		value = line + length + strspn(line + length, "\t ");
		if (*value != ':')
			continue;
		value += 1 + strspn(value + 1, " ");
		return strndup(value, strcspn(value, "\n"));
	}
	return NULL;
}

static void find_cpu(struct found *found)
{
	static const struct {
		const char *key;
		enum attribute attribute;
	} rows[] = {
		{ "vendor_id", HOST_CPU_VENDOR_ID }, { "cpu family", HOST_CPU_FAMILY },
		{ "model", HOST_CPU_MODEL_ID },      { "model name", HOST_CPU_MODEL_NAME },
		{ "stepping", HOST_CPU_STEPPING },
	};
	CLEANUP_FREE char *text = NULL, *cache = NULL;
	char *end;

	if (file_read(AT_FDCWD, "/proc/cpuinfo", FILE_MAX_BYTES, &text, NULL))
		return;
	// The first CPU is enough, and the others may differ.
	end = strstr(text, "\n\n");
	if (end)
		*end = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_FREE char *value = cpu_value(text, rows[i].key);

		found_add(found, rows[i].attribute, value);
	}
	cache = cpu_value(text, "cache size");
	if (cache)
		found_add_integer(found, HOST_CPU_CACHE_L2_SIZE, strtoll(cache, NULL, 10));
}

/* ---- the network ---- */

struct addresses {
	char *items[ADDRESSES_MAX]; /* owned */
	size_t count;
};

static void addresses_deinit(struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->count; i++)
		free(addresses->items[i]);
}

/* Each once: an interface has an entry for every address. */
static void addresses_add(struct addresses *addresses, const char *text)
{
	for (size_t i = 0; i < addresses->count; i++)
		if (!strcmp(addresses->items[i], text))
			return;
	if (addresses->count < ADDRESSES_MAX && (addresses->items[addresses->count] = strdup(text)))
		addresses->count++;
}

static void add_ip(struct addresses *addresses, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN];
	const void *bytes = NULL;

	if (address->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
	if (address->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	if (bytes && inet_ntop(address->sa_family, bytes, text, sizeof(text)))
		addresses_add(addresses, text);
}

/* "AC-DE-48-23-45-67" */
static void add_mac(struct addresses *addresses, const struct sockaddr *address)
{
	const struct sockaddr_ll *link = (const void *)address;
	const uint8_t *bytes = link->sll_addr;
	char text[3 * ETHERNET_BYTES];

	if (address->sa_family != AF_PACKET || link->sll_halen != ETHERNET_BYTES)
		return;
	snprintf(text, sizeof(text), "%02X-%02X-%02X-%02X-%02X-%02X", bytes[0], bytes[1], bytes[2],
		 bytes[3], bytes[4], bytes[5]);
	addresses_add(addresses, text);
}

static void find_network(struct found *found)
{
	CLEANUP(addresses_deinit) struct addresses names = { 0 };
	CLEANUP(addresses_deinit) struct addresses ips = { 0 };
	CLEANUP(addresses_deinit) struct addresses macs = { 0 };
	struct ifaddrs *interfaces = NULL;

	if (!found_wants(found, HOST_IP) && !found_wants(found, HOST_MAC) &&
	    !found_wants(found, HOST_INTERFACE))
		return;
	if (getifaddrs(&interfaces))
		return;
	for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next) {
		if (!(at->ifa_flags & IFF_UP) || at->ifa_flags & IFF_LOOPBACK)
			continue;
		addresses_add(&names, at->ifa_name);
		if (!at->ifa_addr)
			continue;
		add_ip(&ips, at->ifa_addr);
		add_mac(&macs, at->ifa_addr);
	}
	freeifaddrs(interfaces);
	found_add_list(found, HOST_IP, (const char *const *)ips.items, ips.count);
	found_add_list(found, HOST_MAC, (const char *const *)macs.items, macs.count);
	found_add_list(found, HOST_INTERFACE, (const char *const *)names.items, names.count);
}

struct profcol_error *detect_system(const struct detecting *detecting, struct found *found)
{
	struct utsname kernel;

	if (uname(&kernel))
		return profcol_error_errno(errno, "ask the kernel for its name");
	find_system(&kernel, found);
	find_machine_id(found);
	find_cpu(found);
	find_network(found);
	return find_host_name(detecting, kernel.nodename, found);
}
