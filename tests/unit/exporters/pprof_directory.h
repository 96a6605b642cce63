/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the pprof exporter share: a directory, and what lies in it. */
#pragma once

#include "fake_host.h"
#include "test_batch.h"

#include <stddef.h>
#include <stdint.h>

extern const struct profcol_component profcol_exporter_pprof;

/* A fake host that exports to a fresh directory under /tmp. */
struct pprof_directory {
	struct fake_host fake;
	char parent[40]; /* removed at the end with all that is in it */
	char path[64];   /* parent/profiles: not there before the start */
};

void pprof_directory_init(struct pprof_directory *directory);
void pprof_directory_deinit(struct pprof_directory *directory);

/* The path of @name in the directory, in a buffer that the next call overwrites. */
const char *pprof_directory_file(const struct pprof_directory *directory, const char *name);

/* Make a file of @bytes bytes there, and the directory if need be. */
void pprof_directory_add(const struct pprof_directory *directory, const char *name, size_t bytes);

/* Entries whose name contains @part. */
unsigned int pprof_directory_count(const struct pprof_directory *directory, const char *part);

/* Name of the first of them, in the order of names; fails the test without one. */
void pprof_directory_first(const struct pprof_directory *directory, const char *part,
			   char name_ret[256]);

/* Wait, up to ten seconds, until @count entries contain @part. */
void pprof_directory_wait(const struct pprof_directory *directory, const char *part,
			  unsigned int count);

/* Wait, up to ten seconds, until none does. */
void pprof_directory_wait_gone(const struct pprof_directory *directory, const char *part);

/* Samples in all profiles of the directory, each of which must be whole. */
uint64_t pprof_directory_samples(const struct pprof_directory *directory);
