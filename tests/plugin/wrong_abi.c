// SPDX-License-Identifier: Apache-2.0
/* Built for a later ABI. */
#include "refused.h"

#undef PROFCOL_ABI
#define PROFCOL_ABI 99

PROFCOL_PLUGIN(&component);
