// SPDX-License-Identifier: Apache-2.0
/* Shares private code with another build of profcol. */
#include "refused.h"

#undef PROFCOL_PLUGIN_BUILD
#define PROFCOL_PLUGIN_BUILD "0123456789abcdef0123456789abcdef"

PROFCOL_PLUGIN(&component);
