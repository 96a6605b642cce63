// SPDX-License-Identifier: Apache-2.0
/* The origin of a file: the owner that can have written it, and its file system. */
#include "file_rows.h"

#include <string.h>
#include <sys/stat.h>

/* Where the machine's root installs programs, and nobody else has directories. */
static const char *const system_directories[] = {
	"/usr/", "/lib/",  "/lib64/",     "/bin/",       "/sbin/",
	"/opt/", "/snap/", "/nix/store/", "/gnu/store/",
};

/* Can only its owner write to the file? */
static bool is_owners(const struct file *file)
{
	return file->seen && !(file->look.mode & (S_IWGRP | S_IWOTH));
}

void file_note_machines(struct file *file, const char *path)
{
	if (!is_owners(file) || file->look.uid)
		return;
	for (size_t i = 0; i < sizeof(system_directories) / sizeof(system_directories[0]); i++)
		if (!strncmp(path, system_directories[i], strlen(system_directories[i])))
			file->machines = true;
}

/* Is it known whose the processes are that have it mapped, all of them? */
static bool has_owner(const struct file *file)
{
	return !owner_is(file->owner, OWNER_SHARED) && !owner_is(file->owner, OWNER_UNKNOWN);
}

static struct owner writer_of(const struct file *file)
{
	const struct owner alone = { OWNER_OF_FILE.uid, file->id };

	// Who runs what others may write to answers for it, but for root.
	if (!is_owners(file))
		return has_owner(file) && !owner_is(file->owner, OWNER_MACHINE) ? file->owner
										: alone;
	if (has_owner(file) && file->owner.uid == file->look.uid)
		return file->owner;
	// Outside of containers, a file of root's may be one of a container's root.
	if (file->has_container && !file->several_containers && (file->look.uid || file->container))
		return (struct owner){ file->look.uid, file->container };
	return alone;
}

uint64_t file_payer(const struct file *file)
{
	// Its numbers come from its file system, which may tell those of another user.
	return owner_close_payer(file->machines    ? OWNER_MACHINE
				 : has_owner(file) ? file->owner
						   : writer_of(file));
}

struct origin file_origin(const struct file *file, bool own)
{
	return (struct origin){
		.owner = file->machines && !own ? OWNER_MACHINE : writer_of(file),
		.device = file->look.device,
		.payer = file_payer(file),
	};
}
