// SPDX-License-Identifier: Apache-2.0
#include "residency.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments of an object that cannot be written to: they are as the file has them. */
static int release_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const uintptr_t page = *(const uintptr_t *)context;
	const uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);

	(void)bytes;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + header->p_vaddr) & -page;
		uintptr_t limit = info->dlpi_addr + header->p_vaddr + header->p_memsz;

		if (header->p_type != PT_LOAD || header->p_flags & PF_W || start == vdso)
			continue;
		// In an object with text relocations this would be wrong; nothing links such a
		// thing any more, and the linkers warn.
		madvise((void *)start, (limit - start + page - 1) & -page, MADV_DONTNEED);
	}
	return 0;
}

void residency_trim(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	malloc_trim(0);
	dl_iterate_phdr(release_object, &page);
}
