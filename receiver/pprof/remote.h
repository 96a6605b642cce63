/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread for each profile of each server asks for what it shows at /debug/pprof: a server that
 * is slow holds no other up.
 */
#pragma once

#include "config.h"
#include "intake.h"

struct remote;

/* Starts the threads. Both are borrowed until destroy. CONFIG when a TLS file is unusable. */
PROFCOL_MUST_CHECK struct profcol_error *remote_create(const struct pprof_remote_config *config,
						       struct intake *intake, struct remote **ret);

/* Cuts requests off, and ends the threads. Accepts NULL. */
void remote_destroy(struct remote *remote);
