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
