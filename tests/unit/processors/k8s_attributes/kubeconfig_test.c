// SPDX-License-Identifier: Apache-2.0
/* Kubeconfigs: which context counts, what it leads to, and what cannot be done. */
#include "processors/k8s_attributes/kubeconfig.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char two_clusters[] =
	"apiVersion: v1\n"
	"kind: Config\n"
	"current-context: prod\n"
	"preferences: {}\n"
	"contexts:\n"
	"- name: prod\n"
	"  context: {cluster: big, user: admin, namespace: shop}\n"
	"- name: dev\n"
	"  context: {cluster: small, user: me}\n"
	"- name: open\n"
	"  context: {cluster: small}\n"
	"users:\n"
	"- name: admin\n"
	"  user:\n"
	"    client-certificate-data: LS0tQ0VSVA==\n"
	"    client-key-data: LS0tS0VZ\n"
	"- name: me\n"
	"  user: {token: t0p-s3cret, tokenFile: me.token}\n"
	"clusters:\n"
	"- name: small\n"
	"  cluster: {server: 'http://localhost:8080', insecure-skip-tls-verify: true}\n"
	"- name: big\n"
	"  cluster:\n"
	"    server: https://10.0.0.1:6443/k8s\n"
	"    certificate-authority: pki/ca.crt\n"
	"    certificate-authority-data: LS0tQ0E=\n"
	"    tls-server-name: kubernetes\n";

static void contexts_lead_to_servers(void **state)
{
	struct kubeconfig found;

	(void)state;
	assert_null(kubeconfig_parse(two_clusters, strlen(two_clusters), "/etc/k/config", NULL,
				     &found));
	assert_string_equal(found.server, "https://10.0.0.1:6443/k8s");
	assert_string_equal(found.ca_file, "/etc/k/pki/ca.crt");
	assert_string_equal(found.ca_pem, "---CA");
	assert_string_equal(found.server_name, "kubernetes");
	assert_string_equal(found.cert_pem, "---CERT");
	assert_string_equal(found.key_pem, "---KEY");
	assert_null(found.token);
	assert_false(found.insecure);
	kubeconfig_deinit(&found);

	assert_null(kubeconfig_parse(two_clusters, strlen(two_clusters), "config", "dev", &found));
	assert_string_equal(found.server, "http://localhost:8080");
	assert_string_equal(found.token, "t0p-s3cret");
	assert_string_equal(found.token_file, "me.token");
	assert_true(found.insecure);
	assert_null(found.ca_file);
	kubeconfig_deinit(&found);

	assert_null(kubeconfig_parse(two_clusters, strlen(two_clusters), "config", "open", &found));
	assert_null(found.token);
	kubeconfig_deinit(&found);
}

static void json_is_yaml_too(void **state)
{
	static const char text[] =
		"{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":"
		"{\"cluster\":\"k\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"k\",\"cluster\":"
		"{\"server\":\"https://k\"}}],\"users\":[{\"name\":\"u\",\"user\":"
		"{\"client-certificate\":\"/c\",\"client-key\":\"k\"}}]}";
	struct kubeconfig found;

	(void)state;
	assert_null(kubeconfig_parse(text, strlen(text), "/x/y", "", &found));
	assert_string_equal(found.cert_file, "/c");
	assert_string_equal(found.key_file, "/x/k");
	kubeconfig_deinit(&found);
}

/* @words are in the error, and no secret is. */
static void expect_error(const char *text, const char *context, const char *words)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct kubeconfig found = { 0 };

	error = kubeconfig_parse(text, strlen(text), "config", context, &found);
	if (!error)
		fail_msg("not refused: %s", text);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	if (!strstr(profcol_error_message(error), words) ||
	    strstr(profcol_error_message(error), "s3cret"))
		fail_msg("%s", profcol_error_message(error));
	assert_null(found.server);
}

#define USER(lines)                                                                                \
	"current-context: c\n"                                                                     \
	"contexts: [{name: c, context: {cluster: k, user: u}}]\n"                                  \
	"clusters: [{name: k, cluster: {server: 'https://k'}}]\n"                                  \
	"users:\n"                                                                                 \
	"- name: u\n"                                                                              \
	"  user:\n" lines

#define CLUSTER(fields)                                                                            \
	"current-context: c\n"                                                                     \
	"contexts: [{name: c, context: {cluster: k}}]\n"                                           \
	"clusters:\n"                                                                              \
	"- {name: k, cluster: {" fields "}}\n"

static void what_cannot_be_done_is_told_with_its_line(void **state)
{
	(void)state;
	expect_error(USER("    exec: {command: aws, args: [s3cret]}\n"), NULL,
		     "config:7: 'exec' is not supported: profcol runs no programs; give the user "
		     "a token");
	expect_error(USER("    auth-provider: {name: gcp}\n"), NULL,
		     "config:7: 'auth-provider' is not supported");
	expect_error(USER("    username: admin\n    password: s3cret\n"), NULL,
		     "config:7: 'username' is not supported");
	expect_error(USER("    as: root\n    token: s3cret\n"), NULL,
		     "config:7: 'as' is not supported");
	expect_error(USER("    client-certificate: c.pem\n"), NULL, "go together");
	expect_error(USER("    client-key-data: s3cret+\n    client-certificate: c.pem\n"), NULL,
		     "config:7: 'client-key-data' is not PEM in base64");
	expect_error(USER("    token: [s3cret]\n"), NULL, "config:7: 'token' is not a text");
	expect_error(CLUSTER("server: 'https://k', proxy-url: 'http://p'"), NULL,
		     "config:4: 'proxy-url' is not supported");
	expect_error(CLUSTER("server: ''"), NULL, "config:4: the cluster has no 'server'");
	expect_error(CLUSTER("server: k, insecure-skip-tls-verify: 1"), NULL,
		     "neither true nor false");
}

static void what_is_missing_or_broken_is_told(void **state)
{
	(void)state;
	expect_error("a: 1\n", NULL, "config: it has no 'current-context'");
	expect_error("", NULL, "not a map");
	expect_error("- 1\n", NULL, "not a map");
	expect_error("a: b: c\n", NULL, "config:1: mapping values are not allowed");
	expect_error("a: \xff\n", NULL, "invalid leading UTF-8 octet");
	expect_error(two_clusters, "prof", "there is no 'prof' in 'contexts'");
	expect_error("current-context: x\n", NULL, "config:1: there is no 'x' in 'contexts'");
	expect_error("current-context: x\ncontexts: {name: x}\n", NULL,
		     "config:2: 'contexts' is not a list");
	expect_error("current-context: x\ncontexts: [{name: x}]\n", NULL, "has no 'context'");
	expect_error("current-context: x\ncontexts: [{name: x, context: {user: u}}]\n", NULL,
		     "has no 'cluster'");
	expect_error("current-context: x\ncontexts:\n- {name: x, context: {cluster: k}}\n- {name: "
		     "x, context: {cluster: k}}\n",
		     NULL, "config:4: there are two of the name 'x' in 'contexts'");
	expect_error("current-context: x\ncontexts:\n- {name: x, context: {cluster: k}}\n", NULL,
		     "config:3: there is no 'k' in 'clusters'");
}

static void what_is_too_large_is_refused(void **state)
{
	CLEANUP_FREE char *deep = malloc(200000);
	CLEANUP_FREE char *wide = malloc(200000);

	(void)state;
	memset(deep, '[', 199999);
	deep[199999] = '\0';
	expect_error(deep, NULL, "nested too deep");
	wide[0] = '[';
	for (size_t i = 1; i < 199999; i++)
		wide[i] = i % 2 ? '1' : ',';
	wide[199999] = '\0';
	expect_error(wide, NULL, "too long");
}

static void files_are_found_where_they_are(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	char directory[] = "/tmp/kubeconfig-XXXXXX", path[64], home[80];
	struct kubeconfig found;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/config", directory);
	file = fopen(path, "w");
	fputs(two_clusters, file);
	fclose(file);
	setenv("KUBECONFIG", path, 1);
	assert_null(kubeconfig_read(NULL, "dev", &found));
	snprintf(home, sizeof(home), "%s/me.token", directory);
	assert_string_equal(found.token_file, home);
	kubeconfig_deinit(&found);
	setenv("KUBECONFIG", "/a:/b", 1);
	error = kubeconfig_read("", NULL, &found);
	assert_non_null(strstr(profcol_error_message(error), "several files"));
	profcol_error_destroy(error);
	unsetenv("KUBECONFIG");
	setenv("HOME", directory, 1);
	error = kubeconfig_read("", NULL, &found);
	assert_non_null(strstr(profcol_error_message(error), "/.kube/config': No such file"));
	assert_null(kubeconfig_read(path, NULL, &found));
	kubeconfig_deinit(&found);
	unlink(path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_lead_to_servers),
		cmocka_unit_test(json_is_yaml_too),
		cmocka_unit_test(what_cannot_be_done_is_told_with_its_line),
		cmocka_unit_test(what_is_missing_or_broken_is_told),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(files_are_found_where_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
