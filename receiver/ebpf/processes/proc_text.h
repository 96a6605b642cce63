/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/PID/maps and /proc/PID/stat (proc(5)). Its paths and names are
 * chosen by the process: nothing in them is trusted. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_mapping {
	uint64_t start, limit; /* limit exclusive */
	uint64_t file_offset;
	uint64_t device; /* makedev() of the file system as it calls itself */
	uint64_t inode;  /* 0 = no file */
	bool executable;
	const char
		*path; /* NUL-terminated, inside the text; "//anon" when the kernel prints none */
	size_t path_length;
};

/*
 * Take the next line from *@text, which ends at @end and is written to: newlines in
 * paths (printed as \012) come back, and a NUL ends each path. The byte at @end
 * must be writable. Lines that are none of maps are passed over. False at the end.
 */
bool proc_maps_next(char **text, char *end, struct proc_mapping *ret);

struct proc_stat {
	char comm[16]; /* of the group leader */
	char state;    /* 'Z' for a zombie */
	uint32_t parent;
	uint32_t threads;
	uint64_t start_ticks; /* CLOCK_BOOTTIME in units of sysconf(_SC_CLK_TCK), rounded down */
};

/* False when @text is not such a line. */
bool proc_stat_parse(const char *text, size_t length, struct proc_stat *ret);

/* The number at the end of the line of /proc/PID/status that begins with @key ("\nNSpid:"), of
 * @status, which a NUL ends. False: there is none. */
bool proc_status_last_number(const char *status, const char *key, uint32_t *ret);

/*
 * Length of @path without the mark the kernel puts behind the name of a file that
 * has been unlinked. (A file can bear such a name truthfully; then a mark more is
 * printed than is taken off, and its inode tells that the shorter path is not it.)
 */
size_t proc_path_length(const char *path, size_t length);
