// SPDX-License-Identifier: Apache-2.0
#include "pprof_directory.h"

#include "base/base.h"
#include "profile/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* Of 10 ms each: what has not come by then does not come. */
enum { PATIENCE_TRIES = 12000 };

void pprof_directory_init(struct pprof_directory *directory)
{
	*directory = (struct pprof_directory){ .parent = "/tmp/pprof_test.XXXXXX" };
	assert_non_null(mkdtemp(directory->parent));
	snprintf(directory->path, sizeof(directory->path), "%s/profiles", directory->parent);
	fake_host_init(&directory->fake, &profcol_exporter_pprof);
	fake_host_set_text(&directory->fake, "directory", directory->path);
	fake_host_set_text(&directory->fake, "file_prefix", "profcol");
	fake_host_set_int(&directory->fake, "interval", 60 * PROFCOL_SECOND);
	fake_host_set_int(&directory->fake, "compression_level", 6);
	fake_host_set_int(&directory->fake, "max_pending_bytes", 64 << 20);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

void pprof_directory_deinit(struct pprof_directory *directory)
{
	fake_host_deinit(&directory->fake);
	nftw(directory->parent, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *pprof_directory_file(const struct pprof_directory *directory, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory->path, name);
	return path;
}

void pprof_directory_add(const struct pprof_directory *directory, const char *name, size_t bytes)
{
	CLEANUP_FILE FILE *file = NULL;

	if (mkdir(directory->path, 0700))
		assert_int_equal(errno, EEXIST);
	file = fopen(pprof_directory_file(directory, name), "w");
	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		assert_int_not_equal(fputc('x', file), EOF);
}

/* Calls for each entry are in no order; @name_ret keeps the first by name. */
static unsigned int scan(const struct pprof_directory *directory, const char *part,
			 char name_ret[256])
{
	DIR *stream = opendir(directory->path);
	struct dirent *entry;
	unsigned int count = 0;

	if (!stream)
		return 0;
	while ((entry = readdir(stream))) {
		if (!strstr(entry->d_name, part) || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (!count++ || strcmp(entry->d_name, name_ret) < 0)
			snprintf(name_ret, 256, "%s", entry->d_name);
	}
	closedir(stream);
	return count;
}

unsigned int pprof_directory_count(const struct pprof_directory *directory, const char *part)
{
	char name[256];

	return scan(directory, part, name);
}

void pprof_directory_first(const struct pprof_directory *directory, const char *part,
			   char name_ret[256])
{
	assert_int_not_equal(scan(directory, part, name_ret), 0);
}

void pprof_directory_wait(const struct pprof_directory *directory, const char *part,
			  unsigned int count)
{
	for (int round = 0; round < PATIENCE_TRIES; round++) {
		if (pprof_directory_count(directory, part) >= count)
			return;
		usleep(10000);
	}
	fail_msg("%u files '%s' did not appear", count, part);
}

void pprof_directory_wait_gone(const struct pprof_directory *directory, const char *part)
{
	for (int round = 0; round < PATIENCE_TRIES; round++) {
		if (!pprof_directory_count(directory, part))
			return;
		usleep(10000);
	}
	fail_msg("files '%s' did not go", part);
}

static uint64_t file_samples(const char *path)
{
	static const struct pprof_decode_limits limits = { .max_bytes = 64 << 20,
							   .max_memory = 256 << 20 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *bytes = NULL;
	uint64_t samples = 0;
	size_t length;

	assert_int_equal(file_read(AT_FDCWD, path, 64 << 20, &bytes, &length), 0);
	assert_no_error(pprof_decode((const uint8_t *)bytes, length, &limits, &batch));
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_PROFILES); i++) {
		struct profcol_range range;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &range);

		if (strcmp(profcol_batch_string(batch, profile.sample_type).bytes, "samples"))
			continue;
		for (uint32_t j = range.begin; j < range.end; j++) {
			struct profcol_sample sample = profcol_batch_sample(batch, j);

			for (uint32_t k = 0; k < sample.value_count; k++)
				samples += (uint64_t)sample.values[k];
		}
	}
	return samples;
}

uint64_t pprof_directory_samples(const struct pprof_directory *directory)
{
	DIR *stream = opendir(directory->path);
	struct dirent *entry;
	uint64_t samples = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		if (strstr(entry->d_name, ".pb") && entry->d_name[0] != '.')
			samples += file_samples(pprof_directory_file(directory, entry->d_name));
	closedir(stream);
	return samples;
}
