// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include <sys/socket.h>

struct profcol_error *listener_init(struct listener *listener, const char *text, int transport)
{
	*listener = (struct listener){ .text = text, .transport = transport };
	return endpoint_init_listening(&listener->endpoint, text, transport == NET_UNIX);
}

struct sockets_place listener_place(const struct listener *listener)
{
	static const int families[] = {
		[NET_TCP] = AF_UNSPEC,
		[NET_TCP4] = AF_INET,
		[NET_TCP6] = AF_INET6,
		[NET_UNIX] = AF_UNIX,
	};

	return (struct sockets_place){
		.text = listener->text,
		.path = listener->endpoint.path,
		.host = listener->endpoint.host,
		.port = listener->endpoint.port,
		.family = families[listener->transport],
	};
}

void listener_deinit(struct listener *listener)
{
	sockets_deinit(&listener->sockets);
	endpoint_deinit(&listener->endpoint);
}
