/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs and maps that are loaded on this machine, whoever loaded them. */
#pragma once

#include <stdio.h>

/*
 * Write a JSON array of {"id", "type", "name", "run_time_ns", "run_cnt"}, one for each
 * program. The times stand still unless somebody holds bpf_enable_stats(). Returns 0 or
 * a negative errno.
 */
int bpf_objects_write_programs(FILE *out);

/*
 * Write a JSON array of {"id", "type", "name", "bytes"}, one for each map; bytes are the
 * kernel's own account of its memory (`memlock` of fdinfo). Returns 0 or a negative errno.
 */
int bpf_objects_write_maps(FILE *out);

/*
 * Write a JSON array of {"id", "name", "values"}, one for each map that may be counters: arrays of
 * at most 512 numbers for each CPU; values are their sums. Returns 0 or a negative errno.
 */
int bpf_objects_write_counters(FILE *out);
