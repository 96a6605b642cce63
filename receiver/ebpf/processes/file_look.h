/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that tells a file, and its content, from all others; docs/identity.md has the table of
 * file systems.
 *
 * Device and inode name a file only as long as something pins it, such as an open descriptor: both
 * numbers are given to other files afterwards. Two looks at different times are of one file if also
 * its times agree, and the place that it lies in: the owner of a file system of his own can show
 * any times, but a mount's unique id is given to nobody else until the machine boots.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_look {
	uint32_t mode;          /* st_mode */
	uint32_t uid;           /* st_uid */
	uint64_t device, inode; /* as stat(2) shows them */
	uint64_t links;         /* names that it has */
	int64_t size;           /* bytes */
	int64_t modified_ns;    /* st_mtim: anybody who may write to it can set this one */
	int64_t changed_ns;     /* st_ctim: the kernel's clock, on the file systems of a disk */
	int64_t born_ns;        /* when the inode was made; 0: the file system does not say */
	bool fresh;             /* so young that a write to come may leave all times as they are */
	uint64_t mount;         /* hash of boot and mount; 0: not told, by kernels before 6.8 */
	uint64_t mount_number;  /* as in process_root.h; 0: not told */
	uint64_t volume; /* hash of the file system on a disk; 0: another kind, or not known */
};

/* Look at @fd, of any kind, O_PATH included. Waits for its file system. 0 or a negative errno. */
int file_look(int fd, struct file_look *ret);

/* What the kernel remembers: never waits, and leaves `volume` 0. */
int file_look_again(int fd, struct file_look *ret);

/* Is @then, a look at a file that has been pinned since, of the same inode as @now? */
bool file_look_same_inode(const struct file_look *then, const struct file_look *now);

/* The same of the content: nothing has been written since, whatever became of its names. */
bool file_look_same_content(const struct file_look *then, const struct file_look *now);

/* Are @then and @now of the same inode and differ in nothing of its content but the time of change,
 * which is explained: it was removed, linked, or given other rights? */
bool file_look_touched(const struct file_look *then, const struct file_look *now);

/* Are both in one place, so that they may be compared although nothing has pinned the file? */
bool file_look_same_place(const struct file_look *then, const struct file_look *now);

/*
 * May the file of @look have come, or got its content, since @mapped_ns (CLOCK_MONOTONIC; 0: not
 * known, then not)? A mapping pins its own file only while it lasts: a later mount can have the
 * same device and inode. Times of files are believed, but not on a device that is lent: there they
 * came with the image.
 */
bool file_look_may_be_younger(const struct file_look *look, uint64_t mapped_ns);

/*
 * What @look's place is called on a disk that outlives this boot: the file system, or else the
 * mount in this boot. 0: nothing is certain to be that place later.
 */
uint64_t file_look_lasting_place(const struct file_look *look);
