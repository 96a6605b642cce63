/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread looks for files that a pattern names. Each is read once it has been left alone for a
 * second, and again when it has changed.
 */
#pragma once

#include "config.h"
#include "intake.h"

struct inbox;

/* Starts the thread. Both are borrowed until destroy. */
PROFCOL_MUST_CHECK struct profcol_error *inbox_create(const struct pprof_file_config *config,
						      struct intake *intake, struct inbox **ret);

/* Ends the thread after the file that it is at. Accepts NULL. */
void inbox_destroy(struct inbox *inbox);
