// SPDX-License-Identifier: Apache-2.0
#include "bpf_objects.h"

#include "json_text.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A machine has hundreds; the bound is against a list that grows while it is read. */
enum { OBJECTS_MOST = 1 << 16, FDINFO_MAX_BYTES = 1 << 16, COUNTERS_MOST = 512 };

static int write_program(FILE *out, int fd, const char *separator)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	fprintf(out, "%s{\"id\": %u, \"type\": %u, \"name\": ", separator, info.id, info.type);
	json_text_write(out, info.name, sizeof(info.name));
	fprintf(out, ", \"run_time_ns\": %" PRIu64 ", \"run_cnt\": %" PRIu64 "}",
		(uint64_t)info.run_time_ns, (uint64_t)info.run_cnt);
	return 0;
}

/* `memlock:` of a map's fdinfo, Documentation/filesystems/proc.rst. */
static int map_bytes(int fd, uint64_t *ret)
{
	static const char label[] = "\nmemlock:";
	CLEANUP_FREE char *text = NULL;
	char path[64];
	const char *found;
	int status;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	status = file_read(AT_FDCWD, path, FDINFO_MAX_BYTES, &text, NULL);
	if (status)
		return status;
	found = strstr(text, label);
	if (!found)
		return -EPROTO;
	*ret = strtoull(found + sizeof(label) - 1, NULL, 10);
	return 0;
}

static int write_map(FILE *out, int fd, const char *separator)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	uint64_t bytes;
	int status;

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	status = map_bytes(fd, &bytes);
	if (status)
		return status;
	fprintf(out, "%s{\"id\": %u, \"type\": %u, \"name\": ", separator, info.id, info.type);
	json_text_write(out, info.name, sizeof(info.name));
	fprintf(out, ", \"bytes\": %" PRIu64 "}", bytes);
	return 0;
}

static bool are_counters(const struct bpf_map_info *info)
{
	return info->type == BPF_MAP_TYPE_PERCPU_ARRAY && info->value_size == sizeof(uint64_t) &&
	       info->max_entries <= COUNTERS_MOST;
}

/* -ENOENT: the map has none. */
static int write_counters(FILE *out, int fd, const char *separator)
{
	int cpus = libbpf_num_possible_cpus();
	CLEANUP_FREE uint64_t *values = cpus > 0 ? calloc((size_t)cpus, sizeof(*values)) : NULL;
	uint64_t sums[COUNTERS_MOST] = { 0 };
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (!values)
		return cpus < 0 ? cpus : -ENOMEM;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return -errno;
	if (!are_counters(&info))
		return -ENOENT;
	for (uint32_t key = 0; key < info.max_entries; key++) {
		if (bpf_map_lookup_elem(fd, &key, values))
			return -errno;
		for (int cpu = 0; cpu < cpus; cpu++)
			sums[key] += values[cpu];
	}
	fprintf(out, "%s{\"id\": %u, \"name\": ", separator, info.id);
	json_text_write(out, info.name, sizeof(info.name));
	for (uint32_t key = 0; key < info.max_entries; key++)
		fprintf(out, "%s%" PRIu64, key ? ", " : ", \"values\": [", sums[key]);
	fputs("]}", out);
	return 0;
}

/* Programs or maps. */
struct object_kind {
	int (*next_id)(uint32_t after, uint32_t *ret);
	int (*open)(uint32_t id);
	/* @separator, then what @fd is; 0 or a negative errno, with nothing written. */
	int (*write)(FILE *out, int fd, const char *separator);
};

static int write_all(FILE *out, const struct object_kind *kind)
{
	const char *separator = "";
	uint32_t id = 0;

	fputc('[', out);
	for (unsigned int i = 0; i < OBJECTS_MOST && !kind->next_id(id, &id); i++) {
		CLEANUP_FD int fd = kind->open(id);
		int status = fd < 0 ? -errno : kind->write(out, fd, separator);

		// -ENOENT: gone since the list was read.
		if (status && status != -ENOENT)
			return status;
		if (!status)
			separator = ", ";
	}
	fputc(']', out);
	return 0;
}

int bpf_objects_write_programs(FILE *out)
{
	static const struct object_kind programs = { bpf_prog_get_next_id, bpf_prog_get_fd_by_id,
						     write_program };

	return write_all(out, &programs);
}

int bpf_objects_write_maps(FILE *out)
{
	static const struct object_kind maps = { bpf_map_get_next_id, bpf_map_get_fd_by_id,
						 write_map };

	return write_all(out, &maps);
}

int bpf_objects_write_counters(FILE *out)
{
	static const struct object_kind counters = { bpf_map_get_next_id, bpf_map_get_fd_by_id,
						     write_counters };

	return write_all(out, &counters);
}
