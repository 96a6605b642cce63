// SPDX-License-Identifier: Apache-2.0
/* Who can have written a file: whoever reads it reads what they wrote. */
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

struct origin file_origin(const struct file *file, bool own)
{
	struct origin origin = { .owner = file->owner, .device = file->look.device };

	if (file->machines && !own)
		origin.owner = OWNER_MACHINE;
	if (!owner_is(origin.owner, OWNER_SHARED) && !owner_is(origin.owner, OWNER_UNKNOWN))
		return origin;
	// Outside of containers, a file of root's may be one of a container's root.
	if (file->has_container && !file->several_containers && is_owners(file) &&
	    (file->look.uid || file->container))
		origin.owner = (struct owner){ file->look.uid, file->container };
	else
		origin.owner = (struct owner){ OWNER_OF_FILE.uid, file->id };
	return origin;
}
