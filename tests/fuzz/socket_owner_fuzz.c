// SPDX-License-Identifier: Apache-2.0
/* A table of connections as /proc/PID/net/tcp shows it is read within its bounds, and the same each
 * time. */
#include "receiver/pprof/socket_owner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t parse(const uint8_t *bytes, size_t size, bool six)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(0xc351) };
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(0x1f90) };
	struct sockaddr_storage ends[2] = { 0 };
	char *text = malloc(size + 1);
	uint64_t inode;

	if (!text)
		abort();
	own.sin_addr.s_addr = htonl(0x0a000002);
	peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(&ends[0], &own, sizeof(own));
	memcpy(&ends[1], &peer, sizeof(peer));
	memcpy(text, bytes, size);
	text[size] = '\0';
	inode = socket_owner_parse(text, six, &ends[0], &ends[1]);
	free(text);
	return inode;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	for (int six = 0; six < 2; six++)
		if (parse(bytes, size, six) != parse(bytes, size, six))
			abort();
	return 0;
}
