/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch with two programs, for tests of processors:
 *
 *   resource  scope        profile          sample (thread, frames, events)
 *   shop      profcol 1.0  samples/count    web: pay, main; 3 timestamps
 *                                           batch: tally, main; value 2
 *             other 2.0    cpu/nanoseconds  web: pay, main; value 10000000
 *   cron      profcol 1.0  samples/count    cron: sweep, cron_main; 4 timestamps
 *
 * Resources have service.name, k8s.namespace.name (prod, jobs), process.pid (4711, 815), load (0.5,
 * 2), and container.privileged (true) or process.command_line. The stack of cron has the mapping
 * /opt/cron, and user.email is on its sample. Frames are `native`, but for `sweep`: `cpython`.
 * Each profile has an original payload, of format x-raw: "raw: " and the names of its threads
 * ("other" in the second one); that of cron has the address too.
 */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>

enum { SHOP_EVENTS = 6, CRON_EVENTS = 4 };

struct profcol_batch *shop_batch_create(void);

/* Attribute lists of rows. */
uint32_t resource_list(const struct profcol_batch *batch, uint32_t row);
uint32_t sample_list(const struct profcol_batch *batch, uint32_t row);
uint32_t location_list(const struct profcol_batch *batch, uint32_t id);
uint32_t mapping_list(const struct profcol_batch *batch, uint32_t id);

/* The value of @key in list @list; EMPTY when it is not there. */
struct profcol_value find_value(const struct profcol_batch *batch, uint32_t list, const char *key);

/* Fail unless it has that value: NULL = is not there. */
void expect_text(const struct profcol_batch *batch, uint32_t list, const char *key,
		 const char *text);
void expect_int(const struct profcol_batch *batch, uint32_t list, const char *key, int64_t value);

/* The id of the function, the mapping, of that name. Fails without. */
uint32_t find_mapping(const struct profcol_batch *batch, const char *filename);

/* Does @text occur in an OTLP encoding of @batch, in its pprof, uncompressed, or in a table of what
 * other exporters get to see? */
bool is_anywhere(const struct profcol_batch *batch, const char *text);
