// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include "elf_facts.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const void *worker_vdso_image(size_t *bytes_ret)
{
	// The kernel's own bytes, not a profiled program's: they need no sandbox.
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;

	if (!elf || memcmp(elf->e_ident, ELFMAG, SELFMAG))
		return NULL;
	// As it is mapped: its section headers come last.
	bytes = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
	*bytes_ret = (bytes + page - 1) / page * page;
	return elf;
}

bool worker_read_vdso(struct worker_vdso *ret)
{
	struct elf_facts facts;
	size_t bytes;
	const void *image = worker_vdso_image(&bytes);

	if (!image)
		return false;
	elf_facts_read(image, bytes, &facts);
	memcpy(ret->build_id_gnu, facts.build_id_gnu, sizeof(ret->build_id_gnu));
	memcpy(ret->htlhash, facts.htlhash, sizeof(ret->htlhash));
	return true;
}
