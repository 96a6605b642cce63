// SPDX-License-Identifier: Apache-2.0
#include "elf_files.h"

#include "base/base.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { PAGE = 4096 };

void elf_file_init(struct elf_file *file, const void *bytes, size_t size)
{
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;

	file->map_bytes = pages + PAGE;
	file->map = mmap(NULL, file->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	assert_ptr_not_equal(file->map, MAP_FAILED);
	assert_int_equal(mprotect((char *)file->map + pages, PAGE, PROT_NONE), 0);
	file->bytes = (uint8_t *)file->map + pages - size;
	file->size = size;
	if (size)
		memcpy(file->bytes, bytes, size);
}

void elf_file_read(struct elf_file *file, const char *path)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t size;

	assert_int_equal(file_read(AT_FDCWD, path, 64 << 20, &bytes, &size), 0);
	elf_file_init(file, bytes, size);
}

void elf_file_deinit(struct elf_file *file)
{
	munmap(file->map, file->map_bytes);
}

void elf_file_drop_sections(struct elf_file *file)
{
	Elf64_Ehdr header;

	memcpy(&header, file->bytes, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = 0;
	header.e_shstrndx = 0;
	memcpy(file->bytes, &header, sizeof(header));
}

void nm_read(const char *path,
	     void (*each)(void *context, uint64_t address, char type, const char *name),
	     void *context)
{
	CLEANUP_FILE FILE *nm = fopen(path, "re");
	unsigned long long address;
	char type, name[1024];

	assert_non_null(nm);
	while (fscanf(nm, "%llx %c %1023s", &address, &type, name) == 3)
		each(context, address, type, name);
}
