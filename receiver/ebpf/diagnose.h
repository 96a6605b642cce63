/* SPDX-License-Identifier: Apache-2.0 */
/* What `profcol doctor` asks of the profiler. */
#pragma once

#include <profcol/component.h>

/*
 * As profcol_component.diagnose. Where the requirements are met, the programs are loaded and
 * attached to every CPU for a moment: only the kernel can tell whether it lets them in.
 */
void profiling_diagnose(const void *config, struct profcol_findings *findings);
