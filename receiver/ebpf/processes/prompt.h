/* SPDX-License-Identifier: Apache-2.0 */
/* Has the calling thread run as soon as it wakes, for what is lost while it waits for a CPU. */
#pragma once

/*
 * Asks for the shortest slices of time there are; needs no privilege and takes nothing from others.
 * Kernels from 6.12 on let such a thread run when it wakes; older ones pass over the wish.
 */
void prompt_thread(void);
