// SPDX-License-Identifier: Apache-2.0
#include "learning.h"

#include "base/base.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
	METRIC_PODS,
	METRIC_OBJECTS,
	METRIC_BYTES,
	METRIC_ADDED,
	METRIC_UPDATED,
	METRIC_REMOVED,
	METRIC_REFUSED,
	METRIC_LISTS,
	METRIC_WATCHES,
	METRIC_EVENTS,
	METRIC_RECEIVED,
	METRIC_FAILURES,
	METRIC_OVERSIZED,
	METRIC_INCOMPLETE,
	METRICS,
};

#define REFRESH_NS UINT64_C(1000000000)

/* What is decoded from the configuration for the source. */
struct selectors {
	const char **namespaces; /* owned, as the others; the texts are the configuration's */
	struct k8s_selector *labels, *fields;
};

struct learning {
	const struct profcol_host *host; /* borrowed, as the next three */
	const struct k8s_attributes_config *config;
	const struct rules *rules;
	struct store *store;
	struct selectors selectors;
	struct k8s_source *source; /* owned; from start on */
	struct profcol_metric *metrics[METRICS];
	int changed_fd;   /* eventfd: a list has come to its end */
	uint32_t failing; /* bits 1 << enum k8s_kind; of the source's calls, one at a time */
	atomic_bool synced, has_pods;
	_Atomic uint64_t refreshed_ns;
};

/* ---- settings of the source ---- */

static bool names_have(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Each once: two lists of one namespace would take each other's pods for gone. */
static size_t read_namespaces(const struct profcol_any *any, const char **names)
{
	size_t count = 0;

	if (any->type == PROFCOL_ANY_TEXT && any->text[0]) {
		names[0] = any->text;
		return 1;
	}
	if (any->type != PROFCOL_ANY_LIST)
		return 0;
	for (size_t i = 0; i < any->count; i++)
		if (!names_have(names, count, any->items[i].text))
			names[count++] = any->items[i].text;
	return count;
}

static void read_selectors(const struct profcol_sections *sections, struct k8s_selector *to)
{
	static const char *const names[] = {
		[K8S_EQUALS] = "equals",
		[K8S_NOT_EQUALS] = "not-equals",
		[K8S_EXISTS] = "exists",
		[K8S_DOES_NOT_EXIST] = "does-not-exist",
	};
	const struct selector_config *configs = sections->items;

	for (size_t i = 0; i < sections->count; i++) {
		to[i] = (struct k8s_selector){
			.key = configs[i].key,
			.value = configs[i].value,
			.relation = K8S_EQUALS,
		};
		for (size_t at = 0; at < sizeof(names) / sizeof(names[0]); at++)
			if (!strcmp(names[at], configs[i].op))
				to[i].relation = (enum k8s_relation)at;
	}
}

static enum k8s_auth_type auth_type_of(const char *name)
{
	if (!strcmp(name, "kubeConfig"))
		return K8S_AUTH_KUBE_CONFIG;
	return !strcmp(name, "none") ? K8S_AUTH_NONE : K8S_AUTH_SERVICE_ACCOUNT;
}

static bool selectors_init(struct selectors *selectors, const struct filter_config *filter)
{
	size_t namespaces =
		filter->namespace.type == PROFCOL_ANY_LIST ? filter->namespace.count : 1;

	selectors->namespaces = calloc(namespaces + 1, sizeof(char *));
	selectors->labels = calloc(filter->labels.count + 1, sizeof(*selectors->labels));
	selectors->fields = calloc(filter->fields.count + 1, sizeof(*selectors->fields));
	if (!selectors->namespaces || !selectors->labels || !selectors->fields)
		return false;
	read_selectors(&filter->labels, selectors->labels);
	read_selectors(&filter->fields, selectors->fields);
	return true;
}

static struct k8s_source_settings settings_of(const struct learning *learning)
{
	const struct k8s_attributes_config *config = learning->config;
	const struct filter_config *filter = &config->filter;
	const struct selectors *selectors = &learning->selectors;
	const char *node =
		filter->node_from_env_var[0] ? getenv(filter->node_from_env_var) : filter->node;
	struct k8s_source_settings settings = {
		.origin = config->source == SOURCE_KUBELET ? K8S_FROM_KUBELET : K8S_FROM_API_SERVER,
		.auth_type = auth_type_of(config->auth_type),
		.kube_config_path = config->kube_config_path,
		.context = config->context,
		.node = node,
		.namespaces = selectors->namespaces,
		.fields = selectors->fields,
		.field_count = filter->fields.count,
		.labels = selectors->labels,
		.label_count = filter->labels.count,
		.kinds = learning->rules->kinds,
		.kubelet_endpoint = config->kubelet.endpoint,
		.kubelet_insecure = config->kubelet.insecure_skip_verify,
		.kubelet_interval_ns = config->kubelet.poll_interval_ns,
	};

	settings.namespace_count = read_namespaces(&filter->namespace, selectors->namespaces);
	return settings;
}

/* ---- what the source tells ---- */

static const char *kind_name(enum k8s_kind kind)
{
	static const char *const names[K8S_KINDS] = {
		[K8S_POD] = "pods",
		[K8S_NAMESPACE] = "namespaces",
		[K8S_NODE] = "nodes",
		[K8S_DEPLOYMENT] = "deployments",
		[K8S_REPLICASET] = "replica sets",
		[K8S_STATEFULSET] = "stateful sets",
		[K8S_DAEMONSET] = "daemon sets",
		[K8S_JOB] = "jobs",
		[K8S_CLUSTER] = "the namespace kube-system",
	};

	return names[kind];
}

static void take_begin(void *context, const struct k8s_scope *scope)
{
	struct learning *learning = context;

	store_begin(learning->store, scope);
}

static void take_pod(void *context, const struct k8s_pod *pod)
{
	struct learning *learning = context;

	store_put_pod(learning->store, pod);
	learning_refresh(learning);
}

static void take_object(void *context, const struct k8s_object *object)
{
	struct learning *learning = context;

	store_put_object(learning->store, object);
	learning_refresh(learning);
}

static void take_removal(void *context, enum k8s_kind kind, const struct k8s_metadata *metadata)
{
	struct learning *learning = context;

	store_remove(learning->store, kind, metadata);
	learning_refresh(learning);
}

/* Of one kind and several namespaces the first that works clears the fault: the others tell again.
 */
static void take_success(void *context, const struct k8s_scope *scope)
{
	struct learning *learning = context;
	uint32_t before = learning->failing;

	learning->failing &= ~(1u << scope->kind);
	if (before && !learning->failing)
		learning->host->report_status(learning->host, PROFCOL_STATUS_OK,
					      "pods are known again");
}

static void take_end(void *context, const struct k8s_scope *scope)
{
	struct learning *learning = context;
	const struct profcol_host *host = learning->host;
	bool is_first;

	store_end(learning->store, scope);
	is_first = k8s_source_is_synced(learning->source, UINT32_MAX) &&
		   !atomic_exchange(&learning->synced, true);
	if (is_first)
		profcol_log_info(host->logger, "%llu pods are known",
				 (unsigned long long)store_figures(learning->store).pods);
	if (k8s_source_is_synced(learning->source, 1u << K8S_POD))
		atomic_store(&learning->has_pods, true);
	take_success(context, scope);
	eventfd_write(learning->changed_fd, 1);
	atomic_store(&learning->refreshed_ns, 0);
	learning_refresh(learning);
}

/* A remedy may be lines of YAML, and a message is one line of the log. */
static void log_lines(const struct profcol_logger *logger, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		profcol_log_warn(logger, "%.*s", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static void take_failure(void *context, const struct k8s_scope *scope, const char *reason,
			 const char *remedy)
{
	struct learning *learning = context;
	const struct profcol_host *host = learning->host;
	bool of_namespace = scope->namespace && scope->namespace[0];
	int first = (int)strcspn(remedy, "\n");

	profcol_log_warn(host->logger,
			 "cannot learn of %s%s%s%s: %s; going on with what is known, and trying "
			 "again%s%.*s",
			 kind_name(scope->kind), of_namespace ? " in namespace '" : "",
			 of_namespace ? scope->namespace : "", of_namespace ? "'" : "", reason,
			 first ? "; " : "", first, remedy);
	log_lines(host->logger, remedy + first + (remedy[first] == '\n'));
	learning->failing |= 1u << scope->kind;
	host->report_status(host, PROFCOL_STATUS_RECOVERABLE_ERROR, NULL);
	atomic_store(&learning->refreshed_ns, 0);
	learning_refresh(learning);
}

/* ---- metrics ---- */

static void register_metrics(struct learning *learning)
{
	static const struct {
		enum profcol_metric_kind kind;
		const char *name, *label, *doc;
	} rows[METRICS] = {
		[METRIC_PODS] = { PROFCOL_GAUGE, "k8s_pods", "", "pods that are known" },
		[METRIC_OBJECTS] = { PROFCOL_GAUGE, "k8s_objects", "",
				     "namespaces, nodes and workloads that are known" },
		[METRIC_BYTES] = { PROFCOL_GAUGE, "k8s_metadata_bytes", "",
				   "memory for pods and objects" },
		[METRIC_ADDED] = { PROFCOL_COUNTER, "k8s_pod_changes", "event=added",
				   "changes of pods" },
		[METRIC_UPDATED] = { PROFCOL_COUNTER, "k8s_pod_changes", "event=updated",
				     "changes of pods" },
		[METRIC_REMOVED] = { PROFCOL_COUNTER, "k8s_pod_changes", "event=removed",
				     "changes of pods" },
		[METRIC_REFUSED] = { PROFCOL_COUNTER, "k8s_objects_refused", "",
				     "pods and objects that there was no room for" },
		[METRIC_LISTS] = { PROFCOL_COUNTER, "k8s_lists", "", "lists, or polls" },
		[METRIC_WATCHES] = { PROFCOL_COUNTER, "k8s_watches", "", "watches begun" },
		[METRIC_EVENTS] = { PROFCOL_COUNTER, "k8s_watch_events", "", "events of watches" },
		[METRIC_RECEIVED] = { PROFCOL_COUNTER, "k8s_received_bytes", "",
				      "bytes from the API server or the kubelet" },
		[METRIC_FAILURES] = { PROFCOL_COUNTER, "k8s_failures", "", "requests that failed" },
		[METRIC_OVERSIZED] = { PROFCOL_COUNTER, "k8s_objects_oversized", "",
				       "objects passed over for their size" },
		[METRIC_INCOMPLETE] = { PROFCOL_COUNTER, "k8s_objects_incomplete", "",
					"objects of which something is left out" },
	};

	for (size_t i = 0; i < METRICS; i++)
		learning->metrics[i] = learning->host->metric(
			learning->host, rows[i].kind, rows[i].name, rows[i].label, rows[i].doc);
}

void learning_refresh(struct learning *learning)
{
	uint64_t now_ns = clock_monotonic_ns(), last_ns = atomic_load(&learning->refreshed_ns);
	struct store_figures figures;
	struct k8s_source_counts counts;

	if ((last_ns && now_ns - last_ns < REFRESH_NS) ||
	    !atomic_compare_exchange_strong(&learning->refreshed_ns, &last_ns, now_ns))
		return;
	figures = store_figures(learning->store);
	counts = k8s_source_counts(learning->source);
	const uint64_t values[METRICS] = {
		[METRIC_PODS] = figures.pods,          [METRIC_OBJECTS] = figures.objects,
		[METRIC_BYTES] = figures.bytes,        [METRIC_ADDED] = figures.added,
		[METRIC_UPDATED] = figures.updated,    [METRIC_REMOVED] = figures.removed,
		[METRIC_REFUSED] = figures.refused,    [METRIC_LISTS] = counts.lists,
		[METRIC_WATCHES] = counts.watches,     [METRIC_EVENTS] = counts.events,
		[METRIC_RECEIVED] = counts.bytes,      [METRIC_FAILURES] = counts.failures,
		[METRIC_OVERSIZED] = counts.oversized, [METRIC_INCOMPLETE] = counts.incomplete,
	};

	for (size_t i = 0; i < METRICS; i++)
		profcol_metric_set(learning->metrics[i], (int64_t)values[i]);
}

/* ---- life ---- */

static const struct k8s_source_callbacks callbacks = {
	.begin = take_begin,
	.put_pod = take_pod,
	.put_object = take_object,
	.remove = take_removal,
	.end = take_end,
	.failed = take_failure,
	.works = take_success,
};

struct profcol_error *learning_create(const struct profcol_host *host,
				      const struct k8s_attributes_config *config,
				      const struct rules *rules, struct store *store,
				      struct learning **ret)
{
	struct learning *learning = calloc(1, sizeof(*learning));

	if (!learning)
		return profcol_error_errno(ENOMEM, "create the processor");
	learning->host = host;
	learning->config = config;
	learning->rules = rules;
	learning->store = store;
	learning->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (learning->changed_fd < 0 || !selectors_init(&learning->selectors, &config->filter)) {
		learning_destroy(learning);
		return profcol_error_errno(ENOMEM, "create the processor");
	}
	register_metrics(learning);
	*ret = learning;
	return NULL;
}

static void selectors_deinit(struct selectors *selectors)
{
	free(selectors->namespaces);
	free(selectors->labels);
	free(selectors->fields);
}

void learning_diagnose(const struct k8s_attributes_config *config, const struct rules *rules,
		       struct profcol_findings *findings)
{
	struct learning learning = { .config = config, .rules = rules };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct k8s_source_settings settings;
	struct k8s_source *source = NULL;
	struct profcol_finding finding = {
		.subject = config->source == SOURCE_KUBELET ? "access to the kubelet"
							    : "access to the API server",
		.detail = "credentials are there",
		.effect = "",
		.remedy = "",
	};

	if (selectors_init(&learning.selectors, &config->filter)) {
		settings = settings_of(&learning);
		error = k8s_source_create(&settings, &callbacks, &learning, &source);
		if (error) {
			finding.verdict = PROFCOL_MISSING;
			finding.detail = profcol_error_message(error);
			finding.effect = "profcol does not start";
			finding.remedy = "run it in a pod with a service account, or set auth_type "
					 "and kube_config_path";
		}
		findings->add(findings, &finding);
		k8s_source_destroy(source);
	}
	selectors_deinit(&learning.selectors);
}

void learning_destroy(struct learning *learning)
{
	if (!learning)
		return;
	k8s_source_destroy(learning->source);
	selectors_deinit(&learning->selectors);
	cleanup_fd(&learning->changed_fd);
	free(learning);
}

/* Until the first lists are there (WAKE_EVENT), or the wait is over without them. */
static enum wake await_metadata(const struct learning *learning)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + learning->config->wait_for_metadata_timeout_ns;
	enum wake wake = WAKE_EVENT;

	while (!learning_is_synced(learning) && wake == WAKE_EVENT)
		wake = wake_wait(learning->changed_fd, learning->host->end_fd, deadline_ns);
	return wake;
}

struct profcol_error *learning_start(struct learning *learning)
{
	const struct k8s_source_settings settings = settings_of(learning);
	struct profcol_error *error;

	error = k8s_source_create(&settings, &callbacks, learning, &learning->source);
	if (!error)
		error = k8s_source_start(learning->source);
	if (error || !learning->config->wait_for_metadata)
		return error;
	if (await_metadata(learning) == WAKE_TIMEOUT)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"failed to wait for caches to sync: no complete list of pods in %g s; an "
			"earlier line of the log says why, or set wait_for_metadata_timeout",
			(double)learning->config->wait_for_metadata_timeout_ns / PROFCOL_SECOND);
	return NULL;
}

void learning_stop(struct learning *learning)
{
	if (learning->source)
		k8s_source_stop(learning->source);
}

bool learning_is_synced(const struct learning *learning)
{
	return atomic_load(&learning->synced);
}

bool learning_has_pods(const struct learning *learning)
{
	return atomic_load(&learning->has_pods);
}
