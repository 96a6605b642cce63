// SPDX-License-Identifier: Apache-2.0
#include "kernel_modules.h"

#include "base/base.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LIST_BYTES = 4 << 20, MAX_NOTES_BYTES = 64 << 10, MAX_NOTES = 64 };

/* "ext4 1056768 2 - Live 0xffffffffc0a00000": false for a line that is something else. */
static bool place_parse(const char *line, struct kernel_module_place *ret)
{
	unsigned long long size, start;

	if (sscanf(line, "%63s %llu %*s %*s %*s %llx", ret->name, &size, &start) != 3)
		return false;
	ret->size = size;
	ret->start = start;
	return true;
}

int kernel_modules_list(const char *root,
			void (*each)(void *context, const struct kernel_module_place *place),
			void *context)
{
	CLEANUP_FREE char *text = NULL;
	char path[4096];
	int result;

	snprintf(path, sizeof(path), "%s/proc/modules", root);
	result = file_read(AT_FDCWD, path, MAX_LIST_BYTES, &text, NULL);
	if (result < 0)
		return result;
	for (char *line = text, *end; *line; line = end) {
		struct kernel_module_place place;

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		if (place_parse(line, &place))
			each(context, &place);
	}
	return 0;
}

static void fingerprint_add(void *context, const struct kernel_module_place *place)
{
	uint64_t *sum = context;
	uint32_t seed = intern_hash(place->name, strlen(place->name));

	// A sum, since the order of the list means nothing.
	*sum += (uint64_t)intern_hash_seeded(&place->start, sizeof(place->start), seed) << 20 ^
		place->size;
}

uint64_t kernel_modules_fingerprint(const char *root)
{
	uint64_t sum = 1;

	kernel_modules_list(root, fingerprint_add, &sum);
	return sum;
}

/* gABI "Note Section", padded to 4. */
static void build_id_from_notes(struct reader notes, char ret[KERNEL_BUILD_ID_HEX])
{
	for (unsigned int i = 0; i < MAX_NOTES && reader_left(&notes); i++) {
		uint32_t owner_length = reader_u32(&notes), length = reader_u32(&notes);
		uint32_t type = reader_u32(&notes);
		const char *owner = reader_bytes(&notes, owner_length);
		const uint8_t *bytes;

		reader_bytes(&notes, -(size_t)owner_length & 3);
		bytes = reader_bytes(&notes, length);
		reader_bytes(&notes, -(size_t)length & 3);
		if (!owner || !bytes)
			return;
		if (type == NT_GNU_BUILD_ID && owner_length == 4 && !memcmp(owner, "GNU", 4) &&
		    2 * length < KERNEL_BUILD_ID_HEX) {
			strings_hex(ret, bytes, length);
			return;
		}
	}
}

void kernel_modules_build_id(const char *root, const char *name, char ret[KERNEL_BUILD_ID_HEX])
{
	CLEANUP_FREE char *notes = NULL;
	char path[4096];
	size_t length;

	ret[0] = '\0';
	if (name && strchr(name, '/'))
		return;
	if (name)
		snprintf(path, sizeof(path), "%s/sys/module/%s/notes/.note.gnu.build-id", root,
			 name);
	else
		snprintf(path, sizeof(path), "%s/sys/kernel/notes", root);
	if (!file_read(AT_FDCWD, path, MAX_NOTES_BYTES, &notes, &length))
		build_id_from_notes(reader_over(notes, length), ret);
}

void kernel_modules_htlhash(const char *build_id, char ret[KERNEL_HTLHASH_HEX])
{
	enum { LEAST_DIGITS = 32 };
	// Offset basis and prime of the function's authors (Fowler, Noll, Vo).
	const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
	unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;

	ret[0] = '\0';
	if (strlen(build_id) < LEAST_DIGITS)
		return;
	for (; *build_id; build_id++)
		hash = (hash ^ (unsigned char)*build_id) * prime;
	snprintf(ret, KERNEL_HTLHASH_HEX, "%016llx%016llx", (unsigned long long)(hash >> 64),
		 (unsigned long long)hash);
}
