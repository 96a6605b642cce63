/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who could have put something where it lies, or can exchange it? On the way from / to what is
 * opened here, every directory and symbolic link belongs to those who are trusted, and nobody else
 * can write to it. On the way, but not at its end, a directory may be writable by all if it is
 * sticky, as /tmp: there nobody can rename or remove what others own.
 *
 * That holds where the file systems tell the truth: who starts the program must not have had fewer
 * rights than it, or he could have mounted one that does not.
 *
 * Every step is taken from the descriptor that was checked, never by a path again. Descriptors that
 * are returned are the caller's, close-on-exec. Pure but for the file system; any thread.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <sys/stat.h>

enum trusted_owners {
	TRUSTED_ROOT, /* root alone */
	TRUSTED_SELF, /* root, and the user that the program runs as */
};

/* For reading the names in it. @path is absolute, or with TRUSTED_SELF below the current directory.
 * REJECTED: somebody else could have a hand in it; SYSTEM: by errno, *@errnum_ret, which may be
 * NULL and is 0 otherwise. */
PROFCOL_MUST_CHECK struct profcol_error *
trusted_directory_open(const char *path, enum trusted_owners owners, int *errnum_ret, int *ret);

/*
 * The same for what files are written to, with TRUSTED_SELF. @create: its last part is made if it
 * is not there, with @mode. @private_part, unless NULL: @path itself may be writable by others, as
 * a container's volume is; what is returned is the directory of that name in it, which is made with
 * mode 0700 and must be ours.
 */
#define TRUSTED_PRIVATE_PART "profcol"

struct trusted_output {
	const char *path;
	bool create;
	mode_t mode;
	const char *private_part;
	bool others_may_write; /* to @path, and what is made in it takes care of that itself */
};
PROFCOL_MUST_CHECK struct profcol_error *trusted_output_open(const struct trusted_output *output,
							     int *errnum_ret, int *ret);

/*
 * trusted_directory_make() makes the directory @path, and those missing on the way to it, with
 * @mode less the umask. Each is made in a directory that passed the checks above, so nobody can
 * redirect it. Whether others may write to @path itself is not checked; a directory that is there
 * already is no error. *@errnum_ret, which may be NULL, is the errno of SYSTEM, else 0.
 */
PROFCOL_MUST_CHECK struct profcol_error *trusted_directory_make(const char *path, mode_t mode,
								int *errnum_ret);

/*
 * A file to be written to, @path, in a directory as above; @flags as of open(2), with O_CREAT for
 * mode @mode. No symbolic link, but for the names that the kernel has for open descriptors
 * (/dev/stdout, /dev/stderr, /dev/fd/N). A regular file belongs to one of those who are trusted. A
 * pipe that nobody reads is an error (ENXIO); writing to what is returned may wait.
 */
PROFCOL_MUST_CHECK struct profcol_error *trusted_file_open(const char *path, int flags, mode_t mode,
							   const char *private_part,
							   int *errnum_ret, int *ret);

/* Does @status belong to one of @owners, and can nobody else write to it? NULL, or what is wrong
 * with
 * @name, which is a @what ("file"). */
PROFCOL_MUST_CHECK struct profcol_error *trusted_check(const struct stat *status,
						       enum trusted_owners owners, const char *what,
						       const char *name);
