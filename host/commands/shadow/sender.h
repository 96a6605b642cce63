/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends to an address of ours: the processes at the other ends of its TCP connections. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The number behind the last ':' of @address; 0 when there is none. */
uint16_t sender_port(const char *address);

/*
 * Up to @max processes of this machine that are connected to sockets of ours at @port. None is
 * found that sends from another network namespace, or from another machine.
 */
size_t sender_find(uint16_t port, pid_t *pids, size_t max);
