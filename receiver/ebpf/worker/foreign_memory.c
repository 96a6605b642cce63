// SPDX-License-Identifier: Apache-2.0
#include "foreign_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The kernel answers an address that cannot be read with an error. It gives no bytes of a program
 * that has ended, or of a thread that had no memory when it was opened (mem_rw() in
 * fs/proc/base.c). */
static bool read_at(struct foreign_memory *memory, uint64_t address, void *to, size_t bytes)
{
	ssize_t got;

	do
		got = pread(memory->fd, to, bytes, (off_t)address);
	while (got < 0 && errno == EINTR);
	memory->ended |= !got;
	return got == (ssize_t)bytes;
}

/* The page at @address; NULL when it cannot be read. */
static const uint8_t *page_at(struct foreign_memory *memory, uint64_t address)
{
	size_t place = address / FOREIGN_PAGE_BYTES % FOREIGN_PAGES_KEPT;

	if (memory->pages[place] == address + 1)
		return memory->bytes[place];
	if (address > INT64_MAX || memory->read == FOREIGN_PAGES_MOST)
		return NULL;
	memory->read++;
	memory->pages[place] = 0;
	// Mappings consist of whole pages, and these are of 4 KiB at least.
	if (!read_at(memory, address, memory->bytes[place], FOREIGN_PAGE_BYTES))
		return NULL;
	memory->pages[place] = address + 1;
	return memory->bytes[place];
}

/* Of what is long nothing is kept: it is read at once. */
static bool read_long(struct foreign_memory *memory, uint64_t address, void *to, size_t bytes)
{
	size_t pages = bytes / FOREIGN_PAGE_BYTES + 2;

	if (address > INT64_MAX || pages > FOREIGN_PAGES_MOST - memory->read)
		return false;
	memory->read += (uint32_t)pages;
	return read_at(memory, address, to, bytes);
}

/* As runtime_memory.read. */
static bool read_bytes(void *context, uint64_t address, void *to, size_t bytes)
{
	struct foreign_memory *memory = context;

	if (address > UINT64_MAX - bytes)
		return false;
	if (bytes >= FOREIGN_LONG_BYTES)
		return read_long(memory, address, to, bytes);
	while (bytes) {
		size_t offset = address % FOREIGN_PAGE_BYTES;
		size_t part = FOREIGN_PAGE_BYTES - offset;
		const uint8_t *page = page_at(memory, address - offset);

		if (!page)
			return false;
		if (part > bytes)
			part = bytes;
		memcpy(to, page + offset, part);
		to = (char *)to + part;
		address += part;
		bytes -= part;
	}
	return true;
}

static void renew(void *context)
{
	struct foreign_memory *memory = context;

	memset(memory->pages, 0, sizeof(memory->pages));
}

struct runtime_memory foreign_memory_begin(struct foreign_memory *memory, int fd)
{
	static uint64_t requests; // of the worker, which has one thread

	memory->fd = fd;
	memory->ended = false;
	memory->read = 0;
	renew(memory);
	return (struct runtime_memory){ read_bytes, renew, memory, ++requests };
}
