/* SPDX-License-Identifier: Apache-2.0 */
/* The host's services to a component, as <profcol/component.h> describes them. */
#pragma once

#include "instance.h"

/* Fill in @instance's `host`. Its configuration, its logger and its id are set. */
void services_init(struct instance *instance, const struct instance_settings *settings);
