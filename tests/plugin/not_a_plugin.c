// SPDX-License-Identifier: Apache-2.0
/* A shared object without PROFCOL_PLUGIN(). */
#include "refused.h"

const struct profcol_component *not_a_plugin(void);

const struct profcol_component *not_a_plugin(void)
{
	return &component;
}
