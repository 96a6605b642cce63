// SPDX-License-Identifier: Apache-2.0
#include "file_index.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int file_index_begin(void)
{
	CLEANUP_FD int fd = memfd_create("profcol-symbols", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, WORKER_INDEX_BYTES))
		return -errno;
	return TAKE_FD(fd);
}

int file_index_finish(int fd, uint64_t bytes)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	// A worker that has it mapped still, to write to, is not what it was.
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, seals))
		return -errno;
	return 0;
}

uint64_t file_index_memory(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}
