// SPDX-License-Identifier: Apache-2.0
#include "gates.h"

#include "problems.h"

#include "base/base.h"

#include <string.h>

enum { GATES_MAX = 64, WORD_SHOWN_MAX = 100 };

#define NO_OTTL           "conditions do not have it"
#define NO_SUCH_PROCESSOR "there is no such processor"
#define NO_SUCH_SIGNAL    "there are profiles only"

/* Those of the core, and of the contrib components beside its eBPF profiler or in gateways. */
const struct gate gates[] = {
	{ "confmap.enableMergeAppendOption", "Alpha", false,
	  "lists of components of several sources are appended, not replaced",
	  "a later list replaces an earlier one" },
	{ "exporter.file.nativeCompression", "Alpha", false,
	  "the file exporter compresses whole files", "there is no such exporter" },
	{ "extension.healthcheck.useComponentStatus", "Alpha", true,
	  "health_check tells how each component is", "it always does" },
	{ "filter.filterlog.useOTTLBridge", "Alpha", false,
	  "conditions on logs are evaluated as OTTL", NO_SUCH_SIGNAL },
	{ "filter.filtermetric.useOTTLBridge", "Alpha", false,
	  "conditions on metrics are evaluated as OTTL", NO_SUCH_SIGNAL },
	{ "filter.filterspan.useOTTLBridge", "Alpha", false,
	  "conditions on spans are evaluated as OTTL", NO_SUCH_SIGNAL },
	{ "ottl.PanicDuplicateName", "Beta", true,
	  "two functions of OTTL with one name end the program", NO_OTTL },
	{ "ottl.contexts.enableOTelColContext", "Beta", true, "OTTL has paths otelcol.*", NO_OTTL },
	{ "ottl.functions.enableLambda", "Alpha", false, "functions of OTTL may take lambdas",
	  NO_OTTL },
	{ "ottl.set.allowNil", "Alpha", false, "set of OTTL hands nil to its target", NO_OTTL },
	{ "pdata.useProtoPooling", "Alpha", false, "memory of batches is used again",
	  "memory is managed otherwise" },
	{ "pkg.exporterhelper.queueBatchEnabled", "Alpha", false,
	  "sending_queue::batch is on by default", "write 'batch: {}' into sending_queue" },
	{ "processor.filter.defaultErrorModeIgnore", "Stable", true,
	  "error_mode of filter is ignore by default", "it always is" },
	{ "processor.k8sattributes.DontEmitV0K8sConventions", "Alpha", false,
	  "k8sattributes leaves out attributes of the old conventions", NO_SUCH_PROCESSOR },
	{ "processor.k8sattributes.EmitV1K8sConventions", "Alpha", false,
	  "k8sattributes adds attributes of the stable conventions", NO_SUCH_PROCESSOR },
	{ "processor.k8sattributes.ShareProcessorBetweenPipelines", "Alpha", false,
	  "pipelines share k8sattributes that are configured alike", NO_SUCH_PROCESSOR },
	{ "processor.k8sattributes.telemetry.disableOldFormatMetrics", "Alpha", false,
	  "k8sattributes leaves out metrics with old names", NO_SUCH_PROCESSOR },
	{ "processor.k8sattributes.telemetry.enableNewFormatMetrics", "Alpha", false,
	  "k8sattributes has metrics with new names", NO_SUCH_PROCESSOR },
	{ "processor.resourcedetection.consul.prefixMetaAttributes", "Alpha", false,
	  "metadata of Consul becomes attributes consul.meta.*", NO_SUCH_PROCESSOR },
	{ "processor.resourcedetection.elasticbeanstalk.DontEmitV0DeploymentConventions", "Alpha",
	  false, "the detector leaves out attributes of the old conventions", NO_SUCH_PROCESSOR },
	{ "processor.resourcedetection.elasticbeanstalk.EmitV1DeploymentConventions", "Alpha",
	  false, "the detector adds attributes of the stable conventions", NO_SUCH_PROCESSOR },
	{ "processor.resourcedetection.propagateerrors", "Beta", true,
	  "a failing detector is an error", NO_SUCH_PROCESSOR },
	{ "processor.transform.defaultErrorModeIgnore", "Stable", true,
	  "error_mode of transform is ignore by default", NO_SUCH_PROCESSOR },
	{ "receiverhelper.newReceiverMetrics", "Alpha", true,
	  "metrics tell what was refused downstream from what failed in the receiver",
	  "they always do" },
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
	{ "transform.flatten.logs", "Alpha", false,
	  "transform gives every log record a resource of its own", NO_SUCH_PROCESSOR },
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
