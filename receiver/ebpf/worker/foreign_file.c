// SPDX-License-Identifier: Apache-2.0
#include "foreign_file.h"

#include "base/base.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* linux/magic.h of Debian 12 lacks some. */
enum { XFS_MAGIC = 0x58465342, FUSE_MAGIC = 0x65735546, ZFS_MAGIC = 0x2fc12fc1 };

/* A piece of a file that is in memory. */
struct chunk {
	const struct foreign_file *file; /* NULL: it has been let go */
	size_t at;                       /* in the file, a multiple of FOREIGN_CHUNK */
};

static struct {
	struct foreign_file *files[FOREIGN_FILES]; /* those that are read; NULL: free */
	struct chunk chunks[FOREIGN_CHUNKS];       /* a ring, by age */
	size_t next;
	struct sigaction before; /* of SIGSEGV: a sanitizer's */
} pager;

/* Does it lie on a disk or at a server, with pages that can go at any time? An overlay may lie on
 * anything. */
static bool is_mapped(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return false;
	switch ((uint32_t)system.f_type) {
	case EXT4_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case XFS_MAGIC:
	case ZFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case ISOFS_SUPER_MAGIC:
	case NFS_SUPER_MAGIC:
	case V9FS_MAGIC:
	case FUSE_MAGIC:
		return true;
	default:
		return false;
	}
}

static char *address_of(const struct foreign_file *file, size_t at)
{
	return (char *)(uintptr_t)file->bytes + at;
}

/* Of the part of @file that begins at @at: as much as has been mapped. */
static size_t chunk_bytes(const struct foreign_file *file, size_t at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t left = (file->size + page - 1) / page * page - at;

	return left < FOREIGN_CHUNK ? left : FOREIGN_CHUNK;
}

static void chunk_drop(struct chunk *chunk)
{
	if (!chunk->file)
		return;
	// A mapping in its place gives back the memory, and joins its neighbours.
	(void)mmap(address_of(chunk->file, chunk->at), chunk_bytes(chunk->file, chunk->at),
		   PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	chunk->file = NULL;
}

/* Fill what has just become writable with what @file has there. */
static void chunk_read(struct foreign_file *file, size_t at)
{
	size_t bytes = file->size - at, done = 0;

	if (bytes > FOREIGN_CHUNK)
		bytes = FOREIGN_CHUNK;
	while (done < bytes) {
		ssize_t got = pread(file->fd, address_of(file, at + done), bytes - done,
				    (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			file->torn = true;
			return;
		}
		done += (size_t)got;
	}
}

/* Bring in the chunk of @file that holds the byte at @at. False: there is no memory. */
static bool chunk_bring(struct foreign_file *file, size_t at)
{
	struct chunk *chunk = &pager.chunks[pager.next];

	at -= at % FOREIGN_CHUNK;
	chunk_drop(chunk);
	if (mprotect(address_of(file, at), chunk_bytes(file, at), PROT_READ | PROT_WRITE))
		return false;
	*chunk = (struct chunk){ file, at };
	pager.next = (pager.next + 1) % FOREIGN_CHUNKS;
	chunk_read(file, at);
	return true;
}

static struct foreign_file *file_at(const void *address)
{
	for (size_t i = 0; i < FOREIGN_FILES; i++) {
		struct foreign_file *file = pager.files[i];

		if (file && (uintptr_t)address - (uintptr_t)file->bytes < file->size)
			return file;
	}
	return NULL;
}

/* Calls nothing that is not safe in the middle of anything: pread, mmap and mprotect are. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	struct foreign_file *file = file_at(info->si_addr);
	int before = errno;

	if (file &&
	    chunk_bring(file, (size_t)((uintptr_t)info->si_addr - (uintptr_t)file->bytes))) {
		errno = before;
		return;
	}
	if (pager.before.sa_flags & SA_SIGINFO)
		pager.before.sa_sigaction(number, info, context);
	__builtin_trap();
}

int foreign_files_init(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	return sigaction(SIGSEGV, &action, &pager.before) ? -errno : 0;
}

/* Room in which nothing can be read yet. */
static int reserve(struct foreign_file *file, int *fd)
{
	size_t place = 0;
	void *room;

	while (place < FOREIGN_FILES && pager.files[place])
		place++;
	if (place == FOREIGN_FILES)
		return -EMFILE;
	room = mmap(NULL, file->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (room == MAP_FAILED)
		return -errno;
	file->bytes = room;
	file->fd = TAKE_FD(*fd);
	pager.files[place] = file;
	return 0;
}

static int map(struct foreign_file *file, int fd)
{
	void *mapped = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	file->bytes = mapped;
	return 0;
}

int foreign_file_open(struct foreign_file *file, int *fd, size_t most)
{
	off_t bytes = *fd < 0 ? -1 : lseek(*fd, 0, SEEK_END);
	int result = 0;

	*file = (struct foreign_file){ .bytes = "", .fd = -1 };
	if (bytes < 0)
		return *fd < 0 ? -EBADF : -errno;
	if ((uint64_t)bytes > most)
		return -EFBIG;
	file->size = (size_t)bytes;
	if (bytes)
		result = is_mapped(*fd) ? map(file, *fd) : reserve(file, fd);
	file->opened = !result;
	if (result)
		file->size = 0;
	return result;
}

void foreign_file_release(const struct foreign_file *file)
{
	if (!file->opened || !file->size)
		return;
	if (file->fd < 0) {
		madvise((void *)(uintptr_t)file->bytes, file->size, MADV_DONTNEED);
		return;
	}
	for (size_t i = 0; i < FOREIGN_CHUNKS; i++)
		if (pager.chunks[i].file == file)
			chunk_drop(&pager.chunks[i]);
}

void foreign_file_close(struct foreign_file *file)
{
	if (!file->opened)
		return;
	foreign_file_release(file);
	for (size_t i = 0; i < FOREIGN_FILES; i++)
		if (pager.files[i] == file)
			pager.files[i] = NULL;
	if (file->size)
		munmap((void *)(uintptr_t)file->bytes, file->size);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct foreign_file){ .fd = -1 };
}
