/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the OpenTelemetry eBPF profiler that are accepted, so that its
 * configurations load, and not acted on. Any thread.
 */
#pragma once

#include "config.h"

#include <profcol/component.h>

/* One line for each that is set to something else than its default: what it changes here. A
 * warning when the profiles will lack, or hold, what was asked otherwise. */
void unheeded_log(const struct unheeded_config *config, const struct profcol_logger *logger);

/* A finding for each that would be a warning. */
void unheeded_diagnose(const struct unheeded_config *config, struct profcol_findings *findings);
