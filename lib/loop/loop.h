/* SPDX-License-Identifier: Apache-2.0 */
/* lib/loop: libevent's loop, as we want it. The one header that other folders include. */
#pragma once

#include <event2/event.h>

/*
 * A loop with @flags, of enum event_base_config_flag; no environment variable decides how it waits.
 * The caller's, to loop_destroy(). NULL: without memory or descriptors.
 */
struct event_base *loop_create(int flags);

/* Accepts NULL. All events and streams have been freed, and no other thread is in the loop. */
void loop_destroy(struct event_base *base);
