/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options as the receiver's parts hold on to them: a copy, since the host takes its own away
 * when new ones are taken over while the parts run. Immutable once made; any thread.
 *
 * The copy is flat but for the lists that settings.c names: an option with a pointer in it that a
 * part is to hold on to has to be copied there as well.
 */
#pragma once

#include "config.h"

#include "base/base.h"

struct settings {
	struct profiling_config config; /* all that has an effect */
	struct arena *memory;           /* owned: what is in it */
};

struct settings *settings_create(const struct profiling_config *config); /* NULL without memory */
void settings_destroy(struct settings *settings);                        /* accepts NULL */

/* Do they differ in what can change while the receiver runs, if in anything? */
bool settings_can_change(const struct profiling_config *from, const struct profiling_config *to);
