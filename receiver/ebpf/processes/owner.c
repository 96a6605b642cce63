// SPDX-License-Identifier: Apache-2.0
#include "owner.h"

#include "base/base.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum {
	NESTED_MOST = 33, /* user namespaces in each other: kernel/user_namespace.c */
	NUMBERS_LENT = 65536,
	MAP_BYTES = 64 << 10, /* 340 lines */
};

/* Linux, PROC_USER_INIT_INO: of the namespace that all others are in. */
static const char FIRST_NAMESPACE[] = "user:[4026531837]";

/* Who made the outermost namespace around @fd, which is taken, below the first one. False when the
 * kernel does not say. */
static bool maker_of(int fd, uint32_t *uid_ret)
{
	CLEANUP_FD int inner = fd;
	bool found = false;

	for (int i = 0; i < NESTED_MOST; i++) {
		struct stat stat;
		uid_t uid;
		int outer;

		// The first one has no owner but root, and nothing around it.
		if (fstat(inner, &stat) || stat.st_ino == 4026531837u ||
		    ioctl(inner, NS_GET_OWNER_UID, &uid))
			break;
		*uid_ret = uid;
		found = true;
		outer = ioctl(inner, NS_GET_PARENT);
		if (outer < 0)
			break;
		close(inner);
		inner = outer;
	}
	return found;
}

/* Is @process in the namespace that all others are in? Its map names all users as they are, which
 * is read without a lock of the process. */
static bool is_in_first_namespace(int process)
{
	CLEANUP_FREE char *text = NULL;
	unsigned int inside, outside, count;

	return !file_read(process, "uid_map", MAP_BYTES, &text, NULL) &&
	       sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 && !inside && !outside &&
	       count == UINT32_MAX;
}

uint32_t owner_presumed_uid(int process)
{
	struct stat stat;

	if (fstat(process, &stat))
		return OWNER_UNKNOWN.uid;
	// Numbers are lent (/etc/subuid) above those of ordinary users, by 65,536 at a time.
	if (stat.st_uid >= NUMBERS_LENT && !is_in_first_namespace(process))
		return stat.st_uid - stat.st_uid % NUMBERS_LENT;
	return stat.st_uid;
}

uint32_t owner_uid(int process)
{
	char target[sizeof(FIRST_NAMESPACE) + 16] = "";
	ssize_t length = readlinkat(process, "ns/user", target, sizeof(target) - 1);
	uint32_t uid = OWNER_UNKNOWN.uid, maker;
	struct stat stat;
	int fd;

	// Unlike what is in it, the directory is never root's for another reason.
	if (!fstat(process, &stat))
		uid = stat.st_uid;
	if (length <= 0 || !strcmp(target, FIRST_NAMESPACE))
		return uid;
	fd = openat(process, "ns/user", O_RDONLY | O_CLOEXEC);
	return fd >= 0 && maker_of(fd, &maker) ? maker : uid;
}

uint64_t owner_container(const char *id)
{
	uint64_t hash = 0xcbf29ce484222325u;

	if (!*id)
		return 0;
	for (; *id; id++)
		hash = (hash ^ (uint8_t)*id) * 0x100000001b3u;
	return hash ? hash : 1;
}
