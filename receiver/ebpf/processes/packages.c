// SPDX-License-Identifier: Apache-2.0
#include "packages.h"

#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	MAX_LISTS = 20000,           /* a desktop has 3,000 */
	MAX_LIST_BYTES = 4 << 20,    /* the longest of Debian has 2 MB */
	MAX_TOTAL_BYTES = 256 << 20, /* a desktop's are 30 MB */
	LIST_ROOM = 64 << 10,
};

/* In the keys of calls, apart from those of root_files.c. */
static const uint64_t PACKAGES_KEY = 5ull << 61;

static const char lists_directory[] = "/var/lib/dpkg/info";
static const char *const rpm_directories[] = { "/var/lib/rpm", "/usr/lib/sysimage/rpm" };

struct looking {
	struct timed_call call; /* first */
	uint32_t pid;
	struct process_root root;
	char *paths[PACKAGES_PATHS]; /* owned */
	size_t count, left;          /* left: without a package yet */
	char *text;                  /* owned: of one list */
	size_t room, total;
	struct packages_found found;
	int status;
};

static void looking_destroy(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;

	for (size_t i = 0; i < looking->count; i++)
		free(looking->paths[i]);
	free(looking->text);
	free(looking);
}

/* ---- text ---- */

static bool has_line(const char *text, size_t length, const char *line)
{
	size_t wanted = strlen(line), from = 0;

	while (length - from >= wanted) {
		const char *found = memmem(text + from, length - from, line, wanted);
		size_t at;

		if (!found)
			return false;
		at = (size_t)(found - text);
		from = at + wanted;
		if ((!at || text[at - 1] == '\n') && (from == length || text[from] == '\n'))
			return true;
	}
	return false;
}

bool packages_list_has(const char *text, size_t length, const char *path)
{
	static const char usr[] = "/usr/";
	size_t prefix = sizeof(usr) - 2;

	return has_line(text, length, path) ||
	       (!strncmp(path, usr, sizeof(usr) - 1) && has_line(text, length, path + prefix));
}

/* Debian Policy 5.6.7: lower-case letters, digits, plus, minus, full stop; two at least. */
bool packages_name_of_list(const char *file, char ret[PACKAGES_NAME_BYTES])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
	size_t length = strspn(file, allowed);
	const char *ending = file + length;

	if (*ending == ':')
		ending += 1 + strspn(ending + 1, "abcdefghijklmnopqrstuvwxyz0123456789-");
	else if (length > 5)
		ending = file + (length -= 5);
	if (strcmp(ending, ".list") != 0 || length < 2 || length >= PACKAGES_NAME_BYTES ||
	    !isalnum((unsigned char)file[0]))
		return false;
	memcpy(ret, file, length);
	ret[length] = '\0';
	return true;
}

/* ---- files ---- */

static int open_below(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Read the list @name. The bytes, 0 for what is none, or a negative errno. */
static ssize_t read_list(struct looking *looking, int directory, const char *name)
{
	CLEANUP_FD int path = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	struct stat stat;
	size_t size;
	ssize_t got;

	if (path < 0 || fstat(path, &stat) || !S_ISREG(stat.st_mode) || stat.st_size <= 0 ||
	    stat.st_size > MAX_LIST_BYTES)
		return 0;
	size = (size_t)stat.st_size;
	looking->total += size;
	if (looking->total > MAX_TOTAL_BYTES)
		return -EFBIG;
	if (size > looking->room) {
		char *grown = realloc(looking->text, size);

		if (!grown)
			return -ENOMEM;
		looking->text = grown;
		looking->room = size;
	}
	fd = file_reopen(path);
	if (fd < 0)
		return 0;
	got = pread(fd, looking->text, size, 0);
	return got < 0 ? 0 : got;
}

/* Is one of the paths in the list @name? Returns a negative errno when it is time to end. */
static int look_in(struct looking *looking, int directory, const char *name)
{
	char package[PACKAGES_NAME_BYTES];
	ssize_t length;

	if (!packages_name_of_list(name, package))
		return 0;
	length = read_list(looking, directory, name);
	if (length < 0)
		return (int)length;
	for (size_t i = 0; length && i < looking->count; i++) {
		if (looking->found.names[i][0] ||
		    !packages_list_has(looking->text, (size_t)length, looking->paths[i]))
			continue;
		memcpy(looking->found.names[i], package, sizeof(package));
		looking->left--;
	}
	return 0;
}

/* @fd, of the directory, is taken. */
static int look_in_lists(struct looking *looking, int fd)
{
	CLEANUP_DIRECTORY DIR *directory = fdopendir(fd);
	struct dirent *entry;
	int status = 0, lists;

	if (!directory) {
		close(fd);
		return -ENOMEM;
	}
	lists = dirfd(directory);
	for (size_t i = 0; lists >= 0 && !status && looking->left && i < MAX_LISTS; i++) {
		entry = readdir(directory);
		if (!entry)
			break;
		status = look_in(looking, lists, entry->d_name);
	}
	return status;
}

static bool has_rpm(int root)
{
	for (size_t i = 0; i < sizeof(rpm_directories) / sizeof(rpm_directories[0]); i++) {
		CLEANUP_FD int fd = open_below(root, rpm_directories[i], O_PATH | O_DIRECTORY);

		if (fd >= 0)
			return true;
	}
	return false;
}

static void run_look(struct timed_call *call)
{
	struct looking *looking = (struct looking *)call;
	CLEANUP_FD int root = process_root_open(looking->pid, &looking->root);
	int lists;

	looking->status = root < 0 ? root : 0;
	if (root < 0)
		return;
	lists = open_below(root, lists_directory, O_RDONLY | O_DIRECTORY);
	if (lists >= 0) {
		looking->found.manager = PACKAGES_DPKG;
		looking->status = look_in_lists(looking, lists);
	} else if (has_rpm(root)) {
		looking->found.manager = PACKAGES_RPM;
	}
}

int packages_find(struct timed_calls *calls, const struct root_files_search *search,
		  uint64_t limit_ns, struct packages_found *ret)
{
	struct looking *looking = calloc(1, sizeof(*looking));
	int status;

	if (!looking)
		return -ENOMEM;
	looking->call = (struct timed_call){
		.run = run_look,
		.destroy = looking_destroy,
		.key = { TIMED_CALL_FILE_SYSTEM,
			 PACKAGES_KEY |
				 (search->pid ? search->root.mount ^ search->root.inode << 20 : 0),
			 search->owner },
	};
	looking->pid = search->pid;
	looking->root = search->root;
	looking->text = malloc(LIST_ROOM);
	looking->room = looking->text ? LIST_ROOM : 0;
	for (; looking->count < search->count && looking->count < PACKAGES_PATHS;
	     looking->count++) {
		looking->paths[looking->count] = strdup(search->paths[looking->count]);
		if (!looking->paths[looking->count]) {
			looking_destroy(&looking->call);
			return -ENOMEM;
		}
	}
	looking->left = looking->count;
	if (!timed_calls_make(calls, &looking->call, limit_ns))
		return -ETIMEDOUT;
	*ret = looking->found;
	status = looking->status;
	looking_destroy(&looking->call);
	return status;
}
