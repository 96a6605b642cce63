// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "detectors.h"

#include "ottl/ottl.h"

#include <stdio.h>
#include <string.h>

static const struct profcol_option on_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct attribute_switch, enabled, "true", "add it"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option off_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct attribute_switch, enabled, "false", "add it"),
	PROFCOL_OPTION_END,
};

#define ON(key, attribute, doc)                                                                    \
	PROFCOL_OPTION_NESTED(key, struct attribute_switches, of[attribute], on_options, doc)
#define OFF(key, attribute, doc)                                                                   \
	PROFCOL_OPTION_NESTED(key, struct attribute_switches, of[attribute], off_options, doc)

static const struct profcol_option system_attributes[] = {
	OFF("host.arch", HOST_ARCH, "amd64 or arm64"),
	OFF("host.cpu.cache.l2.size", HOST_CPU_CACHE_L2_SIZE, "of the first CPU, KiB"),
	OFF("host.cpu.family", HOST_CPU_FAMILY, "of the first CPU"),
	OFF("host.cpu.model.id", HOST_CPU_MODEL_ID, "of the first CPU"),
	OFF("host.cpu.model.name", HOST_CPU_MODEL_NAME, "of the first CPU"),
	OFF("host.cpu.stepping", HOST_CPU_STEPPING, "of the first CPU"),
	OFF("host.cpu.vendor.id", HOST_CPU_VENDOR_ID, "of the first CPU"),
	OFF("host.id", HOST_ID, "/etc/machine-id"),
	OFF("host.interface", HOST_INTERFACE, "names of network interfaces, loopback left out"),
	OFF("host.ip", HOST_IP, "addresses, loopback left out"),
	OFF("host.mac", HOST_MAC, "hardware addresses"),
	ON("host.name", HOST_NAME, "from hostname_sources"),
	OFF("os.build.id", OS_BUILD_ID, "of /etc/os-release, else the kernel's release"),
	OFF("os.description", OS_DESCRIPTION, "distribution and kernel"),
	OFF("os.name", OS_NAME, "of /etc/os-release"),
	ON("os.type", OS_TYPE, "linux"),
	OFF("os.version", OS_VERSION, "of /etc/os-release"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option k8s_api_attributes[] = {
	ON("k8s.cluster.uid", K8S_CLUSTER_UID, "uid of the namespace kube-system"),
	ON("k8s.node.name", K8S_NODE_NAME, "as the API server has it"),
	ON("k8s.node.uid", K8S_NODE_UID, "as the API server has it"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option ec2_attributes[] = {
	ON("cloud.account.id", CLOUD_ACCOUNT_ID, "the account"),
	ON("cloud.availability_zone", CLOUD_AVAILABILITY_ZONE, "us-west-2a"),
	ON("cloud.platform", CLOUD_PLATFORM, "aws_ec2"),
	ON("cloud.provider", CLOUD_PROVIDER, "aws"),
	ON("cloud.region", CLOUD_REGION, "us-west-2"),
	ON("host.id", HOST_ID, "id of the instance"),
	ON("host.image.id", HOST_IMAGE_ID, "id of its image"),
	ON("host.name", HOST_NAME, "name of the instance"),
	ON("host.type", HOST_TYPE, "t3.medium"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option eks_attributes[] = {
	OFF("cloud.account.id", CLOUD_ACCOUNT_ID, "the account"),
	OFF("cloud.availability_zone", CLOUD_AVAILABILITY_ZONE, "us-west-2a"),
	ON("cloud.platform", CLOUD_PLATFORM, "aws_eks"),
	ON("cloud.provider", CLOUD_PROVIDER, "aws"),
	OFF("cloud.region", CLOUD_REGION, "us-west-2"),
	OFF("host.id", HOST_ID, "id of the instance"),
	OFF("host.image.id", HOST_IMAGE_ID, "id of its image"),
	OFF("host.name", HOST_NAME, "name of the instance"),
	OFF("host.type", HOST_TYPE, "t3.medium"),
	OFF("k8s.cluster.name", K8S_CLUSTER_NAME,
	    "from tags of the instance, where its metadata has them"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option gcp_attributes[] = {
	ON("cloud.account.id", CLOUD_ACCOUNT_ID, "the project"),
	ON("cloud.availability_zone", CLOUD_AVAILABILITY_ZONE, "us-central1-a"),
	ON("cloud.platform", CLOUD_PLATFORM, "gcp_compute_engine, gcp_kubernetes_engine"),
	ON("cloud.provider", CLOUD_PROVIDER, "gcp"),
	ON("cloud.region", CLOUD_REGION, "us-central1"),
	ON("faas.instance", FAAS_INSTANCE, "no effect: not where eBPF is"),
	ON("faas.name", FAAS_NAME, "no effect: not where eBPF is"),
	ON("faas.version", FAAS_VERSION, "no effect: not where eBPF is"),
	ON("gcp.cloud_run.job.execution", GCP_CLOUD_RUN_JOB_EXECUTION,
	   "no effect: not where eBPF is"),
	ON("gcp.cloud_run.job.task_index", GCP_CLOUD_RUN_JOB_TASK_INDEX,
	   "no effect: not where eBPF is"),
	OFF("gcp.gce.instance.hostname", GCP_GCE_INSTANCE_HOSTNAME, "its whole name"),
	OFF("gcp.gce.instance.name", GCP_GCE_INSTANCE_NAME, "its name"),
	ON("gcp.gce.instance_group_manager.name", GCP_GCE_INSTANCE_GROUP_MANAGER_NAME,
	   "who has made the instance"),
	ON("gcp.gce.instance_group_manager.region", GCP_GCE_INSTANCE_GROUP_MANAGER_REGION,
	   "where that is, if in a region"),
	ON("gcp.gce.instance_group_manager.zone", GCP_GCE_INSTANCE_GROUP_MANAGER_ZONE,
	   "where that is, if in a zone"),
	ON("host.id", HOST_ID, "id of the instance"),
	ON("host.name", HOST_NAME, "name of the instance"),
	ON("host.type", HOST_TYPE, "projects/1/machineTypes/n1-standard-1"),
	ON("k8s.cluster.name", K8S_CLUSTER_NAME, "of GKE"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option azure_attributes[] = {
	ON("azure.resourcegroup.name", AZURE_RESOURCEGROUP_NAME, "of the machine"),
	ON("azure.vm.name", AZURE_VM_NAME, "of the machine"),
	ON("azure.vm.scaleset.name", AZURE_VM_SCALESET_NAME, "of the machine"),
	ON("azure.vm.size", AZURE_VM_SIZE, "Standard_D2s_v3"),
	ON("cloud.account.id", CLOUD_ACCOUNT_ID, "the subscription"),
	OFF("cloud.availability_zone", CLOUD_AVAILABILITY_ZONE, "1"),
	ON("cloud.platform", CLOUD_PLATFORM, "azure.vm"),
	ON("cloud.provider", CLOUD_PROVIDER, "azure"),
	ON("cloud.region", CLOUD_REGION, "westeurope"),
	ON("host.id", HOST_ID, "id of the machine"),
	ON("host.name", HOST_NAME, "its computer name, else its name"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option aks_attributes[] = {
	ON("cloud.platform", CLOUD_PLATFORM, "azure.aks"),
	ON("cloud.provider", CLOUD_PROVIDER, "azure"),
	OFF("k8s.cluster.name", K8S_CLUSTER_NAME, "from the name of the resource group"),
	PROFCOL_OPTION_END,
};

#define ATTRIBUTES_OF(config, table)                                                               \
	PROFCOL_OPTION_NESTED("resource_attributes", config, resource_attributes, table,           \
			      "which attributes it adds")

static const struct profcol_option system_options[] = {
	PROFCOL_OPTION_LIST("hostname_sources", struct system_config, hostname_sources, "[dns, os]",
			    "in this order: dns (whole name of this host), os (its name), cname, "
			    "lookup (name of its address)"),
	ATTRIBUTES_OF(struct system_config, system_attributes),
	PROFCOL_OPTION_END,
};

static const char *const kube_auth_names[] = {
	[KUBE_NONE] = "none",
	[KUBE_SERVICE_ACCOUNT] = "serviceAccount",
	[KUBE_CONFIG] = "kubeConfig",
	[KUBE_TLS] = "tls",
	NULL,
};

static const struct profcol_option k8s_api_options[] = {
	PROFCOL_OPTION_ENUM("auth_type", struct k8s_api_config, auth_type, "serviceAccount",
			    kube_auth_names,
			    "serviceAccount = the token of this pod; none = no token, and any "
			    "certificate; kubeConfig and tls are not supported"),
	PROFCOL_OPTION_STRING("context", struct k8s_api_config, context, NULL, "no effect"),
	PROFCOL_OPTION_DOUBLE("kube_api_qps", struct k8s_api_config, kube_api_qps, "0", 0, 1e9,
			      "no effect: there are two requests"),
	PROFCOL_OPTION_INT("kube_api_burst", struct k8s_api_config, kube_api_burst, "0", 0,
			   INT32_MAX, "no effect"),
	PROFCOL_OPTION_STRING("node_from_env_var", struct k8s_api_config, node_from_env_var,
			      "K8S_NODE_NAME", "environment variable with the name of this node"),
	ATTRIBUTES_OF(struct k8s_api_config, k8s_api_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option ec2_options[] = {
	PROFCOL_OPTION_LIST("tags", struct ec2_config, tags, NULL,
			    "regular expressions: tags whose name has a match become ec2.tag.NAME"),
	PROFCOL_OPTION_BOOL("tags_from_imds", struct ec2_config, tags_from_imds, "false",
			    "no effect: tags are always read from the instance's metadata"),
	PROFCOL_OPTION_INT("max_attempts", struct ec2_config, max_attempts, "3", 0, INT32_MAX,
			   "no effect: see retry"),
	PROFCOL_OPTION_DURATION("max_backoff", struct ec2_config, max_backoff_ns, "20s", 0, 0,
				"no effect: see retry"),
	PROFCOL_OPTION_BOOL("fail_on_missing_metadata", struct ec2_config, fail_on_missing_metadata,
			    "false", "as the key above, of this detector"),
	ATTRIBUTES_OF(struct ec2_config, ec2_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option eks_options[] = {
	PROFCOL_OPTION_STRING("node_from_env_var", struct eks_config, node_from_env_var, NULL,
			      "environment variable with the name of this node, to ask the API "
			      "server where the instance's metadata is out of reach"),
	ATTRIBUTES_OF(struct eks_config, eks_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option gcp_options[] = {
	PROFCOL_OPTION_LIST("labels", struct gcp_config, labels, NULL,
			    "not supported: they need an API with credentials"),
	ATTRIBUTES_OF(struct gcp_config, gcp_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option azure_options[] = {
	PROFCOL_OPTION_LIST("tags", struct azure_config, tags, NULL,
			    "regular expressions: tags whose name has a match become "
			    "azure.tag.NAME"),
	ATTRIBUTES_OF(struct azure_config, azure_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option aks_options[] = {
	ATTRIBUTES_OF(struct aks_config, aks_attributes),
	PROFCOL_OPTION_END,
};

static const struct profcol_option retry_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct retry_config, enabled, "true",
			    "try again what may succeed later"),
	PROFCOL_OPTION_DURATION("initial_interval", struct retry_config, initial_interval_ns, "1s",
				0, PROFCOL_HOUR,
				"wait before the second attempt; never less than 10ms"),
	PROFCOL_OPTION_DOUBLE("randomization_factor", struct retry_config, randomization_factor,
			      "0.5", 0, 1, "spread of each wait"),
	PROFCOL_OPTION_DOUBLE("multiplier", struct retry_config, multiplier, "2", 0, 1e6,
			      "by which the wait grows with each attempt"),
	PROFCOL_OPTION_DURATION("max_interval", struct retry_config, max_interval_ns, "30s", 0,
				PROFCOL_HOUR, "where the wait stops growing"),
	PROFCOL_OPTION_DURATION("max_elapsed_time", struct retry_config, max_elapsed_time_ns, "0s",
				0, 0,
				"give up after so much trying; 0 = timeout where "
				"fail_on_missing_metadata holds, else 5m"),
	PROFCOL_OPTION_END,
};

/* What is in a section with this table is not read. */
static const struct profcol_option unread_options[] = { PROFCOL_OPTION_END };

#define CONFIG      struct resource_detection_config
#define NO_EFFECT   "no effect: of a client that no detector here uses"
#define UNREAD(key) PROFCOL_OPTION_NESTED(key, CONFIG, client.section, unread_options, NO_EFFECT)
#define CLIENT_INT(key, field, fallback)                                                           \
	PROFCOL_OPTION_INT(key, CONFIG, client.field, fallback, 0, INT64_MAX, NO_EFFECT)
#define CLIENT_TIME(key, field, fallback)                                                          \
	PROFCOL_OPTION_DURATION(key, CONFIG, client.field, fallback, 0, 0, NO_EFFECT)
#define FOREIGN(key)                                                                               \
	PROFCOL_OPTION_NESTED(key, CONFIG, other, unread_options, "not supported: not acted on")

const struct profcol_option resource_detection_options[] = {
	PROFCOL_OPTION_LIST("detectors", CONFIG, detectors, "[env]",
			    "who looks: env, system, k8s_api (k8snode), ec2, eks, gcp, azure, aks; "
			    "of several that find the same attribute the first counts"),
	PROFCOL_OPTION_BOOL("override", CONFIG, override, "true",
			    "replace the values of attributes that a resource has already"),
	PROFCOL_OPTION_DURATION("timeout", CONFIG, timeout_ns, "5s", 0, 0,
				"for one attempt, and how long the start waits for the first one, "
				"which is 5s at most"),
	PROFCOL_OPTION_DURATION("refresh_interval", CONFIG, refresh_interval_ns, "0s", 0, 0,
				"look again this often; 0 = never"),
	PROFCOL_OPTION_BOOL("fail_on_missing_metadata", CONFIG, fail_on_missing_metadata, "false",
			    "do not start when a metadata service cannot be reached, in 30s at "
			    "most; else it is tried again meanwhile"),
	PROFCOL_OPTION_NESTED("retry", CONFIG, retry, retry_options, "what happens when it fails"),
	PROFCOL_OPTION_NESTED("system", CONFIG, system, system_options, "of the detector system"),
	PROFCOL_OPTION_NESTED("k8s_api", CONFIG, k8s_api, k8s_api_options,
			      "of the detector k8s_api"),
	PROFCOL_OPTION_NESTED("k8snode", CONFIG, k8snode, k8s_api_options,
			      "of the same by its old name"),
	PROFCOL_OPTION_NESTED("ec2", CONFIG, ec2, ec2_options, "of the detector ec2"),
	PROFCOL_OPTION_NESTED("eks", CONFIG, eks, eks_options, "of the detector eks"),
	PROFCOL_OPTION_NESTED("gcp", CONFIG, gcp, gcp_options, "of the detector gcp"),
	PROFCOL_OPTION_NESTED("azure", CONFIG, azure, azure_options, "of the detector azure"),
	PROFCOL_OPTION_NESTED("aks", CONFIG, aks, aks_options, "of the detector aks"),
	FOREIGN("akamai"),
	FOREIGN("alibaba_ecs"),
	FOREIGN("azurecontainerapps"),
	FOREIGN("consul"),
	FOREIGN("digitalocean"),
	FOREIGN("docker"),
	FOREIGN("ecs"),
	FOREIGN("elasticbeanstalk"),
	FOREIGN("heroku"),
	FOREIGN("hetzner"),
	FOREIGN("ibmcloud_classic"),
	FOREIGN("ibmcloud_vpc"),
	FOREIGN("kubeadm"),
	FOREIGN("lambda"),
	FOREIGN("nova"),
	FOREIGN("openshift"),
	FOREIGN("oraclecloud"),
	FOREIGN("scaleway"),
	FOREIGN("tencent_cvm"),
	FOREIGN("upcloud"),
	FOREIGN("vultr"),
	PROFCOL_OPTION_STRING("endpoint", CONFIG, client.endpoint, NULL, NO_EFFECT),
	PROFCOL_OPTION_STRING("proxy_url", CONFIG, client.proxy_url, NULL, NO_EFFECT),
	PROFCOL_OPTION_STRING("compression", CONFIG, client.compression, NULL, NO_EFFECT),
	PROFCOL_OPTION_MAP("headers", CONFIG, client.headers, NO_EFFECT),
	CLIENT_INT("read_buffer_size", read_buffer_size, "0"),
	CLIENT_INT("write_buffer_size", write_buffer_size, "0"),
	CLIENT_INT("max_idle_conns", max_idle_conns, "100"),
	CLIENT_INT("max_idle_conns_per_host", max_idle_conns_per_host, "0"),
	CLIENT_INT("max_conns_per_host", max_conns_per_host, "0"),
	CLIENT_TIME("idle_conn_timeout", idle_conn_timeout_ns, "90s"),
	CLIENT_TIME("http2_read_idle_timeout", http2_read_idle_timeout_ns, "0s"),
	CLIENT_TIME("http2_ping_timeout", http2_ping_timeout_ns, "0s"),
	PROFCOL_OPTION_BOOL("disable_keep_alives", CONFIG, client.disable_keep_alives, "false",
			    NO_EFFECT),
	PROFCOL_OPTION_BOOL("force_attempt_http2", CONFIG, client.force_attempt_http2, "true",
			    NO_EFFECT),
	PROFCOL_OPTION_LIST("middlewares", CONFIG, client.middlewares, NULL, NO_EFFECT),
	UNREAD("tls"),
	UNREAD("auth"),
	UNREAD("compression_params"),
	UNREAD("cookies"),
	PROFCOL_OPTION_END,
};

bool resource_detection_is_foreign(const char *name)
{
	const struct profcol_option *option;

	if (!strcmp(name, "dynatrace")) // It has no section.
		return true;
	for (option = resource_detection_options; option->key; option++)
		if (option->offset == offsetof(CONFIG, other) && !strcmp(option->key, name))
			return true;
	return false;
}

bool resource_detection_trim(const char *text, char *to, size_t size)
{
	size_t length;

	text += strspn(text, " \t\n");
	length = strlen(text);
	while (length && strchr(" \t\n", text[length - 1]))
		length--;
	if (length >= size)
		return false;
	memcpy(to, text, length);
	to[length] = '\0';
	return true;
}

/* ---- what the table cannot say ---- */

static struct profcol_error *validate_detectors(const struct profcol_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		char name[64];

		if (resource_detection_trim(list->items[i], name, sizeof(name)) &&
		    (detectors_find(name) || resource_detection_is_foreign(name)))
			continue;
		return profcol_error_create(PROFCOL_CONFIG,
					    "detectors: invalid detector key: %s; there are env, "
					    "system, k8s_api, ec2, eks, gcp, azure and aks",
					    list->items[i]);
	}
	return NULL;
}

static struct profcol_error *validate_sources(const struct profcol_list *sources)
{
	static const char *const known[] = { "dns", "os", "cname", "lookup" };

	for (size_t i = 0; i < sources->count; i++) {
		size_t at = 0;

		while (at < sizeof(known) / sizeof(known[0]) &&
		       strcmp(known[at], sources->items[i]))
			at++;
		if (at == sizeof(known) / sizeof(known[0]))
			return profcol_error_create(PROFCOL_CONFIG,
						    "system::hostname_sources: hostname_sources "
						    "contains invalid value: \"%s\"; there are "
						    "dns, os, cname and lookup",
						    sources->items[i]);
	}
	return NULL;
}

static struct profcol_error *validate_patterns(const char *key, const struct profcol_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct ottl_pattern *pattern = NULL;
		struct profcol_error *error =
			ottl_pattern_create(list->items[i], strlen(list->items[i]), &pattern);

		ottl_pattern_destroy(pattern);
		if (error)
			return profcol_error_prefix(error, "%s: '%s'", key, list->items[i]);
	}
	return NULL;
}

static struct profcol_error *validate_auth(const char *key, const struct k8s_api_config *config)
{
	if (config->auth_type == KUBE_NONE || config->auth_type == KUBE_SERVICE_ACCOUNT)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "%s::auth_type: %s is not supported by this detector; use "
				    "serviceAccount or none",
				    key, kube_auth_names[config->auth_type]);
}

struct profcol_error *
resource_detection_config_validate(const struct resource_detection_config *config)
{
	struct profcol_error *error = validate_detectors(&config->detectors);

	if (!error && config->retry.enabled && !config->timeout_ns &&
	    !config->retry.max_elapsed_time_ns)
		error = profcol_error_create(
			PROFCOL_CONFIG, "timeout: retry.enabled requires either timeout > 0 or "
					"retry.max_elapsed_time > 0 to bound detection");
	if (!error)
		error = validate_sources(&config->system.hostname_sources);
	if (!error)
		error = validate_patterns("ec2::tags", &config->ec2.tags);
	if (!error)
		error = validate_patterns("azure::tags", &config->azure.tags);
	if (!error)
		error = validate_auth("k8s_api", &config->k8s_api);
	if (!error)
		error = validate_auth("k8snode", &config->k8snode);
	return error;
}
