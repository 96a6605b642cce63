/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run may do beyond an ordinary user: docs/security.md has the table.
 */
#pragma once

#include <profcol/errors.h>

/*
 * Give up, for good, every capability that no part of a run has a use for, and all ways to get one
 * by executing something (no_new_privs). What is left is less than was held, never more. Main
 * thread, before any other thread exists: each thread has capabilities of its own.
 */
PROFCOL_MUST_CHECK struct profcol_error *privileges_reduce(void);
