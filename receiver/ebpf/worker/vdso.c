// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include "elf_facts.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Bytes of the image at @elf as it is mapped: its section headers come last. */
static size_t image_size(const Elf64_Ehdr *elf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;

	return (bytes + page - 1) / page * page;
}

bool worker_read_vdso(struct worker_vdso *ret)
{
	// The kernel's own bytes, not a profiled program's: they need no sandbox.
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct elf_facts facts;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG))
		return false;
	elf_facts_read(elf, image_size(elf), &facts);
	memcpy(ret->build_id_gnu, facts.build_id_gnu, sizeof(ret->build_id_gnu));
	memcpy(ret->htlhash, facts.htlhash, sizeof(ret->htlhash));
	return true;
}
