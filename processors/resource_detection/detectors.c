// SPDX-License-Identifier: Apache-2.0
#include "detectors.h"

#include "ottl/ottl.h"

#include <string.h>

#define SWITCHES(section) offsetof(struct resource_detection_config, section.resource_attributes)

static const struct detector detectors[] = {
	{ "env", detect_env, 0 },
	{ "system", detect_system, SWITCHES(system) },
	{ "k8s_api", detect_k8s_api, SWITCHES(k8s_api) },
	{ "k8snode", detect_k8s_api, SWITCHES(k8snode) },
	{ "ec2", detect_ec2, SWITCHES(ec2) },
	{ "eks", detect_eks, SWITCHES(eks) },
	{ "gcp", detect_gcp, SWITCHES(gcp) },
	{ "azure", detect_azure, SWITCHES(azure) },
	{ "aks", detect_aks, SWITCHES(aks) },
};

const struct detector *detectors_find(const char *name)
{
	for (size_t i = 0; i < sizeof(detectors) / sizeof(detectors[0]); i++)
		if (!strcmp(detectors[i].name, name))
			return &detectors[i];
	return NULL;
}

bool detectors_match(const struct profcol_list *patterns, const char *text)
{
	bool found = false;

	for (size_t i = 0; i < patterns->count && !found; i++) {
		const char *item = patterns->items[i];
		struct ottl_pattern *pattern = NULL;
		struct profcol_error *error = ottl_pattern_create(item, strlen(item), &pattern);

		profcol_error_destroy(error);
		found = pattern &&
			ottl_pattern_match(pattern, text, strlen(text), NULL) == OTTL_TRUE;
		ottl_pattern_destroy(pattern);
	}
	return found;
}
