/* SPDX-License-Identifier: Apache-2.0 */
/* `verbosity: normal`: a line for each resource, scope and profile. Pure; any thread. */
#pragma once

struct profcol_batch;
struct text;

void normal_print(struct text *text, const struct profcol_batch *batch);
