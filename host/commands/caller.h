/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has called a command by sudo, doas or pkexec: what a command does to files on behalf of its
 * caller it does with that one's rights, whatever else it may.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <sys/types.h>

/* The caller, when this is root by sudo, doas or pkexec; else false. Before there are threads. */
bool caller_find(uid_t *user_ret, gid_t *group_ret);

/* Whose rights the calling thread had. */
struct caller_rights {
	bool changed;
	uid_t user;
	gid_t group;
	gid_t *groups; /* owned */
	int group_count;
};

/*
 * From now on the calling thread, and no other, opens and changes files as the caller could, until
 * caller_leave(). Without a caller nothing changes. On error it has the rights that it had.
 */
PROFCOL_MUST_CHECK struct profcol_error *caller_enter(struct caller_rights *ret);
void caller_leave(struct caller_rights *rights);
