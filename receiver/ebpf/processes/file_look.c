// SPDX-License-Identifier: Apache-2.0
#include "file_look.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <pthread.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u /* linux/stat.h, since 6.8 */
#endif

/* Not all of them are in linux/magic.h. */
enum { XFS_MAGIC = 0x58465342 };

enum { BOOT_ID_BYTES = 64 };

/* Times come from a clock that ticks: two writes within a tick leave the same. The slowest one
 * ticks a hundred times a second. */
static const int64_t fresh_ns = 20000000;

static char boot_id[BOOT_ID_BYTES];
static pthread_once_t boot_id_once = PTHREAD_ONCE_INIT;

static void read_boot_id(void)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;

	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", BOOT_ID_BYTES - 1, &text,
		      &length))
		return;
	memcpy(boot_id, text, length);
}

static int64_t nanoseconds(struct statx_timestamp time)
{
	// Hostile servers of file systems show any number.
	return (int64_t)((uint64_t)time.tv_sec * 1000000000u + time.tv_nsec);
}

/* Is @changed_ns so near to now that the kernel's clock may not have moved since? */
static bool is_fresh(int64_t changed_ns)
{
	struct timespec now;
	uint64_t passed;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	passed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)changed_ns;
	return passed < (uint64_t)fresh_ns || passed > UINT64_MAX - (uint64_t)fresh_ns;
}

/* Of the mount that @statx tells of, as nothing else in this boot or another one is called. */
static uint64_t hash_mount(const struct statx *statx)
{
	uint64_t hash;

	if (!(statx->stx_mask & STATX_MNT_ID_UNIQUE))
		return 0;
	pthread_once(&boot_id_once, read_boot_id);
	if (!boot_id[0])
		return 0;
	hash = XXH64(boot_id, sizeof(boot_id), statx->stx_mnt_id);
	return hash ? hash : 1;
}

static int look(int fd, int flags, struct file_look *ret)
{
	struct statx got = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH | flags,
		  STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &got))
		return -errno;
	*ret = (struct file_look){
		.mode = got.stx_mode,
		.uid = got.stx_uid,
		.device = makedev(got.stx_dev_major, got.stx_dev_minor),
		.inode = got.stx_ino,
		.links = got.stx_nlink,
		.size = (int64_t)got.stx_size,
		.modified_ns = nanoseconds(got.stx_mtime),
		.changed_ns = nanoseconds(got.stx_ctime),
		.born_ns = got.stx_mask & STATX_BTIME ? nanoseconds(got.stx_btime) : 0,
		.mount = hash_mount(&got),
		.mount_number =
			got.stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE) ? got.stx_mnt_id : 0,
	};
	ret->fresh = is_fresh(ret->changed_ns);
	return 0;
}

/* Devices whose numbers are lent: another file system may have one in a moment. */
static bool is_lent(uint64_t device)
{
	return major(device) == LOOP_MAJOR || major(device) == NBD_MAJOR;
}

static bool has_own_disk(const struct statfs *system, uint64_t device)
{
	switch ((uint32_t)system->f_type) {
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case XFS_MAGIC:
		return !is_lent(device);
	case BTRFS_SUPER_MAGIC: // the id of a subvolume is in f_fsid
		return true;
	default:
		return false;
	}
}

int file_look(int fd, struct file_look *ret)
{
	struct statfs system;
	int status = look(fd, 0, ret);

	if (status)
		return status;
	if (!S_ISREG(ret->mode) || fstatfs(fd, &system) || !has_own_disk(&system, ret->device))
		return 0;
	ret->volume = XXH64(&system.f_fsid, sizeof(system.f_fsid), (uint64_t)system.f_type);
	// The numbers of btrfs' devices are lent, but its id of the file system is the subvolume's.
	if (system.f_type != BTRFS_SUPER_MAGIC)
		ret->volume ^= ret->device * 0x9e3779b97f4a7c15u;
	ret->volume += !ret->volume;
	return 0;
}

int file_look_again(int fd, struct file_look *ret)
{
	return look(fd, AT_STATX_DONT_SYNC, ret);
}

bool file_look_same_inode(const struct file_look *then, const struct file_look *now)
{
	// What a file system on the network remembers may lack the time of birth for a while.
	return then->device == now->device && then->inode == now->inode &&
	       (then->born_ns == now->born_ns || !then->born_ns || !now->born_ns);
}

bool file_look_same_content(const struct file_look *then, const struct file_look *now)
{
	return then->size == now->size && then->modified_ns == now->modified_ns &&
	       then->changed_ns == now->changed_ns;
}

bool file_look_touched(const struct file_look *then, const struct file_look *now)
{
	return file_look_same_inode(then, now) && then->size == now->size &&
	       then->modified_ns == now->modified_ns &&
	       (then->links != now->links || then->mode != now->mode);
}

bool file_look_same_place(const struct file_look *then, const struct file_look *now)
{
	if (then->mount || now->mount)
		return then->mount == now->mount;
	return then->volume && then->volume == now->volume;
}

uint64_t file_look_lasting_place(const struct file_look *look)
{
	return look->volume ? look->volume : look->mount;
}

bool file_look_may_be_younger(const struct file_look *look, uint64_t mapped_ns)
{
	uint64_t ago_ns = clock_monotonic_ns() - mapped_ns;
	int64_t latest_ns;

	if (!mapped_ns)
		return false;
	// A server can show any time. That of a change is behind, by a tick of the clock.
	if (is_lent(look->device) || __builtin_add_overflow(look->changed_ns, fresh_ns, &latest_ns))
		return true;
	return latest_ns > (int64_t)(clock_realtime_ns() - ago_ns);
}
