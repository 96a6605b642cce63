/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files behind executable mappings: an id each, a hash that tells them apart
 * anywhere, and a descriptor while there is room, so that they can be read when the
 * process, or the file's last name, is gone.
 *
 * A file is known by what file_look.h says: if anything of that differs at the next mapping, that
 * is another file with another id. While its descriptor is held nothing else can have its device
 * and inode; later also the place has to be the same. A file that was written to within the last
 * ticks of the clock when it was met is a new one at the next mapping, since a write that followed
 * at once may have left no trace. What has no name left (memfd, shared memory) and is not in the
 * format of programs is no file: compilers write code to such memory.
 *
 * What there is room for is bounded. Who knows which files are needed has the others forgotten in
 * time (files_evict), by when they were used last: mapped anew, read, or needed when room was made.
 * What is met again then is a new file. An id is
 * not given to another file before files_state.turns has grown, and long after that.
 *
 * Threads: any; the lock inside is never held over I/O that can wait. Of a file system that does
 * not answer none is waited for longer than some tenths of a second, and then not again until it
 * answers (opener.h): such a file is one that cannot be opened now.
 */
#pragma once

#include "opener.h"
#include "packages.h"
#include "root_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files;

/* @max_open descriptors are held, @max_bytes of memory taken; a file beyond gets no id. Ids are
 * below @ids, an even number. NULL without memory. */
struct files *files_create(size_t max_open, size_t max_bytes, uint32_t ids);
void files_destroy(struct files *files); /* accepts NULL */

/* By which files are looked for: for all that may wait for the same processes. Valid as @files. */
struct timed_calls *files_calls(struct files *files);

/* In place of an id: there is no room for the file, until files_evict makes some. */
enum { FILES_REFUSED = UINT32_MAX - 2 };

/*
 * The id of the file that @search finds, which is held open from now on; also when it
 * cannot be opened now but can be told from others. PROCESS_NO_FILE for what is no
 * regular file, or memory that only looks like one, FILES_REFUSED for what is counted so. From one
 * thread at a time.
 */
uint32_t files_identify(struct files *files, const struct file_search *search);

/* The same, of a file that has an id already; PROCESS_NO_FILE of any other, which gets none. Holds
 * nothing open that was not, but a file that was met first when it had just been written. */
uint32_t files_recognize(struct files *files, const struct file_search *search);

/* @file, opened anew for the caller. -ENOENT when it is not held, -ESTALE when its content is
 * another one by now, or another negative errno. Of one that was removed, linked or given other
 * rights since, the first and the last bytes are compared. */
int files_open(struct files *files, uint32_t file);

/* The same, whatever has been written to it since. */
int files_open_grown(struct files *files, uint32_t file);

/* Has @file, which is held, been written to since it was found, as files_open sees it? False also
 * when it is not held. */
bool files_is_stale(struct files *files, uint32_t file);

/* What @file is; false when it is not held, or has changed in anything since it was found. */
bool files_look(struct files *files, uint32_t file, struct file_look *ret);

/* How long a look may take: the thread that follows processes cannot wait for long, or it loses
 * records; others can. */
enum { FILES_FIND_NS = 250000000, FILES_OPEN_NS = 1000000000 };

/* Open @file by @search, within @limit_ns, and hold it. -ESTALE when what is found is another file.
 */
int files_reopen(struct files *files, uint32_t file, const struct file_search *search,
		 uint64_t limit_ns);

/* What to look for when @file has to be opened again. False when it is not known, or without
 * memory. The path in it is *@path_ret, the caller's to free. */
bool files_lookup(struct files *files, uint32_t file, struct mapped_file *ret, char **path_ret);

/* The path of @file, the caller's to free; NULL when it is not known, or without memory. It counts
 * as a use: each batch asks for those of files that samples are in, which are let go of last. */
char *files_path(struct files *files, uint32_t file);

/* The one root whose processes map @file, and one of them; false: there are several, or that is not
 * certain. */
bool files_root(struct files *files, uint32_t file, struct process_root *ret, uint32_t *pid_ret);

/* The origin of @file, as far as it is known now. With @own it is not the machine's root, even if
 * that wrote the file. Never waits. */
struct origin files_origin(struct files *files, uint32_t file, bool own);

/* As root_files_open. */
int files_open_in_root(struct files *files, const struct root_files_search *search, size_t *next);

/* As packages_find. */
int files_find_packages(struct files *files, const struct root_files_search *search,
			struct packages_found *ret);

/* Is @file known, and not forgotten? If so *@owner_ret (may be NULL) says whose it is, as
 * owner_join has it of those that mapped it. */
bool files_has(struct files *files, uint32_t file, struct owner *owner_ret);

/* The htlhash that @file had when it was opened first, as hexadecimal digits. False when it never
 * was, or could not be read. It counts as a use: what samples are in is not let go of. */
bool files_htlhash(struct files *files, uint32_t file, char ret[HTLHASH_HEX]);

/*
 * Which of the ELF files held are not what they were when they were met: they have been written to.
 * Each is told once. Writes at most @count and returns how many.
 */
size_t files_changed(struct files *files, uint32_t *ret, size_t count);

/* The same of @id alone. */
bool files_has_changed(struct files *files, uint32_t id);

/* Is it time for files_evict? If that does not make room it is so once a second at most. Before
 * that files_margin more can be identified without being refused. */
bool files_want_room(struct files *files);
size_t files_margin(const struct files *files);

/*
 * Forget files until half of the room is free, those first that were not used for longest, of
 * owners with more than their share before those of others, but none of @needed (@count ids,
 * ascending), which count as used now. Returns how many; without memory none. Not while
 * files_identify runs.
 */
size_t files_evict(struct files *files, const uint32_t *needed, size_t count);

/*
 * Close descriptors that keep other mounts than those of roots busy: of files that have not been
 * used since the last call, except @living (@count ids, ascending), which living processes map.
 * Such a file is opened again when it is needed, if it can be found. Of the others those @living
 * are closed last when there are too many. files_may_let_go: is there anything to be done?
 */
bool files_may_let_go(struct files *files);
void files_let_go(struct files *files, const uint32_t *living, size_t count);

/* files_unheld() returns in turns the files of @living (ascending) that samples are in and no
 * descriptor is held of; PROCESS_NO_FILE after the last. Opening such a file again shows whether it
 * has been written to. The function returns a file again only once it has been used again. */
uint32_t files_unheld(struct files *files, const uint32_t *living, size_t count);

/* As file_rows_yield: mappings have files of @ids, which are not known any more. */
size_t files_yield(struct files *files, uint32_t *ids, size_t most);

struct files_state {
	size_t files, open, memory; /* memory in bytes */
	uint64_t refused;           /* files without an id for want of memory */
	uint64_t paths_refused;     /* files whose path was left out for want of memory */
	uint64_t roots_refused;     /* roots there was no room for, or was none any more */
	uint64_t evicted;           /* files forgotten */
	uint64_t turns;             /* see above */
};
struct files_state files_state(struct files *files);
