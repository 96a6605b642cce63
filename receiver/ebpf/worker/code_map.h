/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code that a program has made, by files that it writes: perf maps
 * (tools/perf/Documentation/ jit-interface.txt of the kernel's sources) and jitdump
 * (jitdump-specification.txt there). In the worker; every byte is hostile. One thread at a time.
 *
 * Files are read from one end to the other for the addresses at hand: nothing is kept of them. Of a
 * perf map that is larger than WORKER_MAP_MOST only the end is read, where what is new stands; of a
 * jitdump RECORDS_MOST records and STEPS_MOST lines at most (jitdump.c).
 */
#pragma once

#include "worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_MAP_NAME = 4096, /* bytes of a name, with its NUL; longer ones are cut */
};

/* What is to be found, and what was. */
struct code_place {
	uint64_t address; /* ascending */
	uint64_t name_at; /* where in the file its name is; 0: none was found */
	uint32_t name_bytes;
	uint32_t line;            /* 0: not known */
	uint64_t lines_at, lines; /* jitdump.c's own, without meaning afterwards */
};

/* Find names of @count @places in the perf map, or jitdump, @fd, which is a file. */
void perf_map_find(int fd, struct code_place *places, size_t count);
void jitdump_find(int fd, struct code_place *places, size_t count);

/* Does the file begin as a jitdump of this machine's byte order does? */
bool jitdump_is(int fd);

/* The name that was found, without NUL, to @to, of CODE_MAP_NAME bytes; returns its length. */
size_t code_place_name(int fd, const struct code_place *place, char *to);

/* The first of @places that lies at or behind @address; @count: none does. */
size_t code_places_from(const struct code_place *places, size_t count, uint64_t address);
