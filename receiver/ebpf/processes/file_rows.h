/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of files, by number and by identity, under a bound; files.h says what a file is.
 * Closes nothing: descriptors that are not held any more are the caller's. One thread at a time.
 */
#pragma once

#include "file_numbers.h"
#include "opener.h"
#include "process_root.h"
#include "shares.h"

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
	uint32_t id;
	char *path;             /* owned: as the kernel printed it; NULL: there was no room */
	uint64_t device, inode; /* as maps prints them */
	uint64_t begin_ns;      /* of the mapping that it was met by, as in mapped_file.h */
	struct owner owner;     /* of the processes that mapped it, as owner_join has it */
	uint64_t container;     /* of these processes; has_container: one is known */
	bool has_container, several_containers;
	bool machines; /* it lies where only the machine's root installs files */
	bool seen;     /* has been opened: there is a look at it */
	bool changed;  /* files_changed has told of it */
	bool lives;    /* a living process had it mapped at the last file_rows_let_go, or since */
	struct file_ends ends;
	struct file_look look; /* what it was when it was found last */
	int fd;                /* O_PATH; -1 = not held */
	uint32_t root;         /* whose file it is: place in `roots`, or one of FILE_ROOT_... */
	uint64_t used;
};

enum {
	FILE_ROOT_NONE = UINT32_MAX,       /* nobody has been seen to map it */
	FILE_ROOT_SHARED = UINT32_MAX - 1, /* processes of several roots have, or it is not known */
};

/* A root through which files were found. */
struct file_root {
	struct process_root root;
	struct owner owner; /* of the processes that had it, as owner_join has it */
	uint32_t pid;       /* one of them */
};

/* What maps calls (device, inode) is this file at present. */
struct file_alias {
	uint64_t device, inode;
	uint32_t file;
};

struct file_rows {
	size_t most, most_open, most_path_bytes;
	VECTOR(struct file) rows;
	VECTOR(struct file_alias) aliases;
	VECTOR(struct file_root) roots;
	VECTOR(uint32_t) held; /* places in `rows` of those whose descriptor is held */
	struct intern by_id, by_look, by_alias;
	struct file_numbers numbers;
	struct shares shares, path_shares, held_shares; /* rows, bytes, descriptors */
	struct shares root_shares;
	uint64_t clock;       /* of use */
	uint64_t roots_again; /* as `clock`: to look which roots are needed */
	bool wants_room;      /* a file got no id since room was made last */
	size_t path_bytes;
	uint64_t refused, paths_refused, roots_refused, evicted;
};

/* @numbers: how many ids there are. */
void file_rows_init(struct file_rows *rows, size_t most_open, size_t max_bytes, uint32_t numbers);
void file_rows_deinit(struct file_rows *rows); /* closes what is held */

/* All valid until the next row is added, or some are evicted; NULL: none. */
struct file *file_rows_find(const struct file_rows *rows, uint32_t id);
/* By what it is. Found is what is held open, or what lies in a place that is told from all others
 * (file_look.h), and was not written just before. */
struct file *file_rows_find_look(const struct file_rows *rows, const struct file_look *look);
/* Has a file with @look been met so soon after it was written that it is not found by that? */
bool file_rows_met_unsettled(const struct file_rows *rows, const struct file_look *look);
struct file *file_rows_find_alias(const struct file_rows *rows, const struct mapped_file *mapped);

/* The file that @mapped leads to, which gets an id. NULL without room or memory: that is counted.
 */
struct file *file_rows_add(struct file_rows *rows, const struct mapped_file *mapped);

/* What @mapped leads to is @file for now. */
void file_rows_set_alias(struct file_rows *rows, const struct mapped_file *mapped,
			 const struct file *file);

/* Was @file met by the path of @mapped first? */
bool file_has_path(const struct file *file, const struct mapped_file *mapped);

/* The process of @mapped has mapped @file, too. */
void file_rows_mapped_by(struct file_rows *rows, struct file *file,
			 const struct mapped_file *mapped);

/* Is @look at @file, if that has been pinned since it was seen? What compilers write code to grows:
 * of a file without a name that is no ELF file (@raw) the content does not count. */
bool file_is(const struct file *file, const struct file_look *look, bool raw);

/* Does what maps calls (device, inode) name nothing but @file, which is held open? */
bool file_owns_alias(const struct file *file);

/* @file, which has it, is known by @look from now on. */
void file_rows_see(struct file_rows *rows, struct file *file, const struct file_look *look);

/* Keep @fd, which is taken, for @file, and let go of another one if there are too many. Returns a
 * descriptor to close, or -1. */
int file_rows_hold(struct file_rows *rows, struct file *file, int fd);

/* Does a descriptor that has not been used after @clock (as file_rows.clock) keep a mount busy that
 * somebody may want to unmount: neither @host's root nor that of a container? */
bool file_rows_has_passing(const struct file_rows *rows, const struct process_root *host,
			   uint64_t clock);

/*
 * Let go of these descriptors, but for those of the files @living (ids, ascending), whose mounts
 * are busy by themselves. They are written to @gone, which has room for most_open; returns how
 * many. When there are too many later, those of other files than @living go first: whether a file
 * is written to while it runs is seen by its descriptor alone.
 */
struct file_let_go {
	int fd;         /* to be closed */
	uint64_t payer; /* by close_later.h: the end of a mount may wait for its disk */
};
size_t file_rows_let_go(struct file_rows *rows, const struct process_root *host, uint64_t clock,
			const uint32_t *living, size_t living_count, struct file_let_go *gone);

/* Do only processes with this root map @file, as far as is known? */
bool file_rows_has_root(const struct file_rows *rows, const struct file *file,
			const struct process_root *root);

/* @pid, of @owner, whose root is @root, maps @file. With an unknown root it may be anybody's; the
 * same without room for that root: owners share it (shares.h). */
void file_rows_note_root(struct file_rows *rows, struct file *file, uint32_t pid,
			 struct owner owner, const struct process_root *root);

/* A process whose root is the machine's maps @file, which it calls @path. */
void file_note_machines(struct file *file, const char *path);

/* For the origin of @file: who pays for closing it. */
uint64_t file_payer(const struct file *file);

/* The origin of @file. With @own it is not the machine's root, even if that wrote the file. */
struct origin file_origin(const struct file *file, bool own);

/* It has been used, and goes later than those that were not. */
void file_rows_touch(struct file_rows *rows, struct file *file);

size_t file_path_bytes(const struct file *file); /* that its path takes */

/* @file has no path any more, as if there had been no room for it. */
void file_rows_drop_path(struct file_rows *rows, struct file *file);

/* Rows have other places now: find them there. */
void file_rows_rebuild(struct file_rows *rows);

/* Is it time to make room? Before that there is some for file_rows_margin more. */
bool file_rows_nearly_full(const struct file_rows *rows);
size_t file_rows_margin(const struct file_rows *rows);

/*
 * Forget half of what there may be, first those of owners that have more than their share, and of
 * these those not used for longest, but none of @needed (ids, ascending), which count as used now.
 * Returns how many went; without memory none. Their
 * descriptors, as many as were held, are written to @fds, which has room for most_open, and their
 * number to *@fd_count_ret.
 */
size_t file_rows_evict(struct file_rows *rows, const uint32_t *needed, size_t count, int *fds,
		       size_t *fd_count_ret);

/*
 * Forget files of the largest owner, needed or not, when other owners have used up what is kept for
 * them (shares.h), until that is free again; and paths. Returns how many files went, @most at most,
 * whose ids, ascending, are written to @ids; descriptors as above.
 */
size_t file_rows_yield(struct file_rows *rows, uint32_t *ids, size_t most, int *fds,
		       size_t *fd_count_ret);

size_t file_rows_memory(const struct file_rows *rows); /* bytes */
