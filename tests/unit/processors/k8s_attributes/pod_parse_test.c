// SPDX-License-Identifier: Apache-2.0
/* Lists and watches in pieces of every size, and what is larger, deeper or longer than it may be.
 */
#include "cluster_json.h"

#include "processors/k8s_attributes/pod_parse.h"
#include "processors/k8s_attributes/pod_tokens.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct log {
	FILE *to;
	char *text;
	size_t size;
	unsigned int left;                           /* events that are wanted; UINT_MAX = all */
	void (*look)(const struct pod_event *event); /* at each; NULL = nothing */
};

static bool note(void *context, const struct pod_event *event)
{
	static const char *const names[] = { "put",   "removed",   "bookmark",
					     "error", "oversized", "unknown" };
	struct log *log = context;

	fprintf(log->to, "%s %s%s%s\n", names[event->type],
		event->metadata ? event->metadata->name : "", event->incomplete ? "+" : "",
		event->resource_version);
	if (event->code)
		fprintf(log->to, "%u %s\n", event->code, event->message);
	if (log->look)
		log->look(event);
	return log->left == UINT_MAX || --log->left;
}

static struct profcol_error *feed(struct pod_parse *parse, const char *text, size_t length,
				  size_t piece)
{
	struct profcol_error *error = NULL;

	for (size_t at = 0; !error && at < length; at += piece)
		error = pod_parse_feed(parse, text + at, length - at < piece ? length - at : piece);
	return error ? error : pod_parse_end(parse);
}

struct reading {
	struct pod_parse *parse;
	struct log log;
	struct profcol_error *error;
};

static void reading_init(struct reading *reading, enum pod_form form, enum k8s_kind kind)
{
	*reading = (struct reading){ .log.left = UINT_MAX };
	reading->log.to = open_memstream(&reading->log.text, &reading->log.size);
	assert_non_null(reading->log.to);
	reading->parse = pod_parse_create(form, kind, note, &reading->log);
	assert_non_null(reading->parse);
}

static void reading_feed(struct reading *reading, const char *text, size_t length, size_t piece)
{
	reading->error = feed(reading->parse, text, length, piece);
	fflush(reading->log.to);
}

static void reading_deinit(struct reading *reading)
{
	fclose(reading->log.to);
	free(reading->log.text);
	pod_parse_destroy(reading->parse);
	profcol_error_destroy(reading->error);
}

/* All of the small sizes, some of the others. */
static size_t next_piece(size_t piece)
{
	return piece < 40 ? piece + 1 : piece * 3 / 2;
}

/* @text gives the events of @log, in pieces of all sizes. */
static void expect(enum pod_form form, const char *text, const char *log)
{
	size_t length = strlen(text);

	for (size_t piece = 1; piece <= length; piece = next_piece(piece)) {
		struct reading reading;

		reading_init(&reading, form, K8S_POD);
		reading_feed(&reading, text, length, piece);
		if (reading.error)
			fail_msg("%s", profcol_error_message(reading.error));
		assert_string_equal(reading.log.text, log);
		reading_deinit(&reading);
	}
}

/* It is given up after the events of @log. */
static void expect_error(enum pod_form form, const char *text, enum profcol_code code,
			 const char *words, const char *log)
{
	struct reading reading;

	reading_init(&reading, form, K8S_POD);
	reading_feed(&reading, text, strlen(text), 64);
	if (!reading.error)
		fail_msg("not refused: %.60s", text);
	if (profcol_error_code(reading.error) != code ||
	    !strstr(profcol_error_message(reading.error), words))
		fail_msg("%.60s: %s", text, profcol_error_message(reading.error));
	assert_string_equal(reading.log.text, log);
	reading_deinit(&reading);
}

/* ---- what is kept ---- */

static void expect_container(const struct k8s_container *container, enum k8s_container_role role,
			     const char *name, const char *image, const char *id,
			     const char *previous_id, uint32_t restart_count)
{
	assert_int_equal(container->role, role);
	assert_string_equal(container->name, name);
	assert_string_equal(container->image, image);
	assert_string_equal(container->id, id);
	assert_string_equal(container->previous_id, previous_id);
	assert_int_equal(container->restart_count, restart_count);
}

static void look_at_shop(const struct pod_event *event)
{
	const struct k8s_metadata *metadata = event->metadata;
	const struct k8s_pod *pod = event->pod;

	assert_ptr_equal(metadata, &pod->metadata);
	assert_string_equal(metadata->namespace, "shop");
	assert_string_equal(metadata->uid, "u-shop");
	assert_string_equal(metadata->creation_time, "2026-01-02T03:04:05Z");
	assert_int_equal(metadata->label_count, 2);
	assert_string_equal(metadata->labels[1].key, "pod-template-hash");
	assert_string_equal(metadata->labels[1].value, "7d9");
	assert_int_equal(metadata->annotation_count, 1);
	assert_string_equal(metadata->annotations[0].value, "a \"b\" \xc3\xbc");
	assert_int_equal(metadata->owner_count, 1);
	assert_string_equal(metadata->owners[0].api_version, "apps/v1");
	assert_string_equal(metadata->owners[0].kind, "ReplicaSet");
	assert_string_equal(metadata->owners[0].name, "shop-7d9");
	assert_string_equal(metadata->owners[0].uid, "u-rs");
	assert_true(metadata->owners[0].controller);
	assert_string_equal(pod->node_name, "n1");
	assert_string_equal(pod->hostname, "shop-0");
	assert_string_equal(pod->ip, "10.1.2.3");
	assert_string_equal(pod->start_time, "2026-01-02T03:04:06Z");
	assert_string_equal(pod->phase, "Running");
	assert_false(pod->host_network);
	assert_int_equal(pod->container_count, 3);
	expect_container(&pod->containers[0], K8S_CONTAINER_INIT, "wait", "busybox:1.36", "aaaa",
			 "", 0);
	expect_container(&pod->containers[1], K8S_CONTAINER_REGULAR, "web",
			 "registry.example/shop/web:2.1", "bbb2", "bbb1", 3);
	assert_string_equal(pod->containers[1].image_id, "registry.example/shop/web@sha256:22");
	expect_container(&pod->containers[2], K8S_CONTAINER_REGULAR, "side", "side", "ccc1", "", 1);
	assert_false(event->incomplete);
}

static void a_pod_has_what_attributes_are_made_of(void **state)
{
	static const char text[] = POD_LIST("7", "", SHOP_POD);
	struct reading reading;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece = next_piece(piece)) {
		reading_init(&reading, POD_FORM_LIST, K8S_POD);
		reading.log.look = look_at_shop;
		reading_feed(&reading, text, sizeof(text) - 1, piece);
		assert_null(reading.error);
		assert_string_equal(reading.log.text, "put shop-7d9-x2101\n");
		reading_deinit(&reading);
	}
}

static void look_at_small(const struct pod_event *event)
{
	const struct k8s_pod *pod = event->pod;

	if (!strcmp(event->metadata->name, "shop-7d9-x2"))
		return;
	// Nothing is left of the one before.
	assert_true(pod->host_network);
	assert_string_equal(pod->ip, "");
	assert_string_equal(pod->start_time, "");
	assert_int_equal(pod->container_count + event->metadata->label_count +
				 event->metadata->annotation_count + event->metadata->owner_count,
			 0);
}

static void one_pod_leaves_nothing_to_the_next(void **state)
{
	static const char text[] = POD_LIST("7", "", SHOP_POD "," SMALL_POD("b", "u-b", "5"));
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading.log.look = look_at_small;
	reading_feed(&reading, text, sizeof(text) - 1, 10);
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "put shop-7d9-x2101\nput b5\n");
	reading_deinit(&reading);
}

static void look_at_bare_pod(const struct pod_event *event)
{
	const struct k8s_pod *pod = event->pod;

	assert_int_equal(pod->container_count, 2);
	expect_container(&pod->containers[0], K8S_CONTAINER_REGULAR, "a", "", "", "", 0);
	// One that only the status knows of, and one that has just ended.
	expect_container(&pod->containers[1], K8S_CONTAINER_EPHEMERAL, "debug", "tools:1", "dddd",
			 "", 0);
	assert_string_equal(event->metadata->labels[0].value, "x?y?");
	assert_int_equal(event->metadata->label_count, 1);
	assert_false(event->metadata->owners[0].controller);
}

static void what_a_pod_lacks_is_empty(void **state)
{
	static const char text[] = POD_LIST(
		"1", "",
		"{\"status\":{\"ephemeralContainerStatuses\":[{\"name\":\"debug\","
		"\"image\":\"tools:1\",\"restartCount\":-1,\"state\":{\"terminated\":"
		"{\"containerID\":\"docker://dddd\"}}}],\"containerStatuses\":null},"
		"\"spec\":{\"containers\":[{\"name\":\"a\"}],\"nodeName\":null},"
		"\"metadata\":{\"uid\":\"u\",\"name\":\"n\",\"labels\":{\"a\":\"x\\u0000y\xff\""
		",\"b\":1,\"c\":{\"d\":\"e\"},\"f\":[\"g\"]},\"ownerReferences\":[{}]}}");
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading.log.look = look_at_bare_pod;
	reading_feed(&reading, text, sizeof(text) - 1, sizeof(text));
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "put n\n");
	reading_deinit(&reading);
}

static void look_at_namespace(const struct pod_event *event)
{
	assert_null(event->pod);
	assert_string_equal(event->metadata->uid, "u-ns");
	assert_string_equal(event->metadata->labels[0].value, "v");
}

/* Other kinds come with all of their description where the server knows no metadata alone. */
static void of_other_kinds_there_is_metadata(void **state)
{
	static const char text[] =
		"{\"kind\":\"NamespaceList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":["
		"{\"metadata\":{\"name\":\"shop\",\"uid\":\"u-ns\",\"labels\":{\"k\":\"v\"}},"
		"\"spec\":{\"nodeName\":\"x\"},\"status\":{\"phase\":\"Active\"}}]}";
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_NAMESPACE);
	reading.log.look = look_at_namespace;
	reading_feed(&reading, text, sizeof(text) - 1, 7);
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "put shop\n");
	reading_deinit(&reading);
}

/* ---- forms ---- */

static void lists_have_a_version_and_a_mark(void **state)
{
	static const char text[] = POD_LIST("7", ",\"continue\":\"abc==\",\"remainingItemCount\":3",
					    SMALL_POD("a", "u-a", "5"));
	static const char bare[] = "{\"items\":null,\"metadata\":{\"resourceVersion\":\"8\"}}";
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading_feed(&reading, text, sizeof(text) - 1, 3);
	assert_null(reading.error);
	assert_string_equal(pod_parse_version(reading.parse), "7");
	assert_string_equal(pod_parse_continue(reading.parse), "abc==");
	reading_deinit(&reading);
	// Wherever its metadata stands.
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading_feed(&reading, bare, sizeof(bare) - 1, 3);
	assert_null(reading.error);
	assert_string_equal(pod_parse_version(reading.parse), "8");
	assert_string_equal(pod_parse_continue(reading.parse), "");
	reading_deinit(&reading);
}

static void watches_have_events(void **state)
{
	(void)state;
	expect(POD_FORM_WATCH,
	       WATCH_EVENT("ADDED", SHOP_POD) WATCH_EVENT("MODIFIED", SMALL_POD("b", "u-b", "5"))
		       BOOKMARK("77") WATCH_EVENT("DELETED", SMALL_POD("b", "u-b", "78"))
			       WATCH_EVENT("NEW", SMALL_POD("b", "u-b", "79"))
				       WATCH_EVENT("ERROR", STATUS("410", "Expired", "too old")),
	       "put shop-7d9-x2101\nput b5\nbookmark 77\nremoved b78\nunknown 79\nerror \n"
	       "410 too old\n");
	// The type may come after the object; some have neither name nor uid.
	expect(POD_FORM_WATCH,
	       "{\"object\":" SMALL_POD(
		       "b", "u-b",
		       "5") ",\"type\":\"ADDED\"}\n"
			    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\"}}}\n"
			    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"uid\":\"x\"}}}",
	       "put b5\nunknown x\nunknown \n");
}

static void an_event_is_there_with_its_line(void **state)
{
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_WATCH, K8S_POD);
	assert_null(pod_parse_feed(reading.parse, BOOKMARK("1"), sizeof(BOOKMARK("1")) - 1));
	fflush(reading.log.to);
	assert_string_equal(reading.log.text, "bookmark 1\n");
	reading_deinit(&reading);
}

static void a_parse_ends_when_enough_is_there(void **state)
{
	static const char text[] = BOOKMARK("1") BOOKMARK("2") BOOKMARK("3");
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_WATCH, K8S_POD);
	reading.log.left = 2;
	reading_feed(&reading, text, sizeof(text) - 1, sizeof(text));
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "bookmark 1\nbookmark 2\n");
	reading_deinit(&reading);
}

static void what_is_no_answer_is_refused(void **state)
{
	(void)state;
	expect_error(POD_FORM_LIST, "<html>", PROFCOL_BAD_DATA, "lexical error", "");
	expect_error(POD_FORM_LIST, "[]", PROFCOL_BAD_DATA, "no object", "");
	expect_error(POD_FORM_LIST, "\"list\"", PROFCOL_BAD_DATA, "no object", "");
	expect_error(POD_FORM_LIST, "42 ", PROFCOL_BAD_DATA, "no object", "");
	expect_error(POD_FORM_LIST, "null ", PROFCOL_BAD_DATA, "no object", "");
	expect_error(POD_FORM_LIST, "{} {}", PROFCOL_BAD_DATA, "broken", "");
	expect_error(POD_FORM_LIST, "", PROFCOL_UNAVAILABLE, "in the middle", "");
	expect_error(POD_FORM_LIST, "{\"items\":[" SMALL_POD("a", "u", "1"), PROFCOL_UNAVAILABLE,
		     "in the middle", "put a1\n");
	expect_error(POD_FORM_WATCH, "{\"type\":\"ADDED\"}", PROFCOL_BAD_DATA, "no object", "");
	expect_error(POD_FORM_WATCH, BOOKMARK("1") "{\"type\":]", PROFCOL_BAD_DATA, "parse error",
		     "bookmark 1\n");
}

/* ---- bounds ---- */

static char *repeat(const char *text, size_t count)
{
	char *all = malloc(strlen(text) * count + 1);

	assert_non_null(all);
	for (size_t i = 0; i < count; i++)
		memcpy(all + i * strlen(text), text, strlen(text));
	all[strlen(text) * count] = '\0';
	return all;
}

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	assert_true(vasprintf(&text, format, arguments) >= 0);
	va_end(arguments);
	return text;
}

static void objects_that_are_too_large_are_passed_over(void **state)
{
	CLEANUP_FREE char *ports = repeat("{\"containerPort\":8080},", 60000);
	CLEANUP_FREE char *list =
		print(POD_LIST("7", ",\"continue\":\"m\"",
			       SMALL_POD("a", "u-a", "5") ",{\"metadata\":{\"name\":\"huge\","
							  "\"uid\":\"u\"},\"spec\":{\"ports\":"
							  "[%s{}]}}," SMALL_POD("b", "u-b", "6")),
		      ports);
	CLEANUP_FREE char *watch =
		print("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"huge\",\"uid\":"
		      "\"u\"},\"spec\":{\"ports\":[%s{}]},\"x\":{\"y\":1}}}\n" BOOKMARK("8"),
		      ports);
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading_feed(&reading, list, strlen(list), 9999);
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "put a5\noversized \nput b6\n");
	assert_string_equal(pod_parse_continue(reading.parse), "m");
	reading_deinit(&reading);
	reading_init(&reading, POD_FORM_WATCH, K8S_POD);
	reading_feed(&reading, watch, strlen(watch), 9999);
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "oversized \nbookmark 8\n");
	reading_deinit(&reading);
}

static void objects_that_are_nested_too_deep_are_passed_over(void **state)
{
	CLEANUP_FREE char *open = repeat("{\"a\":", POD_PARSE_DEPTH_MAX);
	CLEANUP_FREE char *close = repeat("}", POD_PARSE_DEPTH_MAX);
	CLEANUP_FREE char *list = print(
		POD_LIST("7", "",
			 SMALL_POD("a", "u-a", "5") ",{\"metadata\":{\"name\":\"deep\","
						    "\"uid\":\"u\"},\"spec\":%s1%s}," SMALL_POD(
							    "b", "u-b", "6")),
		open, close);

	(void)state;
	expect(POD_FORM_LIST, list, "put a5\noversized \nput b6\n");
}

static void look_at_texts(const struct pod_event *event)
{
	assert_int_equal(event->metadata->annotation_count, 2);
	assert_string_equal(event->metadata->annotations[0].key, "first");
	assert_int_equal(strlen(event->metadata->annotations[0].value), K8S_TEXT_MAX);
	assert_string_equal(event->metadata->annotations[1].value, "v");
	assert_int_equal(event->pod->container_count, 1);
}

/* Whoever may make pods may make them large, and still is to be told from others. */
static void texts_that_are_too_long_are_left_out(void **state)
{
	CLEANUP_FREE char *fits = repeat("x", K8S_TEXT_MAX);
	CLEANUP_FREE char *just_not = repeat("\\\"", K8S_TEXT_MAX + 1);
	CLEANUP_FREE char *huge = repeat("\\u12ab\\\\\\\"", 60000);
	CLEANUP_FREE char *text =
		print("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
		      "\"annotations\":{\"first\":\"%s\",\"no\":\"%s\",\"never\":\"%s\",\"%s\":"
		      "\"w\",\"last\":\"v\"}},\"spec\":{\"containers\":[{\"env\":[{\"value\":"
		      "\"%s\"}],\"name\":\"c\"}]}}}",
		      fits, just_not, huge, just_not, just_not);

	(void)state;
	for (size_t piece = 1000; piece < 1004; piece++) {
		struct reading reading;

		reading_init(&reading, POD_FORM_WATCH, K8S_POD);
		reading.log.look = look_at_texts;
		reading_feed(&reading, text, strlen(text), piece);
		assert_null(reading.error);
		assert_string_equal(reading.log.text, "put n+\n");
		reading_deinit(&reading);
	}
}

static void look_at_counts(const struct pod_event *event)
{
	assert_int_equal(event->metadata->label_count, K8S_LABELS_MAX);
	assert_int_equal(event->metadata->owner_count, K8S_OWNERS_MAX);
	assert_int_equal(event->pod->container_count, K8S_CONTAINERS_MAX);
}

static void what_is_too_many_is_left_out(void **state)
{
	CLEANUP_FREE char *labels = repeat("\"l\":\"v\",", K8S_LABELS_MAX);
	CLEANUP_FREE char *owners = repeat("{\"name\":\"o\"},", K8S_OWNERS_MAX);
	CLEANUP_FREE char *containers = repeat("{\"name\":\"c\"},", K8S_CONTAINERS_MAX);
	CLEANUP_FREE char *text =
		print(POD_LIST("1", "",
			       "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"labels\":{%s\"last\":"
			       "\"v\"},\"ownerReferences\":[%s{\"name\":\"p\"}]},\"spec\":"
			       "{\"containers\":[%s{\"name\":\"d\"}]},\"status\":"
			       "{\"containerStatuses\":[%s{\"name\":\"e\"}]}}"),
		      labels, owners, containers, containers);
	struct reading reading;

	(void)state;
	reading_init(&reading, POD_FORM_LIST, K8S_POD);
	reading.log.look = look_at_counts;
	reading_feed(&reading, text, strlen(text), strlen(text));
	assert_null(reading.error);
	assert_string_equal(reading.log.text, "put n+\n");
	reading_deinit(&reading);
}

static void what_has_no_end_is_refused(void **state)
{
	CLEANUP_FREE char *deep = repeat("{\"a\":", POD_PARSE_DEPTH_REFUSED + 1);
	CLEANUP_FREE char *digits = repeat("1", POD_TOKENS_WORD_MAX + 1);
	CLEANUP_FREE char *mark = repeat("m", POD_PARSE_CONTINUE_MAX + 1);
	CLEANUP_FREE char *number = print("{\"a\":%s", digits);
	CLEANUP_FREE char *list = print("{\"metadata\":{\"continue\":\"%s\"}}", mark);

	(void)state;
	expect_error(POD_FORM_LIST, deep, PROFCOL_BAD_DATA, "too deep", "");
	expect_error(POD_FORM_WATCH, number, PROFCOL_BAD_DATA, "too many digits", "");
	expect_error(POD_FORM_LIST, list, PROFCOL_BAD_DATA, "too long", "");
}

static void a_refusal_has_a_message(void **state)
{
	static const char text[] = STATUS("403", "Forbidden", "pods is\\nforbidden: \xc3\xbc");
	char message[64];

	(void)state;
	pod_parse_status(text, sizeof(text) - 1, message, sizeof(message));
	assert_string_equal(message, "pods is forbidden: \xc3\xbc");
	// It may have been cut, and so may the message.
	pod_parse_status(text, sizeof(text) - 20, message, sizeof(message));
	assert_string_equal(message, "pods is forbidden: \xc3\xbc");
	pod_parse_status(text, sizeof(text) - 1, message, sizeof("pods is forbidden: 1"));
	assert_string_equal(message, "pods is forbidden: ?");
	pod_parse_status("Unauthorized", 12, message, sizeof(message));
	assert_string_equal(message, "");
	pod_parse_status("", 0, message, sizeof(message));
	assert_string_equal(message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_has_what_attributes_are_made_of),
		cmocka_unit_test(one_pod_leaves_nothing_to_the_next),
		cmocka_unit_test(what_a_pod_lacks_is_empty),
		cmocka_unit_test(of_other_kinds_there_is_metadata),
		cmocka_unit_test(lists_have_a_version_and_a_mark),
		cmocka_unit_test(watches_have_events),
		cmocka_unit_test(an_event_is_there_with_its_line),
		cmocka_unit_test(a_parse_ends_when_enough_is_there),
		cmocka_unit_test(what_is_no_answer_is_refused),
		cmocka_unit_test(objects_that_are_too_large_are_passed_over),
		cmocka_unit_test(objects_that_are_nested_too_deep_are_passed_over),
		cmocka_unit_test(texts_that_are_too_long_are_left_out),
		cmocka_unit_test(what_is_too_many_is_left_out),
		cmocka_unit_test(what_has_no_end_is_refused),
		cmocka_unit_test(a_refusal_has_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
