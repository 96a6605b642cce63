/* SPDX-License-Identifier: Apache-2.0 */
/* From an instance to rows of metrics. The instance is the caller's to keep alive. */
#pragma once

#include "exposition.h"

#include "config/config.h"

struct instance;

/* What there is at @level, which is not NONE: docs/telemetry.md has the list. */
void collect_instance(struct exposition *exposition, enum config_metrics_level level,
		      struct instance *instance);
