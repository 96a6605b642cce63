// SPDX-License-Identifier: Apache-2.0
/*
 * Names of made code, by a perf map or a jitdump that is any bytes: they are found in the order of
 * addresses, lie in the file, and have a bound.
 */
#include "receiver/ebpf/worker/code_map.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 24, FIRST = 0x1000, STEP = 0x18 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int file_of(const uint8_t *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("map", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static void check(int fd, const struct code_place *place, uint64_t address, size_t size)
{
	char name[CODE_MAP_NAME];

	if (place->address != address)
		abort();
	if (!place->name_at)
		return;
	if (place->name_at > size || place->name_bytes >= CODE_MAP_NAME ||
	    code_place_name(fd, place, name) > place->name_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct code_place places[PLACES] = { 0 };
	int fd = file_of(bytes, size);

	for (uint64_t i = 0; i < PLACES; i++)
		places[i].address = FIRST + i * STEP;
	if (jitdump_is(fd))
		jitdump_find(fd, places, PLACES);
	else
		perf_map_find(fd, places, PLACES);
	for (uint64_t i = 0; i < PLACES; i++)
		check(fd, &places[i], FIRST + i * STEP, size);
	return 0;
}
