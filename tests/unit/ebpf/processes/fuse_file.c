// SPDX-License-Identifier: Apache-2.0
#include "fuse_file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { REQUEST_BYTES = 1 << 18, FILE_NODE = 2 };

static void reply(const struct fuse_file *file, uint64_t unique, int error, const void *body,
		  size_t bytes)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes),
		.error = error,
		.unique = unique,
	};
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)(uintptr_t)body, bytes } };

	// Who asked may have gone.
	(void)!writev(file->device, parts, bytes ? 2 : 1);
}

static struct fuse_attr attributes(const struct fuse_file *file, uint64_t node)
{
	struct fuse_attr attr = {
		.ino = node == FILE_NODE ? file->inode : 1,
		.size = node == FILE_NODE ? file->length : 0,
		.atime = file->seconds,
		.mtime = file->seconds,
		.ctime = file->seconds,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = node == FILE_NODE ? 1 : 2,
		.blksize = 4096,
	};

	return attr;
}

static void answer(const struct fuse_file *file, const struct fuse_in_header *in, const void *body)
{
	const struct fuse_read_in *read_in = body;
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = 1 << 16,
		.max_write = 1 << 16,
	};
	struct fuse_entry_out entry = { .nodeid = FILE_NODE };
	struct fuse_attr_out attr = { 0 };
	struct fuse_open_out opened = { 0 };
	struct fuse_statfs_out statfs_out = { 0 };
	size_t left;

	switch (in->opcode) {
	case FUSE_INIT:
		reply(file, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		entry.attr = attributes(file, FILE_NODE);
		if (strcmp(body, "program"))
			reply(file, in->unique, -ENOENT, NULL, 0);
		else
			reply(file, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		attr.attr = attributes(file, in->nodeid);
		reply(file, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(file, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		left = read_in->offset < file->length ? file->length - read_in->offset : 0;
		reply(file, in->unique, 0, file->content + read_in->offset,
		      left < read_in->size ? left : read_in->size);
		break;
	case FUSE_STATFS:
		reply(file, in->unique, 0, &statfs_out, sizeof(statfs_out));
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		reply(file, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		reply(file, in->unique, -ENOSYS, NULL, 0);
	}
}

/* Until it is unmounted. */
static void *serve(void *context)
{
	const struct fuse_file *file = context;
	CLEANUP_FREE char *request = malloc(REQUEST_BYTES);
	ssize_t got;

	while (request && ((got = read(file->device, request, REQUEST_BYTES)) >= 0 ||
			   errno == EINTR || errno == ENOENT))
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer(file, (const void *)request,
			       request + sizeof(struct fuse_in_header));
	return NULL;
}

bool fuse_file_mount(struct fuse_file *file)
{
	char options[128];

	file->device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (file->device < 0)
		return false;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 file->device);
	if (mount("profcol", file->mount, "fuse", MS_NODEV | MS_NOSUID, options) ||
	    pthread_create(&file->server, NULL, serve, file)) {
		close(file->device);
		return false;
	}
	return true;
}

void fuse_file_unmount(struct fuse_file *file)
{
	umount2(file->mount, 0);
	pthread_join(file->server, NULL);
	close(file->device);
}
