/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipelines of one configuration as instances and edges. A receiver or an exporter has
 * one instance, shared by the pipelines that name it; a processor has one in each
 * pipeline. An extension has one too, and stands beside the pipelines: it is there before
 * and after everything else.
 *
 *   receiver -> first processor -> ... -> last processor -> each exporter
 *
 * A layout may be made from the one before it: what is configured as it was is the same
 * instance in both. Main thread; others read the one that runs, under graph_lock.
 */
#pragma once

#include "instance.h"

/* A configuration that instances borrow from. */
struct generation {
	const struct config *config;
	struct config *owned; /* the same, or NULL: then it is borrowed */
	size_t users;         /* instances */
};

struct layout_pipeline {
	const char *id;              /* the configuration's */
	struct instance **receivers; /* borrowed from the entries, as the next two */
	size_t receiver_count;
	struct instance **processors; /* in the order of the data */
	size_t processor_count;
	struct instance **exporters;
	size_t exporter_count;
};

struct layout_entry {
	struct instance *instance;
	bool kept; /* from the layout before, as it is */
	/* Of the layout before: the one with this id that it takes the place of; or NULL. */
	struct instance *replaces;
	/* Owned: where the instance is to lead from now on; NULL = as it does. Before
	 * layout_connect: room for that. */
	struct edges_targets *targets;
};

struct layout {
	struct generation *generation; /* borrowed */
	/* In the order of start: extensions, exporters, processors from the back, receivers. */
	VECTOR(struct layout_entry) entries;
	struct layout_pipeline *pipelines; /* in the order of the file */
	size_t pipeline_count;
	struct instance **extensions; /* borrowed; in the order of service.extensions */
	size_t extension_count;
	struct arena *memory; /* of the arrays */
};

/*
 * What the service of @generation's configuration names: instances of @previous (may be NULL)
 * that are configured alike and are well, and new ones for all else. Each of these is given
 * @settings with the extensions among them. Nothing of @previous is touched.
 */
PROFCOL_MUST_CHECK struct profcol_error *layout_create(struct generation *generation,
						       const struct instance_settings *settings,
						       const struct layout *previous,
						       struct layout **ret);

/* Connect the new instances, and note in `targets` where the kept ones are to lead. Once. */
void layout_connect(struct layout *layout);

/* The layout has failed: with the instances that are its own. Accepts NULL. */
void layout_abandon(struct layout *layout);
/* The layout is over: its instances are others' by now. Accepts NULL. */
void layout_destroy(struct layout *layout);

/* NULL when @instance is not in it. */
struct layout_entry *layout_find(const struct layout *layout, const struct instance *instance);

/* Put @instance, which is of the layout before, in the place of a new one, and destroy that. Before
 * layout_connect. */
void layout_keep(struct layout *layout, struct layout_entry *entry, struct instance *instance);

/* Destroys @instance, which nobody leads to any more. */
void layout_destroy_instance(struct instance *instance);
