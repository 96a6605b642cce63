// SPDX-License-Identifier: Apache-2.0
/* The pages that people look at: what is on them, and that nothing breaks out of them. */
#include "pages_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

extern const struct profcol_component profcol_extension_zpages;

static int setup(void **state)
{
	static struct pages_fixture fixture;

	pages_fixture_init(&fixture, &profcol_extension_zpages);
	fake_host_start(&fixture.fake);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	pages_fixture_deinit(*state);
	return 0;
}

static char *ask(struct pages_fixture *fixture, const char *target, int status)
{
	char *body;
	int got;

	body = pages_fixture_ask(fixture, target, &got);
	assert_int_equal(got, status);
	assert_int_equal(strncmp(body, "<!DOCTYPE html>", 15), 0);
	assert_string_equal(body + strlen(body) - 8, "</html>\n");
	return body;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

static void pipelines_show_their_components_and_how_they_are(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = NULL;

	pages_fixture_set(fixture, PROFCOL_STATUS_PERMANENT_ERROR, 1705627000500000000,
			  "disk gone");
	body = ask(fixture, "/debug/pipelinez", 200);
	assert_contains(body, "<h2 id=\"profiles/raw\">profiles/raw <span class=\"dim\">(mutates "
			      "data)</span></h2>");
	assert_contains(body, "<h2 id=\"profiles\">profiles</h2>");
	assert_contains(body, "<tr><td>receiver</td><td>profiling</td><td class=\"dim\">no</td>"
			      "<td>OK</td><td>20");
	assert_contains(body, "<tr><td>processor</td><td>filter</td><td>yes</td><td>OK</td>");
	assert_contains(body,
			"<tr><td>exporter</td><td>pprof/node</td><td class=\"dim\">no</td>"
			"<td class=\"bad\">permanent error</td><td>2024-01-19 01:16:40 UTC, ");
	assert_contains(body, " ago</td><td>disk gone</td></tr>");
	assert_contains(body, ", 1m 0s ago</td>");
	assert_string_equal(fixture->opened.endpoint, "localhost:55679");
}

static void the_service_says_what_it_is_and_since_when(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = ask(fixture, "/debug/servicez?x", 200), *later = NULL;

	assert_contains(body, "<tr><th>Version</th><td>1.2.3</td></tr>");
	assert_contains(body, "<tr><th>Started</th><td>20");
	assert_contains(body, "<tr><th>Ready since</th><td>20");
	fixture->view.ready = false;
	later = ask(fixture, "/debug/servicez", 200);
	assert_contains(later, "Not ready since");
}

static void each_page_leads_to_the_others(void **state)
{
	static const char *const paths[] = { "/debug/servicez", "/debug/pipelinez",
					     "/debug/extensionz", "/debug/featurez" };

	for (size_t i = 0; i < 4; i++) {
		CLEANUP_FREE char *body = ask(*state, paths[i], 200);

		for (size_t j = 0; j < 4; j++)
			assert_contains(body, paths[j]);
	}
}

static void extensions_are_on_a_page_of_their_own(void **state)
{
	CLEANUP_FREE char *body = ask(*state, "/debug/extensionz", 200);

	assert_contains(body, "<tr><td>extension</td><td>health_check</td>");
	assert_null(strstr(body, "profiling"));
}

static void there_is_nothing_else(void **state)
{
	static const char *const paths[] = { "/",
					     "/debug",
					     "/debug/",
					     "/debug/tracez",
					     "/debug/pipelinez/",
					     "/debug/../debug/servicez",
					     "/<script>" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		CLEANUP_FREE char *body = ask(*state, paths[i], 404);

		assert_contains(body, "href=\"/debug/pipelinez\"");
		assert_null(strstr(body, "script"));
	}
}

static void without_a_view_it_says_so(void **state)
{
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = NULL;

	fixture->no_view = true;
	body = ask(fixture, "/debug/pipelinez", 503);
	assert_contains(body, "try again");
}

static void no_text_breaks_out_of_the_page(void **state)
{
	static const char hostile[] = "<script>alert('x')</script>\"&\xff\xc3";
	struct pages_fixture *fixture = *state;
	CLEANUP_FREE char *body = NULL, *service = NULL;

	pages_fixture_set(fixture, PROFCOL_STATUS_PERMANENT_ERROR, 1, hostile);
	fixture->raw[0].id = hostile;
	fixture->pipelines[0].id = hostile;
	fixture->view.version = hostile;
	body = ask(fixture, "/debug/pipelinez", 200);
	service = ask(fixture, "/debug/servicez", 200);
	assert_null(strstr(body, "<script"));
	assert_null(strstr(service, "<script"));
	assert_contains(body, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;??");
	assert_contains(body, "<h2 id=\"&lt;script");
	assert_true(strings_is_utf8(body, strlen(body)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pipelines_show_their_components_and_how_they_are),
		TEST(the_service_says_what_it_is_and_since_when),
		TEST(each_page_leads_to_the_others),
		TEST(extensions_are_on_a_page_of_their_own),
		TEST(there_is_nothing_else),
		TEST(without_a_view_it_says_so),
		TEST(no_text_breaks_out_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
