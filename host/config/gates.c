// SPDX-License-Identifier: Apache-2.0
#include "gates.h"

#include "problems.h"

#include "base/base.h"

#include <string.h>

enum { GATES_MAX = 64, WORD_SHOWN_MAX = 100 };

const struct gate gates[] = {
	{ "confmap.enableMergeAppendOption", "Alpha", false,
	  "lists of components of several sources are appended, not replaced",
	  "a later list replaces an earlier one" },
	{ "exporter.file.nativeCompression", "Alpha", false,
	  "the file exporter compresses whole files", "there is no such exporter" },
	{ "extension.healthcheck.useComponentStatus", "Alpha", true,
	  "health_check tells how each component is", "it always does" },
	{ "pdata.useProtoPooling", "Alpha", false, "memory of batches is used again",
	  "memory is managed otherwise" },
	{ "pkg.exporterhelper.queueBatchEnabled", "Alpha", false,
	  "sending_queue::batch is on by default", "write 'batch: {}' into sending_queue" },
	{ "processor.resourcedetection.propagateerrors", "Beta", true,
	  "a failing detector is an error", "there is no such processor" },
	{ "processor.transform.defaultErrorModeIgnore", "Beta", true,
	  "error_mode of transform is ignore by default", "there is no such processor" },
	{ "service.AllowNoPipelines", "Alpha", false, "a configuration needs no pipeline",
	  "at least one pipeline is needed" },
	{ "service.partialReload", "Alpha", false, "a reload restarts what has changed, not all",
	  "a reload always does so" },
	{ "service.partialReloadReceivers", "Beta", true,
	  "a reload restarts receivers only when nothing else has changed",
	  "a reload restarts what has changed" },
	{ "service.profilesSupport", "Alpha", true, "pipelines may carry profiles", NULL },
	{ "telemetry.newPipelineTelemetry", "Alpha", false,
	  "metrics of pipelines have the component as scope", "metrics have it as a label" },
};

const size_t gate_count = sizeof(gates) / sizeof(gates[0]);

_Static_assert(sizeof(gates) / sizeof(gates[0]) <= GATES_MAX, "raise GATES_MAX");

const struct gate *gates_find(const char *id)
{
	for (size_t i = 0; i < gate_count; i++)
		if (!strcmp(gates[i].id, id))
			return &gates[i];
	return NULL;
}

static void report_unknown(struct problems *problems, struct place place, const char *id)
{
	const char *ids[GATES_MAX], *nearest;

	for (size_t i = 0; i < gate_count; i++)
		ids[i] = gates[i].id;
	nearest = strings_nearest(id, ids, gate_count);
	if (nearest)
		problems_add(problems, place, NULL,
			     "no such feature gate \"%.*s\"; did you mean '%s'?", WORD_SHOWN_MAX,
			     id, nearest);
	else
		problems_add(problems, place, NULL,
			     "no such feature gate \"%.*s\"; 'profcol featuregate' lists them",
			     WORD_SHOWN_MAX, id);
}

static void check_word(struct problems *problems, struct place place, const char *word)
{
	bool enabled = *word != '-';
	const char *id = word + (*word == '-' || *word == '+');
	const struct gate *gate;

	if (!*id) {
		problems_add(problems, place, NULL,
			     "empty feature gate identifier; write --feature-gates=+ID,-ID");
		return;
	}
	gate = gates_find(id);
	if (!gate)
		report_unknown(problems, place, id);
	else if (!gate->instead && !enabled)
		problems_add(problems, place, NULL,
			     "feature gate \"%s\" is stable, can not be disabled: profcol carries "
			     "profiles only; remove -%s",
			     id, id);
	else if (gate->instead && enabled != gate->enabled)
		problems_warn(problems, place, NULL, "feature gate \"%s\" has no effect: %s", id,
			      gate->instead);
}

void gates_check(struct problems *problems, const char *const *words, size_t count)
{
	struct place place = {};

	if (count)
		place.source = problems_add_source(problems, "--feature-gates");
	for (size_t i = 0; i < count; i++)
		check_word(problems, place, words[i]);
}
