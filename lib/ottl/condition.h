/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions and statements share while they are made. */
#pragma once

#include "tree.h"

/* Arena and text of @condition, which is zero. On error, what is there is the caller's to close. */
PROFCOL_MUST_CHECK struct profcol_error *condition_open(struct ottl_condition *condition,
							const char *text);

/* Give up all that @condition owns, but not itself. */
void condition_close(struct ottl_condition *condition);
