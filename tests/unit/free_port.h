/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A port of 127.0.0.1 at which nobody listens. It lies below those that the kernel gives out, so no
 * client of another test gets it meanwhile.
 */
static inline uint16_t free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static int next;

	do
		address.sin_port = htons((uint16_t)(10000 + (getpid() * 32 + next++) % 20000));
	while (bind(fd, (const struct sockaddr *)&address, sizeof(address)));
	return ntohs(address.sin_port);
}
