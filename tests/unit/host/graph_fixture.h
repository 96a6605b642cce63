/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of whole graphs share: quiet instances, one journal, and what to expect. */
#pragma once

#include "host/lifecycle/lifecycle.h"

#include "fake_components.h"

extern const struct instance_settings quiet;
extern const struct lifecycle_patience patience;
extern struct fake_journal journal;

/* Set-up of a test: nothing in the journal yet. */
int fresh_journal(void **state);

/* Fails the test when it cannot be built. */
struct graph *build(const struct config *config);

void expect_success(struct profcol_error *error);
/* Takes @error. */
void expect_error(struct profcol_error *error, enum profcol_code code, const char *message);

/* Shut @graph down and destroy it. */
void end(struct graph *graph);
