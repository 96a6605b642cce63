/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of watch.h: whose ends of code are told (code_ends.h), and what is done when that fails. By the
 * one thread of the watch, without the lock of the table unless it says otherwise.
 */
#pragma once

#include "watch.h"

/* What has been told, to `ended`, by time; where some was lost, its processes are crowded. The lock
 * is held. */
void watch_collect_ends(struct watch *watch);

/* From now on the ends of code of @pid are told, if this kernel can tell of them at little cost;
 * what it has given up by now is known. */
void watch_follow_ends(struct watch *watch, uint32_t pid);

/* Those that have ended, or are another program, are not followed any more. */
void watch_leave_ends(struct watch *watch);

/* When it is time, look again at those that could not be followed. */
void watch_follow_again(struct watch *watch);
