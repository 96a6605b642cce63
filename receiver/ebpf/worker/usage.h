/* SPDX-License-Identifier: Apache-2.0 */
/* What one process uses, read from outside; worker_read_memory() is here, too. Any thread. */
#pragma once

#include "worker.h"

/* Add what process @pid uses to *@use; nothing when it has ended. */
void worker_usage_add(pid_t pid, struct worker_use *use);
