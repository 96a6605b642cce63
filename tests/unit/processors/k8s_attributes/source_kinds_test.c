// SPDX-License-Identifier: Apache-2.0
/* What is asked for: kinds, namespaces, selectors; and of whom: API server, kubelet, by TLS. */
#include "certificates.h"
#include "cluster_json.h"
#include "source_fixture.h"

#include "processors/k8s_attributes/source_selection.h"

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
#include <unistd.h>

enum { LONG_MS = 60000 };

#define OPEN_STREAM "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"

/* ---- selection ---- */

static void expect_query(const struct k8s_source_settings *settings, enum k8s_kind kind,
			 const char *query)
{
	struct selection *selection = source_selection_create(settings);
	CLEANUP_FREE char *found = NULL;

	assert_non_null(selection);
	found = source_selection_query(selection, kind);
	assert_string_equal(found, query);
	source_selection_destroy(selection);
}

static const struct k8s_selector fields[] = {
	{ "status.phase", "Running", K8S_EQUALS },
	{ "metadata.name", "a,b=c\\d", K8S_NOT_EQUALS },
};

static const struct k8s_selector labels[] = {
	{ "app", "shop", K8S_EQUALS },
	{ "tier", "cache", K8S_NOT_EQUALS },
	{ "example.com/team", NULL, K8S_EXISTS },
	{ "legacy", NULL, K8S_DOES_NOT_EXIST },
};

static void filters_become_selectors(void **state)
{
	static const char *const one[] = { "shop" };
	const struct k8s_source_settings none = { 0 }, all = { .node = "n1",
							       .fields = fields,
							       .field_count = 2,
							       .labels = labels,
							       .label_count = 4,
							       .namespaces = one,
							       .namespace_count = 1 };

	(void)state;
	expect_query(&none, K8S_POD, "");
	expect_query(&none, K8S_NODE, "");
	expect_query(
		&all, K8S_POD,
		"&fieldSelector=spec.nodeName%3Dn1%2Cstatus.phase%3DRunning%2Cmetadata.name"
		"%21%3Da%5C%2Cb%5C%3Dc%5C%5Cd"
		"&labelSelector=app%3Dshop%2Ctier%21%3Dcache%2Cexample.com%2Fteam%2C%21legacy");
	expect_query(&all, K8S_NODE, "&fieldSelector=metadata.name%3Dn1");
	expect_query(&all, K8S_CLUSTER, "&fieldSelector=metadata.name%3Dkube-system");
	expect_query(&all, K8S_NAMESPACE, "&fieldSelector=metadata.name%3Dshop");
	expect_query(&all, K8S_DEPLOYMENT, "");
}

/* ---- kinds ---- */

#define METADATA "application/json;as=PartialObjectMetadata"
#define ONE_OBJECT(list_kind, name, uid)                                                           \
	"{\"kind\":\"" list_kind "\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{"        \
	"\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\"}}]}"

static void other_kinds_are_asked_for_as_they_are_wanted(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /api/v1/nodes?limit=500&resourceVersion=0&fieldSelector="
			     "metadata.name%3Dn1 ",
		  .needs = "Accept: " METADATA "List;g=meta.k8s.io;v=v1,application/json\r\n",
		  .status = 200,
		  .body = ONE_OBJECT("PartialObjectMetadataList", "n1", "u-n1") },
		{ .request = "GET /apis/apps/v1/namespaces/shop/deployments?limit=500&"
			     "resourceVersion=0 ",
		  .status = 200,
		  .body = ONE_OBJECT("DeploymentList", "web", "u-web") },
		{ .request = "GET /apis/apps/v1/namespaces/pay/deployments?watch=true",
		  .needs = "Accept: " METADATA ";g=meta.k8s.io;v=v1,application/json\r\n",
		  .raw = OPEN_STREAM WATCH_EVENT("ADDED",
						 "{\"metadata\":{\"name\":\"till\",\"uid\":"
						 "\"u-till\",\"resourceVersion\":\"8\"}}")
			  WATCH_EVENT("DELETED", "{\"metadata\":{\"name\":\"till\",\"uid\":"
						 "\"u-till\",\"resourceVersion\":\"9\"}}"),
		  .hold_ms = LONG_MS },
		{ .request = "GET /apis/batch/v1/namespaces/pay/jobs?limit=",
		  .status = 403,
		  .body = STATUS("403", "Forbidden", "no") },
		{ .request = "GET /api/v1/namespaces?limit=500&resourceVersion=0&fieldSelector="
			     "metadata.name%3Dkube-system ",
		  .status = 200,
		  .body = ONE_OBJECT("NamespaceList", "kube-system", "u-sys") },
		{ .request = "GET /api",
		  .needs = "watch=true",
		  .raw = OPEN_STREAM,
		  .hold_ms = LONG_MS },
		{ .request = "GET /api", .status = 200, .body = POD_LIST("7", "", "") },
		{ .request = NULL },
	};
	static const char *const namespaces[] = { "shop", "pay" };
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.namespaces = namespaces;
	fixture->settings.namespace_count = 2;
	fixture->settings.kinds =
		1u << K8S_NODE | 1u << K8S_DEPLOYMENT | 1u << K8S_JOB | 1u << K8S_CLUSTER;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "put node n1 u-n1\n");
	source_fixture_await(fixture, "put deployment web u-web\n");
	source_fixture_await(fixture, "put cluster kube-system u-sys\n");
	source_fixture_await(fixture, "put deployment till u-till\n");
	source_fixture_await(fixture, "remove deployment till\n");
	source_fixture_await(fixture, "end pod shop\n");
	source_fixture_await(fixture, "end pod pay\n");
	source_fixture_await(fixture, "end job shop\n");
	source_fixture_await(fixture, "failed job pay: list jobs: ");
	source_fixture_await(fixture, "to the rules of a Role in namespace 'pay' that is bound to "
				      "the user named:\n"
				      "- apiGroups: [\"batch\"]\n"
				      "  resources: [jobs]\n");
	assert_int_equal(stand_in_count(fixture->server, "GET /api/v1/pods"), 0);
	assert_int_equal(source_fixture_count(fixture, "failed"), 1);
	source_fixture_destroy(fixture);
}

/* The namespace by whose uid a cluster is known is one of all namespaces, and asked for beside
 * them.
 */
static void a_cluster_is_known_beside_its_namespaces(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /api/v1/namespaces?limit=500&resourceVersion=0 ",
		  .status = 200,
		  .body = ONE_OBJECT("NamespaceList", "shop", "u-shop") },
		{ .request = "GET /api/v1/namespaces?limit=500&resourceVersion=0&fieldSelector="
			     "metadata.name%3Dkube-system ",
		  .status = 200,
		  .body = ONE_OBJECT("NamespaceList", "kube-system", "u-sys") },
		{ .request = "GET /api",
		  .needs = "watch=true",
		  .raw = OPEN_STREAM,
		  .hold_ms = LONG_MS },
		{ .request = "GET /api", .status = 200, .body = POD_LIST("7", "", "") },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.kinds = 1u << K8S_NAMESPACE | 1u << K8S_CLUSTER;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "put namespace shop u-shop\n");
	source_fixture_await(fixture, "put cluster kube-system u-sys\n");
	source_fixture_destroy(fixture);
}

/* A right that is missing for one kind says nothing of the others. */
static void kinds_come_to_their_first_end_each(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /apis/apps/v1/deployments?",
		  .status = 403,
		  .body = STATUS("403", "Forbidden", "no") },
		{ .request = "GET /api",
		  .needs = "watch=true",
		  .raw = OPEN_STREAM,
		  .hold_ms = LONG_MS },
		{ .request = "GET /api", .status = 200, .body = POD_LIST("7", "", "") },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.kinds = 1u << K8S_DEPLOYMENT;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "end pod \n");
	source_fixture_await(fixture, "failed deployment ");
	assert_true(k8s_source_is_synced(fixture->source, 1u << K8S_POD));
	assert_false(k8s_source_is_synced(fixture->source, UINT32_MAX));
	source_fixture_destroy(fixture);
}

/* ---- the kubelet ---- */

static void the_kubelet_is_asked_again_and_again(void **state)
{
	static const struct stand_in_route first[] = {
		{ .request = "GET /pods ",
		  .status = 200,
		  .body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":"
			  "[" SHOP_POD "," SMALL_POD("a", "u-a", "5") "]}\n" },
		{ .request = NULL },
	};
	static const struct stand_in_route second[] = {
		{ .request = "GET /pods ", .status = 500 },
		{ .request = NULL },
	};
	static const struct stand_in_route third[] = {
		{ .request = "GET /pods ", .status = 200, .body = "{\"items\":null}" },
		{ .request = NULL },
	};
	const struct k8s_selector shop = { "app", "shop", K8S_EQUALS };
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(first);
	fixture->settings.origin = K8S_FROM_KUBELET;
	fixture->settings.kubelet_endpoint = fixture->endpoint;
	fixture->settings.kubelet_interval_ns = 5 * MILLISECOND;
	fixture->settings.labels = &shop;
	fixture->settings.label_count = 1;
	fixture->settings.kinds = 1u << K8S_NODE;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "begin pod \nput pod shop-7d9-x2\nend pod \nbegin pod \nput "
				      "pod shop-7d9-x2\nend pod \n");
	stand_in_change(fixture->server, second);
	source_fixture_await(fixture, "failed pod : list pods of the kubelet: 'http://127.0.0.1:");
	stand_in_change(fixture->server, third);
	source_fixture_await(fixture, "begin pod \nend pod \n");
	assert_int_equal(source_fixture_count(fixture, "put pod a"), 0);
	assert_true(k8s_source_is_synced(fixture->source, UINT32_MAX));
	source_fixture_destroy(fixture);
}

static void a_kubelet_in_the_open_gets_no_token(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /pods ", .needs = "Authorization:", .status = 418 },
		{ .request = "GET /pods ", .status = 403, .body = STATUS("403", "F", "no") },
		{ .request = NULL },
	};
	struct source_fixture *fixture;

	(void)state;
	fixture = source_fixture_create(routes);
	fixture->settings.origin = K8S_FROM_KUBELET;
	fixture->settings.kubelet_endpoint = fixture->endpoint;
	source_fixture_start(fixture);
	source_fixture_await(fixture, "status 403 to /pods: no; add this to the rules of a "
				      "ClusterRole that is bound to the user named:\n"
				      "- apiGroups: [\"\"]\n"
				      "  resources: [nodes/proxy]\n"
				      "  verbs: [get]\n");
	source_fixture_destroy(fixture);
}

static void expect_create_error(const struct k8s_source_settings *settings, const char *words)
{
	static const struct k8s_source_callbacks none = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct k8s_source *source = NULL;

	error = k8s_source_create(settings, &none, NULL, &source);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	if (!strstr(profcol_error_message(error), words) ||
	    strstr(profcol_error_message(error), "s3cret"))
		fail_msg("%s", profcol_error_message(error));
	assert_null(source);
}

static void what_cannot_work_is_told_at_once(void **state)
{
	const struct k8s_selector field = { "spec.schedulerName", "x", K8S_EQUALS };
	const char *many[40];
	struct k8s_source_settings kubelet = {
		.origin = K8S_FROM_KUBELET,
		.auth_type = K8S_AUTH_NONE,
		.fields = &field,
		.field_count = 1,
	};
	struct k8s_source_settings account = { .account_path = "/nowhere" };
	struct k8s_source_settings crowded = { .auth_type = K8S_AUTH_NONE,
					       .namespaces = many,
					       .namespace_count = 40 };

	(void)state;
	for (size_t i = 0; i < 40; i++)
		many[i] = "ns";
	unsetenv("KUBERNETES_SERVICE_HOST");
	expect_create_error(&kubelet, "field 'spec.schedulerName' cannot be selected by");
	kubelet.field_count = 0;
	kubelet.kubelet_endpoint = "localhost:10250";
	expect_create_error(&kubelet, "'localhost:10250' is no server; write https://HOST:PORT");
	kubelet.kubelet_endpoint = "https://me:s3cret@localhost:10250";
	expect_create_error(&kubelet, "the server's URL has an '@', as of a user and password");
	kubelet.kubelet_endpoint = "https://localhost:port";
	expect_create_error(&kubelet, "'https://localhost:port' is no server");
	expect_create_error(&account, "unable to load k8s config, KUBERNETES_SERVICE_HOST");
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	expect_create_error(&account, "cannot read the token '/nowhere/token': No such file");
	expect_create_error(&crowded, "40 namespaces are too many");
}

/* ---- TLS ---- */

static SSL_CTX *serve_with(const struct certificates *certificates, const char *client_authority)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	assert_int_equal(SSL_CTX_use_certificate_file(context,
						      certificates_path(certificates, "server.pem"),
						      SSL_FILETYPE_PEM),
			 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(context,
						     certificates_path(certificates, "server.key"),
						     SSL_FILETYPE_PEM),
			 1);
	if (client_authority) {
		SSL_CTX_load_verify_locations(
			context, certificates_path(certificates, client_authority), NULL);
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
				   NULL);
	}
	return context;
}

static const struct stand_in_route pod_routes[] = {
	{ .request = "GET /api/v1/pods?limit=",
	  .needs = "Authorization: Bearer acc0unt\r\n",
	  .status = 200,
	  .body = POD_LIST("7", "", SHOP_POD) },
	{ .request = "GET /api/v1/pods?watch=", .raw = OPEN_STREAM, .hold_ms = LONG_MS },
	{ .request = NULL },
};

/* The service account of a pod, in @certificates' directory. */
static void use_account(struct source_fixture *fixture, const struct certificates *certificates)
{
	CLEANUP_FREE char *authority = certificates_read(certificates, "ca.pem");

	source_fixture_write(certificates_path(certificates, "token"), "acc0unt\n");
	source_fixture_write(certificates_path(certificates, "ca.crt"), authority);
	setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", stand_in_port(fixture->server), 1);
	fixture->settings.auth_type = K8S_AUTH_SERVICE_ACCOUNT;
	fixture->settings.account_path = certificates->directory;
}

static void a_pod_reaches_its_api_server(void **state)
{
	struct certificates certificates;
	struct source_fixture *fixture;
	SSL_CTX *tls;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_issue(&certificates, "server", "ca", "IP:127.0.0.1", 1);
	tls = serve_with(&certificates, NULL);
	fixture = source_fixture_create(pod_routes);
	stand_in_stop(fixture->server);
	fixture->server = stand_in_start(pod_routes, tls);
	use_account(fixture, &certificates);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "begin pod \nput pod shop-7d9-x2\nend pod \n");
	source_fixture_await_requests(fixture, "GET /api/v1/pods?watch=true&resourceVersion=7&", 1);
	source_fixture_destroy(fixture);
	SSL_CTX_free(tls);
	certificates_deinit(&certificates);
}

/* Another server, at first: its authority is not ours. */
static void a_foreign_server_gets_no_token(void **state)
{
	CLEANUP_FREE char *other = NULL;
	struct certificates certificates;
	struct source_fixture *fixture;
	SSL_CTX *tls;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_found(&certificates, "other");
	certificates_issue(&certificates, "server", "other", "IP:127.0.0.1", 1);
	tls = serve_with(&certificates, NULL);
	fixture = source_fixture_create(pod_routes);
	stand_in_stop(fixture->server);
	fixture->server = stand_in_start(pod_routes, tls);
	use_account(fixture, &certificates);
	source_fixture_start(fixture);
	source_fixture_await(fixture, "certificate is not accepted");
	assert_int_equal(stand_in_count(fixture->server, "GET "), 0);
	// Authorities change; a running source takes the new one.
	other = certificates_read(&certificates, "other.pem");
	source_fixture_write(certificates_path(&certificates, "ca.crt"), other);
	source_fixture_await(fixture, "end pod \n");
	assert_int_equal(source_fixture_count(fixture, "acc0unt"), 0);
	source_fixture_destroy(fixture);
	SSL_CTX_free(tls);
	certificates_deinit(&certificates);
}

static void a_kubeconfig_may_have_a_certificate(void **state)
{
	static const struct stand_in_route routes[] = {
		{ .request = "GET /prefix/api/v1/pods?limit=",
		  .status = 200,
		  .body = POD_LIST("7", "", SHOP_POD) },
		{ .request = "GET ", .raw = OPEN_STREAM, .hold_ms = LONG_MS },
		{ .request = NULL },
	};
	struct certificates certificates;
	struct source_fixture *fixture;
	char config[1024];
	SSL_CTX *tls;

	(void)state;
	certificates_init(&certificates);
	certificates_found(&certificates, "ca");
	certificates_issue(&certificates, "server", "ca", "DNS:kubernetes", 1);
	certificates_issue(&certificates, "client", "ca", "DNS:me", 1);
	tls = serve_with(&certificates, "ca.pem");
	fixture = source_fixture_create(routes);
	stand_in_stop(fixture->server);
	fixture->server = stand_in_start(routes, tls);
	snprintf(config, sizeof(config),
		 "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
		 "users: [{name: u, user: {client-certificate: %s, client-key: %s}}]\n"
		 "clusters: [{name: k, cluster: {server: 'https://%s/prefix/', tls-server-name: "
		 "kubernetes, certificate-authority: %s}}]\n",
		 certificates_path(&certificates, "client.pem"),
		 certificates_path(&certificates, "client.key"), stand_in_address(fixture->server),
		 certificates_path(&certificates, "ca.pem"));
	source_fixture_write(fixture->config, config);
	fixture->settings.context = "c";
	source_fixture_start(fixture);
	source_fixture_await(fixture, "begin pod \nput pod shop-7d9-x2\nend pod \n");
	source_fixture_destroy(fixture);
	SSL_CTX_free(tls);
	certificates_deinit(&certificates);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_become_selectors),
		cmocka_unit_test(other_kinds_are_asked_for_as_they_are_wanted),
		cmocka_unit_test(a_cluster_is_known_beside_its_namespaces),
		cmocka_unit_test(kinds_come_to_their_first_end_each),
		cmocka_unit_test(the_kubelet_is_asked_again_and_again),
		cmocka_unit_test(a_kubelet_in_the_open_gets_no_token),
		cmocka_unit_test(what_cannot_work_is_told_at_once),
		cmocka_unit_test(a_pod_reaches_its_api_server),
		cmocka_unit_test(a_foreign_server_gets_no_token),
		cmocka_unit_test(a_kubeconfig_may_have_a_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
