/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of another process as a file. The kernel checks the right to it when it is opened, so
 * that whoever gets the descriptor needs none; to open it may wait for locks that the process
 * holds, so timed_calls.h does it. Any thread.
 */
#pragma once

#include "timed_calls.h"

#include <stdint.h>

/*
 * A descriptor for reading the memory that process @pid of @owner has now, which stays that of this
 * program, also after an exec; the caller's to close. It takes CAP_SYS_PTRACE. -ETIMEDOUT after
 * @limit_ns or while an earlier call for the process still waits, or another negative errno.
 */
int memory_open(struct timed_calls *calls, uint32_t pid, struct owner owner, uint64_t limit_ns);
