/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `verbosity: detailed`: the dictionary's tables, then the tree of resources,
 * scopes, profiles and samples, in the layout of the Collector's debug exporter
 * (0.159). Lines that the Collector does not have, because it leaves that part of
 * the data out: stacks, sample and period type, timestamps, links. Pure; any thread.
 */
#pragma once

struct profcol_batch;
struct text;

void detailed_print(struct text *text, const struct profcol_batch *batch);
