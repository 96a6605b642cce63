/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of watch.h: whose the processes are that fork and have not been read yet, since nobody has
 * sampled them. What they fork counts for the same owner. By the one thread of the watch, without
 * the lock of the table.
 */
#pragma once

#include "watch.h"

void watch_read_owners(struct watch *watch);
