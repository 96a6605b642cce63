/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pod and container a resource of a batch is of, and what it gets from them. One thread; the
 * store is locked meanwhile. Private.
 */
#pragma once

#include "association.h"
#include "misses.h"
#include "rules.h"
#include "store.h"

#include "base/base.h"

#include <profcol/batch.h>

/* Ids in the batch that is being built. */
struct addition {
	uint32_t key, attribute;
};

/* What a pod's container adds: rows of the additions. */
struct known_container {
	const struct stored_pod *pod;
	const struct stored_container *container; /* NULL = it is not known which */
	const struct stored_run *run;
	uint32_t begin, end;
};

/* One batch; zeroed but for the borrowed members. */
struct attributing {
	const struct rules *rules;
	const struct association *association;
	const struct store *store;
	bool passthrough, synced;
	const struct profcol_batch *batch;
	struct profcol_builder *builder;
	struct misses_batch misses;
	VECTOR(struct addition) additions;
	VECTOR(struct known_container) known;
	struct intern known_index;
	VECTOR(uint32_t) list; /* scratch */
	bool no_memory, changed;
};

void attributing_deinit(struct attributing *attributing);

/* Resource @row of the batch, in the builder. */
void attributing_edit(struct attributing *attributing, uint32_t row);

/* @id without `containerd://` or the like. */
struct profcol_text attribution_container_id(struct profcol_text id);
