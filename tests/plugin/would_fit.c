// SPDX-License-Identifier: Apache-2.0
/* Nothing is wrong with the code: what is refused comes from how it is linked. */
#include "refused.h"

PROFCOL_PLUGIN(&component);
