// SPDX-License-Identifier: Apache-2.0
#include "caller.h"

#include "base/base.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GROUPS_MOST = 65536 }; /* as the kernel's */

static bool read_id(const char *name, uint32_t *ret)
{
	const char *text = getenv(name);
	int64_t number;

	if (!text || !number_parse_int(text, strlen(text), &number) || number <= 0 ||
	    number >= UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

bool caller_find(uid_t *user_ret, gid_t *group_ret)
{
	const char *name = getenv("DOAS_USER");
	const struct passwd *entry = NULL;

	if (geteuid())
		return false;
	if (read_id("SUDO_UID", user_ret) && read_id("SUDO_GID", group_ret))
		return true;
	if (read_id("PKEXEC_UID", user_ret))
		entry = getpwuid(*user_ret);
	else if (name)
		entry = getpwnam(name);
	if (!entry || !entry->pw_uid)
		return false;
	*user_ret = entry->pw_uid;
	*group_ret = entry->pw_gid;
	return true;
}

/* Those of @user, besides @group. How many, or -1 without memory. */
static int groups_of(uid_t user, gid_t group, gid_t **ret)
{
	const struct passwd *entry = getpwuid(user);
	int count = 0;

	*ret = NULL;
	if (!entry)
		return 0;
	getgrouplist(entry->pw_name, group, NULL, &count);
	if (count <= 0 || count > GROUPS_MOST)
		return 0;
	*ret = calloc((size_t)count, sizeof(gid_t));
	if (!*ret || getgrouplist(entry->pw_name, group, *ret, &count) < 0)
		return -1;
	return count;
}

/* As setgroups(2), of the calling thread: libc's is of all. */
static int set_groups(const gid_t *groups, int count)
{
	return (int)syscall(SYS_setgroups, count, groups);
}

/* Neither call says whether it has worked. */
static bool set_ids(uid_t user, gid_t group)
{
	setfsgid(group);
	setfsuid(user);
	return (uid_t)setfsuid((uid_t)-1) == user && (gid_t)setfsgid((gid_t)-1) == group;
}

struct profcol_error *caller_enter(struct caller_rights *ret)
{
	CLEANUP_FREE gid_t *groups = NULL;
	struct caller_rights own = { .user = geteuid(), .group = getegid() };
	uid_t user;
	gid_t group;
	int count;

	*ret = (struct caller_rights){ 0 };
	if (!caller_find(&user, &group))
		return NULL;
	count = groups_of(user, group, &groups);
	own.groups = calloc(GROUPS_MOST, sizeof(gid_t));
	own.group_count = own.groups ? getgroups(GROUPS_MOST, own.groups) : -1;
	if (count < 0 || own.group_count < 0) {
		free(own.groups);
		return profcol_error_errno(ENOMEM, "become user %u", (unsigned int)user);
	}
	own.changed = true;
	if (!set_groups(groups, count) && set_ids(user, group)) {
		*ret = own;
		return NULL;
	}
	caller_leave(&own);
	return profcol_error_create(PROFCOL_SYSTEM,
				    "cannot have the rights of user %u, who called; keep "
				    "CAP_SETUID and CAP_SETGID, or call it as root itself",
				    (unsigned int)user);
}

void caller_leave(struct caller_rights *rights)
{
	// What cannot be had back is missed by who needs it, which gives less away than it could.
	if (rights->changed) {
		(void)set_ids(rights->user, rights->group);
		(void)set_groups(rights->groups, rights->group_count);
	}
	free(TAKE(rights->groups));
	rights->changed = false;
}
