/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a process is (origin.h), so that nobody's processes cost others anything. */
#pragma once

#include "origin.h"

/*
 * The user of the process whose directory in /proc is open as @process; OWNER_UNKNOWN.uid when it
 * cannot be found out. Never waits for the process. Any thread.
 */
uint32_t owner_uid(int process);

/* As owner.container. */
uint64_t owner_container(const char *id);
