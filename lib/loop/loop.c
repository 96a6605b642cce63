// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

struct event_base *loop_create(int flags)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (!config)
		return NULL;
	// Nobody's EVENT_NOEPOLL.
	if (!event_config_set_flag(config, flags | EVENT_BASE_FLAG_IGNORE_ENV))
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

void loop_destroy(struct event_base *base)
{
	if (!base)
		return;
	// A callback that is due yet refers to its stream, which would never be let go of: that of
	// TLS has one each time it has written (consider_writing() in bufferevent_openssl.c).
	while (event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) &&
	       !event_base_loop(base, EVLOOP_NONBLOCK))
		;
	event_base_free(base);
}
