/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said of the frames of one process: which language runtimes are in it, of which
 * version, and whether their functions will have names. Its files and its memory are read by a
 * worker.
 */
#pragma once

#include "config.h"

#include <profcol/component.h>

/* profcol_component.diagnose_process; from a thread that may fork. */
void profiling_diagnose_process(const void *config, uint32_t pid,
				struct profcol_findings *findings);
