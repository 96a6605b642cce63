/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file of a profiled program, in a worker.
 *
 * A page that a mapping brings into memory belongs to whoever touched it first. Of a file on a disk
 * it goes when memory is short; of a hole in a file that is memory itself (tmpfs, memfd) it stays
 * for as long as the file does, and counts as profcol's. So only files of file systems that are
 * known to lie elsewhere are mapped. All others are read, piece by piece, when their bytes are
 * touched: 24 MiB at a time stay, of all of them. Holes cost nothing then, and a file that is cut
 * off meanwhile shows zeros and is `torn`.
 *
 * One thread. Bytes are for instructions of this process: a system call that is given their address
 * finds what has been touched only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FOREIGN_FILES = 12, /* that can be open at a time */
	FOREIGN_CHUNK = 64 << 10,
	FOREIGN_CHUNKS = 384, /* that stay in memory */
};

/* Not to be moved while it is open. All zero is none. */
struct foreign_file {
	const void *bytes; /* `size` of them; not NULL */
	size_t size;
	int fd;      /* owned: what it is read from; -1: it is mapped */
	bool torn;   /* it ended too soon, or could not be read */
	bool opened; /* this is one */
};

/* Before the first is opened; takes over SIGSEGV. 0 or a negative errno. */
int foreign_files_init(void);

/*
 * The file of @fd, as long as it is now, if that is @most at most. *@fd is taken, and -1 then, of a
 * file that is not mapped; otherwise it is not needed any more. 0, -EFBIG, -EMFILE, or another
 * negative errno.
 */
int foreign_file_open(struct foreign_file *file, int *fd, size_t most);

/* Let go of what is in memory of it: it is brought back when it is touched. */
void foreign_file_release(const struct foreign_file *file);

void foreign_file_close(struct foreign_file *file); /* accepts what is none */
