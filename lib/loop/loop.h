/* SPDX-License-Identifier: Apache-2.0 */
/* lib/loop: libevent's loop, as we want it. The one header that other folders include. */
#pragma once

#include <event2/event.h>

/*
 * A loop with @flags, of enum event_base_config_flag; no environment variable decides how it waits.
 * The caller's, to event_base_free(). NULL: without memory or descriptors.
 */
struct event_base *loop_create(int flags);
