/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source and the store together: what the source tells goes into the store, what fails into the
 * log and the status. Private.
 */
#pragma once

#include "config.h"
#include "rules.h"
#include "store.h"

#include <profcol/component.h>

struct learning;

/* Whether there is anything to ask with; no connection is made. @rules as below. */
void learning_diagnose(const struct k8s_attributes_config *config, const struct rules *rules,
		       struct profcol_findings *findings);

/* All are borrowed until destroy. */
PROFCOL_MUST_CHECK struct profcol_error *
learning_create(const struct profcol_host *host, const struct k8s_attributes_config *config,
		const struct rules *rules, struct store *store, struct learning **ret);
void learning_destroy(struct learning *learning); /* accepts NULL */

/* Waits for the first lists, if the configuration says so. */
PROFCOL_MUST_CHECK struct profcol_error *learning_start(struct learning *learning);
void learning_stop(struct learning *learning);

/* Are all lists complete for the first time? Any thread. */
bool learning_is_synced(const struct learning *learning);

/* The same of the lists of pods alone. */
bool learning_has_pods(const struct learning *learning);

/* Brings the metrics up to date, once a second at most. Any thread. */
void learning_refresh(struct learning *learning);
