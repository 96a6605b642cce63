/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled while the kernel side did not know yet that a process had other code.
 *
 * Stacks are walked by what user space last told the kernel side of a process. Until it has heard
 * of a library that was unloaded and of another one in its place, frames there are taken for those
 * of the first. The times of mappings say which samples these are: their stacks are cut at the
 * first frame that is of code the process no longer had. And frames that are addresses are told
 * apart by what lay there at the time of each sample.
 *
 * Threads: that of the capture.
 */
#pragma once

#include "capture.h"

/* Of what ended this long before a sample, it may still have frames: what `processes` knows of that
 * must not be forgotten before. */
static const uint64_t OUTDATED_KEEP_NS = 1000000000;

/* Mend the stacks of @capture; without memory some stay as they are. */
void outdated_mend(struct capture *capture, struct processes *processes);
