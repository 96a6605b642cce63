// SPDX-License-Identifier: Apache-2.0
#include "host/commands/diagnosis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void add(struct diagnosis *diagnosis, const char *subject, enum profcol_verdict verdict,
		const char *detail, const char *effect, const char *remedy)
{
	const struct profcol_finding finding = { subject, verdict, detail, effect, remedy };

	diagnosis->base.add(&diagnosis->base, &finding);
}

static char *text_of(const struct diagnosis *diagnosis)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	diagnosis_print_text(diagnosis, stream);
	fclose(stream);
	return text;
}

static void what_is_missing_is_shown_with_effect_and_remedy(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "host", "");
	add(&diagnosis, "memory", PROFCOL_FINE, "no limit", "", "");
	diagnosis_begin(&diagnosis, "receiver", "profiling");
	add(&diagnosis, "capability BPF", PROFCOL_MISSING, "not held", "no samples", "grant it");
	add(&diagnosis, "/proc", PROFCOL_LACKING, "hidden", "no names", "remount it");
	diagnosis_begin(&diagnosis, "exporter", "debug");
	text = text_of(&diagnosis);
	assert_string_equal(text, "host\n"
				  "  ok       memory  no limit\n"
				  "\n"
				  "receiver profiling\n"
				  "  MISSING  capability BPF  not held\n"
				  "           so:  no samples\n"
				  "           fix: grant it\n"
				  "  lacking  /proc           hidden\n"
				  "           so:  no names\n"
				  "           fix: remount it\n"
				  "\n"
				  "1 missing, 1 lacking: profcol cannot do all that the "
				  "configuration asks for here.\n");
	assert_false(diagnosis_is_good(&diagnosis));
}

static void what_is_lacking_does_not_make_it_bad(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "host", "");
	assert_true(diagnosis_is_good(&diagnosis));
	add(&diagnosis, "memory", PROFCOL_LACKING, "little", "less", "more");
	assert_true(diagnosis_is_good(&diagnosis));
	text = text_of(&diagnosis);
	assert_non_null(strstr(text, "1 lacking: this configuration works here, with less.\n"));
}

static void foreign_bytes_tear_neither_line_nor_document(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *json = NULL;
	json_t *root;
	FILE *stream;
	size_t size;

	(void)state;
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "exporter", "pprof/\"a\"");
	add(&diagnosis, "directory", PROFCOL_MISSING, "\xff\n\x1b[31m", "e", "r\nm");
	text = text_of(&diagnosis);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "fix: r m\n"));
	stream = open_memstream(&json, &size);
	assert_true(diagnosis_print_json(&diagnosis, "1.2.3", stream));
	fclose(stream);
	root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "version")), "1.2.3");
	assert_true(json_is_false(json_object_get(root, "ok")));
	assert_int_equal(json_integer_value(json_object_get(root, "missing")), 1);
	json_decref(root);
}

static void an_error_becomes_detail_and_remedy(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	const struct profcol_finding *findings;

	(void)state;
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "host", "");
	findings_add_error(
		&diagnosis.base, "a", PROFCOL_MISSING, "e",
		profcol_error_create(PROFCOL_SYSTEM, "it failed: why; do this; or that"));
	findings_add_error(&diagnosis.base, "b", PROFCOL_LACKING, "e",
			   profcol_error_create(PROFCOL_SYSTEM, "it failed"));
	findings_add_error(
		&diagnosis.base, "c", PROFCOL_MISSING, "e",
		profcol_error_join(profcol_error_create(PROFCOL_SYSTEM, "one; mend it"),
				   profcol_error_create(PROFCOL_SYSTEM, "two; mend that")));
	assert_int_equal(diagnosis.parts.items[0].findings.count, 4);
	findings = diagnosis.parts.items[0].findings.items;
	assert_string_equal(findings[0].detail, "it failed: why");
	assert_string_equal(findings[0].remedy, "do this; or that");
	assert_string_equal(findings[1].detail, "it failed");
	assert_string_equal(findings[1].remedy, "");
	assert_string_equal(findings[2].detail, "one");
	assert_string_equal(findings[2].remedy, "mend it");
	assert_string_equal(findings[3].subject, "c");
	assert_string_equal(findings[3].detail, "two");
	assert_string_equal(findings[3].remedy, "mend that");
}

static void what_two_claim_only_the_first_has(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	struct profcol_error *error;

	(void)state;
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "extension", "file_storage");
	assert_null(findings_claim(&diagnosis.base, "directory '/q'", "move one"));
	assert_null(findings_claim(&diagnosis.base, "directory '/r'", "move one"));
	diagnosis_begin(&diagnosis, "extension", "file_storage/b");
	error = findings_claim(&diagnosis.base, "directory '/q'", "move one");
	assert_string_equal(profcol_error_message(error),
			    "directory '/q' is taken by extension file_storage of the same "
			    "configuration; move one");
	profcol_error_destroy(error);
}

static void a_listener_that_was_tried_is_held_for_the_others(void **state)
{
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis;
	struct profcol_http_settings settings = { .size = sizeof(settings) };
	PROFCOL_CLEANUP_ERROR struct profcol_error *same = NULL, *other = NULL;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	char endpoint[32], wider[32];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	close(fd);
	snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u", ntohs(address.sin_port));
	snprintf(wider, sizeof(wider), "0.0.0.0:%u", ntohs(address.sin_port));
	assert_true(diagnosis_init(&diagnosis));
	diagnosis_begin(&diagnosis, "host", "");
	settings.endpoint = endpoint;
	assert_null(diagnosis.base.try_http(&diagnosis.base, &settings));
	diagnosis_begin(&diagnosis, "extension", "zpages");
	same = diagnosis.base.try_http(&diagnosis.base, &settings);
	assert_non_null(same);
	assert_non_null(strstr(profcol_error_message(same), "is taken by service::telemetry"));
	settings.endpoint = wider;
	other = diagnosis.base.try_http(&diagnosis.base, &settings);
	assert_non_null(other);
	assert_non_null(strstr(profcol_error_message(other), "Address already in use"));
	settings.endpoint = "127.0.0.1:0";
	assert_null(diagnosis.base.try_http(&diagnosis.base, &settings));
	assert_null(diagnosis.base.try_http(&diagnosis.base, &settings));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_shown_with_effect_and_remedy),
		cmocka_unit_test(what_is_lacking_does_not_make_it_bad),
		cmocka_unit_test(foreign_bytes_tear_neither_line_nor_document),
		cmocka_unit_test(an_error_becomes_detail_and_remedy),
		cmocka_unit_test(what_two_claim_only_the_first_has),
		cmocka_unit_test(a_listener_that_was_tried_is_held_for_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
