// SPDX-License-Identifier: Apache-2.0
/* The detectors of clouds and clusters: what each makes of what its service says. */
#include "certificates.h"
#include "detection_fixture.h"

#include "processors/resource_detection/service.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ec2 ---- */

static void an_ec2_instance_is_known_by_its_metadata(void **state)
{
	struct stand_in *server = stand_in_start(detection_ec2_routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR,
			"{detectors: [ec2], ec2: {tags: [^team], resource_attributes: "
			"{host.image.id: {enabled: false}}}}");
	EXPECT_FOUND(&processor, { "cloud.provider", "aws" }, { "cloud.platform", "aws_ec2" },
		     { "cloud.account.id", "123456789012" }, { "cloud.region", "us-west-2" },
		     { "cloud.availability_zone", "us-west-2b" }, { "host.id", "i-0123" },
		     { "host.type", "t3.medium" },
		     { "host.name", "ip-10-0-0-1.us-west-2.compute.internal" },
		     { "host.image.id", NULL }, { "ec2.tag.team", "pay ?" },
		     { "ec2.tag.team-lead", NULL }, { "ec2.tag.other", NULL });
	assert_int_equal(stand_in_count(server, "PUT "), 1);
	processor_deinit(&processor);
	setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
	processor_start(&processor, PROCESSOR, "{detectors: [ec2]}");
	EXPECT_FOUND(&processor, { "cloud.provider", NULL });
	processor_deinit(&processor);
	stand_in_stop(server);
}

static void an_old_metadata_service_is_asked_without_a_token(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "PUT ", .status = 405 },
		{ .request = "GET /latest/meta-data/instance-id ", .status = 200, .body = "i-1" },
		{ .request = "GET /latest/dynamic/", .status = 200, .body = EC2_IDENTITY },
		{ .request = "GET /latest/meta-data/hostname ", .status = 200, .body = "old" },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR, "{detectors: [ec2]}");
	EXPECT_FOUND(&processor, { "host.name", "old" }, { "cloud.region", "us-west-2" });
	processor_deinit(&processor);
	stand_in_stop(server);
}

/* ---- gcp ---- */

#define GOOGLE(path, text)                                                                         \
	{ .request = "GET /computeMetadata/v1/" path " ",                                          \
	  .needs = "Metadata-Flavor: Google\r\n",                                                  \
	  .status = 200,                                                                           \
	  .headers = "Metadata-Flavor: Google\r\n",                                                \
	  .body = text }

static const struct stand_in_route gcp_routes[] = {
	GOOGLE("project/project-id", "my-project"),
	GOOGLE("instance/zone", "projects/1/zones/us-central1-a"),
	GOOGLE("instance/machine-type", "projects/1/machineTypes/n1-standard-1"),
	GOOGLE("instance/id", "4711"),
	GOOGLE("instance/name", "worker-1"),
	GOOGLE("instance/hostname", "worker-1.c.my-project.internal"),
	GOOGLE("instance/attributes/created-by",
	       "projects/1/zones/us-central1-a/instanceGroupManagers/workers"),
	GOOGLE("instance/attributes/cluster-name", "prod"),
	GOOGLE("instance/attributes/cluster-location", "us-central1"),
	{ .request = NULL },
};

static void a_machine_of_gcp_is_known(void **state)
{
	struct stand_in *server = stand_in_start(gcp_routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR,
			"{detectors: [gcp], gcp: {resource_attributes: {gcp.gce.instance.hostname: "
			"{enabled: true}}}}");
	EXPECT_FOUND(
		&processor, { "cloud.provider", "gcp" }, { "cloud.platform", "gcp_compute_engine" },
		{ "cloud.account.id", "my-project" },
		{ "cloud.availability_zone", "us-central1-a" }, { "cloud.region", "us-central1" },
		{ "host.id", "4711" }, { "host.name", "worker-1" },
		{ "host.type", "projects/1/machineTypes/n1-standard-1" },
		{ "gcp.gce.instance.hostname", "worker-1.c.my-project.internal" },
		{ "gcp.gce.instance.name", NULL },
		{ "gcp.gce.instance_group_manager.name", "workers" },
		{ "gcp.gce.instance_group_manager.zone", "us-central1-a" },
		{ "gcp.gce.instance_group_manager.region", NULL }, { "k8s.cluster.name", NULL });
	processor_deinit(&processor);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	processor_start(&processor, PROCESSOR, "{detectors: [gcp]}");
	EXPECT_FOUND(&processor, { "cloud.platform", "gcp_kubernetes_engine" },
		     { "k8s.cluster.name", "prod" }, { "cloud.region", "us-central1" },
		     { "cloud.availability_zone", NULL }, { "host.id", "4711" },
		     { "host.name", "worker-1" });
	processor_deinit(&processor);
	stand_in_stop(server);
	setenv("BMS_PROJECT_ID", "p", 1);
	setenv("BMS_REGION", "r", 1);
	setenv("BMS_INSTANCE_ID", "i", 1);
	processor_start(&processor, PROCESSOR, "{detectors: [gcp]}");
	EXPECT_FOUND(&processor, { "cloud.platform", "gcp_bare_metal_solution" },
		     { "cloud.account.id", "p" }, { "cloud.region", "r" }, { "host.name", "i" });
	processor_deinit(&processor);
}

static void who_does_not_say_google_is_not_google(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "", .status = 200, .body = "my-project" },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR, "{detectors: [gcp]}");
	EXPECT_FOUND(&processor, { "cloud.provider", NULL });
	assert_int_equal(stand_in_count(server, "GET "), 1);
	processor_deinit(&processor);
	stand_in_stop(server);
}

/* ---- azure, aks ---- */

static const struct stand_in_route azure_routes[] = {
	{ .request = "GET /metadata/instance/compute?api-version=2020-09-01&format=json ",
	  .needs = "Metadata: True\r\n",
	  .status = 200,
	  .body = "{\"location\": \"westeurope\", \"name\": \"vm1\", \"vmId\": \"02aab8a4\", "
		  "\"vmSize\": \"Standard_D2s_v3\", \"subscriptionId\": \"8d10da13\", "
		  "\"resourceGroupName\": \"MC_group_prod_westeurope\", \"vmScaleSetName\": \"\", "
		  "\"zone\": \"3\", \"osProfile\": {\"computerName\": \"node1\"}, \"tagsList\": "
		  "[{\"name\": \"team\", \"value\": \"pay\"}, {\"name\": \"x\"}, 5]}" },
	{ .request = NULL },
};

static void a_machine_of_azure_is_known(void **state)
{
	struct stand_in *server = stand_in_start(azure_routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR,
			"{detectors: [azure], azure: {tags: [team, x], resource_attributes: "
			"{cloud.availability_zone: {enabled: true}}}}");
	EXPECT_FOUND(&processor, { "cloud.provider", "azure" }, { "cloud.platform", "azure.vm" },
		     { "cloud.region", "westeurope" }, { "cloud.account.id", "8d10da13" },
		     { "cloud.availability_zone", "3" }, { "host.id", "02aab8a4" },
		     { "host.name", "node1" }, { "azure.vm.name", "vm1" },
		     { "azure.vm.size", "Standard_D2s_v3" }, { "azure.vm.scaleset.name", NULL },
		     { "azure.resourcegroup.name", "MC_group_prod_westeurope" },
		     { "azure.tag.team", "pay" }, { "azure.tag.x", NULL });
	processor_deinit(&processor);

	processor_start(&processor, PROCESSOR, "{detectors: [aks]}");
	EXPECT_FOUND(&processor, { "cloud.provider", NULL });
	processor_deinit(&processor);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	processor_start(&processor, PROCESSOR,
			"{detectors: [aks, azure], aks: {resource_attributes: {k8s.cluster.name: "
			"{enabled: true}}}}");
	// The first detector counts.
	EXPECT_FOUND(&processor, { "cloud.platform", "azure.aks" }, { "k8s.cluster.name", "prod" },
		     { "host.name", "node1" });
	processor_deinit(&processor);
	stand_in_stop(server);
}

/* ---- Kubernetes ---- */

static const struct stand_in_route kube_routes[] = {
	{ .request = "GET /api/v1/nodes/node-1 ",
	  .status = 200,
	  .body = "{\"kind\": \"Node\", \"metadata\": {\"name\": \"node-1\", \"uid\": \"n-uid\"}, "
		  "\"spec\": {\"providerID\": \"aws:///us-west-2a/i-049ca\"}}" },
	{ .request = "GET /api/v1/namespaces/kube-system ",
	  .status = 200,
	  .body = "{\"metadata\": {\"name\": \"kube-system\", \"uid\": \"c-uid\"}}" },
	{ .request = NULL },
};

struct cluster {
	struct certificates certificates;
	struct stand_in *server;
	SSL_CTX *tls;
};

static void cluster_init(struct cluster *cluster, const struct stand_in_route *routes)
{
	certificates_init(&cluster->certificates);
	certificates_found(&cluster->certificates, "authority");
	certificates_issue(&cluster->certificates, "server", "authority", "DNS:localhost", 1);
	cluster->tls = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate_file(
				 cluster->tls,
				 certificates_path(&cluster->certificates, "server.pem"),
				 SSL_FILETYPE_PEM),
			 1);
	assert_int_equal(
		SSL_CTX_use_PrivateKey_file(cluster->tls,
					    certificates_path(&cluster->certificates, "server.key"),
					    SSL_FILETYPE_PEM),
		1);
	cluster->server = stand_in_start(routes, cluster->tls);
	setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", stand_in_port(cluster->server), 1);
	setenv("K8S_NODE_NAME", "node-1", 1);
}

/* By the name that its certificate has. */
static void cluster_use_name(void)
{
	setenv("KUBERNETES_SERVICE_HOST", "localhost", 1);
}

static void write_file(const struct certificates *certificates, const char *name, const char *text)
{
	FILE *file = fopen(certificates_path(certificates, name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void cluster_deinit(struct cluster *cluster)
{
	stand_in_stop(cluster->server);
	SSL_CTX_free(cluster->tls);
	certificates_deinit(&cluster->certificates);
}

static void a_node_is_known_by_its_api_server(void **state)
{
	static const struct stand_in_route forbidden[] = {
		{ .request = "GET /api/v1/nodes/node-1 ",
		  .status = 200,
		  .body = "{\"metadata\": {\"name\": \"node-1\", \"uid\": \"n-uid\"}}" },
		{ .request = "GET /api/v1/namespaces/", .status = 403, .body = "{}" },
		{ .request = NULL },
	};
	struct processor processor;
	struct cluster cluster;

	(void)state;
	cluster_init(&cluster, kube_routes);
	processor_start(&processor, PROCESSOR,
			"{detectors: [k8snode], k8snode: {auth_type: none}}");
	EXPECT_FOUND(&processor, { "k8s.node.name", "node-1" }, { "k8s.node.uid", "n-uid" },
		     { "k8s.cluster.uid", "c-uid" });
	assert_int_equal(fake_host_log_count(&processor.fake, "use k8s_api instead"), 1);
	processor_deinit(&processor);
	stand_in_change(cluster.server, forbidden);
	processor_start(&processor, PROCESSOR,
			"{detectors: [k8s_api], k8s_api: {auth_type: none}}");
	EXPECT_FOUND(&processor, { "k8s.node.name", "node-1" }, { "k8s.cluster.uid", NULL });
	assert_int_equal(fake_host_log_count(&processor.fake, "no permission to get kube-system"),
			 1);
	processor_deinit(&processor);
	cluster_deinit(&cluster);
}

static void a_node_without_its_name_stops_the_start(void **state)
{
	struct cluster cluster;

	(void)state;
	cluster_init(&cluster, kube_routes);
	unsetenv("K8S_NODE_NAME");
	assert_refused(PROCESSOR, "{detectors: [k8s_api], k8s_api: {auth_type: none}}",
		       "node name can't be found: the environment variable K8S_NODE_NAME is not "
		       "set");
	setenv("NODE", "../../secrets", 1);
	assert_refused(
		PROCESSOR,
		"{detectors: [k8s_api], k8s_api: {auth_type: none, node_from_env_var: NODE}}",
		"'../../secrets' is no name of a node");
	setenv("K8S_NODE_NAME", "node-1", 1);
	assert_refused(PROCESSOR, "{detectors: [k8s_api]}",
		       "cannot read the token of the service account");
	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_refused(PROCESSOR, "{detectors: [k8s_api], k8s_api: {auth_type: none}}",
		       "unable to load k8s config, KUBERNETES_SERVICE_HOST and "
		       "KUBERNETES_SERVICE_PORT must be defined");
	cluster_deinit(&cluster);
}

/* The token and the authorities that a pod is given. */
static void a_pod_shows_its_token(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /version ",
		  .needs = "Authorization: Bearer abc.def\r\n",
		  .status = 200,
		  .body = "{\"gitVersion\": \"v1.32.3-eks-1\"}" },
		{ .request = NULL },
	};
	const struct detecting detecting = { .deadline_ns = UINT64_MAX };
	struct service_kube kube = { 0 };
	CLEANUP_FREE char *authority = NULL;
	struct profcol_error *error;
	struct cluster cluster;
	json_t *answer;
	int status;

	(void)state;
	cluster_init(&cluster, routes);
	kube.directory = cluster.certificates.directory;
	write_file(&cluster.certificates, "token", "abc.def\n");
	authority = certificates_read(&cluster.certificates, "authority.pem");
	write_file(&cluster.certificates, "ca.crt", authority);
	// The certificate has no address.
	error = service_ask_kube(&detecting, &kube, "/version", &status, &answer);
	assert_non_null(strstr(profcol_error_message(error), "certificate is not accepted"));
	profcol_error_destroy(error);
	cluster_use_name();
	assert_null(service_ask_kube(&detecting, &kube, "/version", &status, &answer));
	assert_int_equal(status, 200);
	assert_string_equal(service_text(answer, "GITVERSION"), "v1.32.3-eks-1");
	json_decref(answer);
	// A token that was replaced is read again, and refused here.
	write_file(&cluster.certificates, "token", "other");
	error = service_ask_kube(&detecting, &kube, "/version", &status, &answer);
	assert_int_equal(status, 404);
	profcol_error_destroy(error);
	cluster_deinit(&cluster);
}

static void a_cluster_of_eks_is_known(void **state)
{
	struct stand_in *server = stand_in_start(detection_ec2_routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR, "{detectors: [eks]}");
	EXPECT_FOUND(&processor, { "cloud.provider", NULL });
	processor_deinit(&processor);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/secrets/eks-pod-identity/x", 1);
	processor_start(&processor, PROCESSOR,
			"{detectors: [eks], eks: {resource_attributes: {k8s.cluster.name: "
			"{enabled: true}, host.id: {enabled: true}}}}");
	EXPECT_FOUND(&processor, { "cloud.provider", "aws" }, { "cloud.platform", "aws_eks" },
		     { "k8s.cluster.name", "prod" }, { "host.id", "i-0123" },
		     { "host.name", NULL });
	processor_deinit(&processor);
	stand_in_stop(server);
}

/* Another cloud's cluster, with a pod that shows no token. */
static void a_pod_without_a_token_is_not_on_eks(void **state)
{
	struct processor processor;

	(void)state;
	setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "1", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "team=pay", 1);
	processor_start(&processor, PROCESSOR,
			"{detectors: [env, eks], fail_on_missing_metadata: true}");
	EXPECT_FOUND(&processor, { "team", "pay" }, { "cloud.provider", NULL });
	assert_int_equal(fake_host_log_count(&processor.fake, "taken for another platform"), 1);
	processor_deinit(&processor);
	// Where it is EKS for sure, and the way to the instance is barred, the token is missed.
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/x/eks.amazonaws.com/y", 1);
	setenv("K8S_NODE_NAME", "node-1", 1);
	assert_refused(PROCESSOR, "{detectors: [eks], eks: {node_from_env_var: K8S_NODE_NAME}}",
		       "cannot read the token of the service account");
}

static void who_refuses_metadata_is_tried_again(void **state)
{
	static struct stand_in_route routes[] = {
		{ .request = "PUT ", .status = 403 },
		{ .request = "", .status = 401 },
		{ .request = NULL },
	};
	static const int statuses[] = { 401, 403 };
	struct stand_in *server = stand_in_start(routes, NULL);

	(void)state;
	use_clouds(server);
	for (size_t i = 0; i < 2; i++) {
		char text[64];

		routes[1].status = statuses[i];
		stand_in_change(server, routes);
		snprintf(text, sizeof(text), "answers with status %d", statuses[i]);
		assert_refused(PROCESSOR,
			       "{detectors: [ec2], fail_on_missing_metadata: true, retry: "
			       "{enabled: false}}",
			       text);
	}
	stand_in_stop(server);
}

/* It refuses whoever does not name its own header. */
static void googles_service_is_not_that_of_an_instance(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "", .status = 403, .headers = "Metadata-Flavor: Google\r\n" },
		{ .request = NULL },
	};
	struct stand_in *server = stand_in_start(routes, NULL);
	struct processor processor;

	(void)state;
	use_clouds(server);
	processor_start(&processor, PROCESSOR,
			"{detectors: [ec2], fail_on_missing_metadata: true}");
	EXPECT_FOUND(&processor, { "cloud.provider", NULL });
	processor_deinit(&processor);
	stand_in_stop(server);
}

#define TEST(function) cmocka_unit_test_setup(function, forget_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_ec2_instance_is_known_by_its_metadata),
		TEST(an_old_metadata_service_is_asked_without_a_token),
		TEST(a_machine_of_gcp_is_known),
		TEST(who_does_not_say_google_is_not_google),
		TEST(a_machine_of_azure_is_known),
		TEST(a_node_is_known_by_its_api_server),
		TEST(a_node_without_its_name_stops_the_start),
		TEST(a_pod_shows_its_token),
		TEST(a_cluster_of_eks_is_known),
		TEST(a_pod_without_a_token_is_not_on_eks),
		TEST(who_refuses_metadata_is_tried_again),
		TEST(googles_service_is_not_that_of_an_instance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
