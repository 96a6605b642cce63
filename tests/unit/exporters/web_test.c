// SPDX-License-Identifier: Apache-2.0
/* The exporter web as its host and its clients see it: who may ask, and what each path gives. */
#include "fake_host.h"
#include "web_batches.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/component.h>
#include <profcol/http.h>

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

extern const struct profcol_component profcol_exporter_web;

/* The clock goes on when the test says so: waiting is for nobody. */
static atomic_uint_least64_t clock_ahead_ns;

uint64_t __real_clock_realtime_ns(void);
uint64_t __wrap_clock_realtime_ns(void);
uint64_t __wrap_clock_realtime_ns(void)
{
	return __real_clock_realtime_ns() + atomic_load(&clock_ahead_ns);
}

#define TOKEN "0123456789abcdef0123456789abcdef"

/* The host's server: of one listener, whose calls the test makes. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct profcol_http_settings settings;
	bool open;
} server = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

struct call {
	struct profcol_http_call base;
	struct profcol_http_answer answer;
	bool answered;
	bool gone;
};

static struct profcol_error *http_open(const struct profcol_host *host,
				       const struct profcol_http_settings *settings,
				       struct profcol_http_listener **ret)
{
	(void)host;
	server.settings = *settings;
	server.open = true;
	*ret = (struct profcol_http_listener *)&server;
	return NULL;
}

static void http_close(struct profcol_http_listener *listener)
{
	if (listener)
		server.open = false;
}

static void http_answer(struct profcol_http_call *base, const struct profcol_http_answer *answer)
{
	struct call *call = (struct call *)base;

	pthread_mutex_lock(&server.lock);
	assert_false(call->answered);
	call->answer = *answer;
	call->answered = true;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
}

static bool http_is_gone(const struct profcol_http_call *base)
{
	const struct call *call = (const struct call *)base;
	bool gone;

	pthread_mutex_lock(&server.lock);
	gone = call->gone;
	pthread_mutex_unlock(&server.lock);
	return gone;
}

static void visit_accounts(const struct profcol_host *host,
			   void (*visit)(void *context, const char *kind, const char *id,
					 enum profcol_outcome outcome, const char *cause,
					 uint64_t samples),
			   void *context)
{
	(void)host;
	visit(context, "receiver", "profiling", PROFCOL_TAKEN, NULL, 100);
	visit(context, "receiver", "profiling", PROFCOL_LOST, "ring_buffer_full", 7);
}

static void call_init(struct call *call, const char *path, const char *query)
{
	*call = (struct call){
		.base = { .size = sizeof(call->base),
			  .request = { path, query },
			  .host = "localhost:7020",
			  .authorization = "" },
	};
}

static void call_send(struct call *call)
{
	server.settings.take(server.settings.context, &call->base);
}

static void call_wait(struct call *call)
{
	pthread_mutex_lock(&server.lock);
	while (!call->answered)
		pthread_cond_wait(&server.changed, &server.lock);
	pthread_mutex_unlock(&server.lock);
}

static int ask(struct call *call, const char *path, const char *query)
{
	call_init(call, path, query);
	call_send(call);
	call_wait(call);
	return call->answer.reply.status;
}

static void call_deinit(struct call *call)
{
	free(call->answer.reply.body);
}

static int status_of(const char *path, const char *query)
{
	CLEANUP(call_deinit) struct call call;

	return ask(&call, path, query);
}

/* ---- the exporter ---- */

static void prepare(struct fake_host *fake)
{
	fake_host_init(fake, &profcol_exporter_web);
	fake->host.http_open = http_open;
	fake->host.http_close = http_close;
	fake->host.http_answer = http_answer;
	fake->host.http_is_gone = http_is_gone;
	fake->host.visit_accounts = visit_accounts;
	fake_host_set_text(fake, "endpoint", "localhost:7020");
	fake_host_set_text(fake, "token_file", "");
	fake_host_set_int(fake, "retention", 3600 * PROFCOL_SECOND);
	fake_host_set_int(fake, "memory", 32 << 20);
	fake_host_set_int(fake, "query_timeout", 60 * PROFCOL_SECOND);
	fake_host_set_text(fake, "tls.min_version", "");
	fake_host_set_text(fake, "tls.max_version", "");
	fake_host_set_text(fake, "tls.client_ca_file", "");
	fake_host_set_text(fake, "auth.authenticator", "");
}

static void end(struct fake_host *fake)
{
	fake_host_shutdown(fake);
	assert_false(server.open);
	fake_host_deinit(fake);
}

/* Wait until @samples have been taken in. */
static void wait_exported(struct fake_host *fake, uint64_t samples)
{
	while (atomic_load(&fake->exported) < samples)
		sched_yield();
}

static uint64_t feed(struct fake_host *fake, uint64_t seed, uint32_t count)
{
	struct web_chance chance = { seed };
	uint64_t now = clock_realtime_ns(), samples = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_batch *batch =
			web_batch(&chance, i, now - (count - i) * 5 * PROFCOL_SECOND);

		samples += profcol_batch_events(batch);
		fake_host_consume(fake, batch);
	}
	return samples;
}

static json_t *ask_json(const char *path, const char *query)
{
	CLEANUP(call_deinit) struct call call;
	json_error_t problem;
	json_t *json;

	if (ask(&call, path, query) != 200)
		fail_msg("%s", call.answer.reply.body);
	assert_string_equal(call.answer.reply.content_type, "application/json");
	json = json_loadb(call.answer.reply.body, call.answer.reply.length, 0, &problem);
	if (!json)
		fail_msg("%s in %s", problem.text, call.answer.reply.body);
	return json;
}

static int64_t sum_of(json_t *array)
{
	int64_t sum = 0;
	size_t i;
	json_t *value;

	json_array_foreach(array, i, value) sum += json_integer_value(value);
	return sum;
}

static void what_comes_in_can_be_asked_for(void **state)
{
	struct fake_host fake;
	uint64_t samples;
	json_t *flame, *status, *load, *top;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	samples = feed(&fake, 5, 10);
	wait_exported(&fake, samples);
	assert_int_equal(atomic_load(&fake.lost), 0);
	status = ask_json("/api/status.json", "");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(status, "samples"), "kept")),
		samples);
	assert_int_equal(json_array_size(json_object_get(status, "account")), 2);
	flame = ask_json("/api/flame.json", "type=samples&group=service.name");
	assert_true(json_integer_value(json_object_get(flame, "total")) > 0);
	assert_int_equal(sum_of(json_object_get(json_object_get(flame, "nodes"), "self")),
			 json_integer_value(json_object_get(flame, "total")));
	load = ask_json("/api/load.json", "type=samples");
	assert_int_equal(json_array_size(json_object_get(load, "slices")), 10);
	top = ask_json("/api/top.json", "type=samples");
	assert_true(json_array_size(json_object_get(top, "functions")) > 10);
	json_decref(flame);
	json_decref(status);
	json_decref(load);
	json_decref(top);
	end(&fake);
}

static void every_path_has_its_kind_of_answer(void **state)
{
	static const struct {
		const char *path, *type, *begin;
	} paths[] = {
		{ "/", "text/html; charset=utf-8", "<!doctype html>" },
		{ "/debug/pprof/", "text/html; charset=utf-8", "<!doctype html>" },
		{ "/api/profile.svg", "image/svg+xml", "<svg " },
		{ "/api/profile.folded", NULL, "" },
		{ "/api/profile.otlp", "application/x-protobuf", "" },
		{ "/api/profile.pb.gz", "application/octet-stream", "\x1f\x8b" },
	};
	struct fake_host fake;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	wait_exported(&fake, feed(&fake, 6, 3));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		CLEANUP(call_deinit) struct call call;
		const struct profcol_http_reply *reply = &call.answer.reply;

		assert_int_equal(ask(&call, paths[i].path, ""), 200);
		if (paths[i].type)
			assert_string_equal(reply->content_type, paths[i].type);
		assert_memory_equal(reply->body, paths[i].begin, strlen(paths[i].begin));
		// Whatever the service is called, it is no markup.
		if (paths[i].type && strcmp(paths[i].type, "application/x-protobuf") != 0)
			assert_null(memmem(reply->body, reply->length, "<script>alert", 13));
	}
	assert_int_equal(status_of("/api/flame.json", "where=nonsense"), 400);
	assert_int_equal(status_of("/api/flame.json", "from=never"), 400);
	assert_int_equal(status_of("/nothing", ""), 404);
	assert_int_equal(status_of("/api/../etc/passwd", ""), 404);
	assert_int_equal(status_of("/debug/pprof/heap", ""), 404);
	assert_int_equal(status_of("/debug/pprof/offcpu", "from=now-1h"), 200);
	end(&fake);
}

static void a_saved_page_has_its_own_policy(void **state)
{
	struct fake_host fake;
	CLEANUP(call_deinit) struct call call;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	wait_exported(&fake, feed(&fake, 6, 3));
	if (status_of("/app.js", "") == 404) { // built without the page
		assert_int_equal(ask(&call, "/api/profile.html", ""), 503);
	} else {
		assert_int_equal(ask(&call, "/api/profile.html", ""), 200);
		assert_non_null(memmem(call.answer.reply.body, call.answer.reply.length,
				       "script-src 'sha256-", 19));
		assert_null(memmem(call.answer.reply.body, call.answer.reply.length,
				   "<script>alert", 13));
	}
	end(&fake);
}

/* ---- profiles from now on ---- */

static void a_profile_from_now_on_ends_when_its_time_is_covered(void **state)
{
	const struct pprof_decode_limits limits = { 64 << 20, 64 << 20, NULL };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *decoded = NULL;
	struct web_chance chance = { 8 };
	struct fake_host fake;
	CLEANUP(call_deinit) struct call call;
	struct profcol_batch *before, *after;
	uint64_t now, samples;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	now = clock_realtime_ns();
	before = web_batch(&chance, 1, now - 60 * PROFCOL_SECOND);
	samples = profcol_batch_events(before);
	fake_host_consume(&fake, before);
	wait_exported(&fake, samples);
	call_init(&call, "/debug/pprof/profile", "seconds=1");
	call_send(&call);
	// Until the server has it, nothing counts for it; what is asked after it is answered after.
	assert_int_equal(status_of("/api/status.json", ""), 200);
	atomic_fetch_add(&clock_ahead_ns, 6 * PROFCOL_SECOND);
	after = web_batch(&chance, 2, now);
	samples += profcol_batch_events(after);
	fake_host_consume(&fake, after);
	call_wait(&call);
	assert_int_equal(call.answer.reply.status, 200);
	assert_no_error(pprof_decode((const uint8_t *)call.answer.reply.body,
				     call.answer.reply.length, &limits, &decoded));
	wait_exported(&fake, samples);
	end(&fake);
}

static void who_has_left_ends_nothing_but_his_own(void **state)
{
	struct fake_host fake;
	CLEANUP(call_deinit) struct call call;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	call_init(&call, "/debug/pprof/profile", "seconds=600");
	call_send(&call);
	assert_int_equal(status_of("/api/status.json", ""), 200);
	pthread_mutex_lock(&server.lock);
	call.gone = true;
	pthread_mutex_unlock(&server.lock);
	call_wait(&call);
	end(&fake);
}

static void profiles_that_are_taken_are_few_and_end_with_the_program(void **state)
{
	enum { TOO_MANY = 6 };
	struct fake_host fake;
	struct call calls[TOO_MANY];
	int refused = 0;

	(void)state;
	prepare(&fake);
	fake_host_start(&fake);
	for (size_t i = 0; i < TOO_MANY; i++) {
		call_init(&calls[i], "/debug/pprof/profile", "seconds=600");
		call_send(&calls[i]);
	}
	assert_int_equal(status_of("/api/status.json", ""), 200);
	for (size_t i = 0; i < TOO_MANY; i++)
		refused += calls[i].answered;
	assert_int_equal(refused, TOO_MANY - 4);
	fake_host_shutdown(&fake);
	for (size_t i = 0; i < TOO_MANY; i++) {
		call_wait(&calls[i]);
		assert_int_equal(calls[i].answer.reply.status, 503);
		call_deinit(&calls[i]);
	}
	fake_host_deinit(&fake);
}

/* ---- access ---- */

static int status_with(const char *host, const char *authorization)
{
	CLEANUP(call_deinit) struct call call;

	call_init(&call, "/api/status.json", "");
	call.base.host = host;
	call.base.authorization = authorization;
	call_send(&call);
	call_wait(&call);
	return call.answer.reply.status;
}

static void names_of_others_lead_nowhere(void **state)
{
	static const char *const hosts[] = { "profiles.example" };
	struct fake_host fake;

	(void)state;
	prepare(&fake);
	fake_host_set_list(&fake, "hosts", hosts, 1);
	fake_host_start(&fake);
	assert_int_equal(status_with("localhost", ""), 200);
	assert_int_equal(status_with("LOCALHOST:1234", ""), 200);
	assert_int_equal(status_with("127.0.0.1:7020", ""), 200);
	assert_int_equal(status_with("[::1]:7020", ""), 200);
	assert_int_equal(status_with("10.0.0.7", ""), 200);
	assert_int_equal(status_with("profiles.example.:7020", ""), 200);
	assert_int_equal(status_with("", ""), 200);
	assert_int_equal(status_with("evil.example", ""), 421);
	assert_int_equal(status_with("localhost.evil.example", ""), 421);
	assert_int_equal(status_with("127.0.0.1.evil.example", ""), 421);
	assert_int_equal(status_with("[::1].evil.example", ""), 421);
	assert_int_equal(status_with("[", ""), 421);
	assert_int_equal(status_with(":80", ""), 421);
	end(&fake);
}

/* A file with @text in it; the path is the caller's to unlink. */
static void write_token(char path[32], const char *text)
{
	FILE *file;
	int fd;

	strcpy(path, "/tmp/web_test.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void a_token_is_asked_for_in_both_ways(void **state)
{
	struct fake_host fake;
	char path[32], basic[256] = "Basic ", encoded[200];
	static const char pair[] = "anybody:" TOKEN;

	(void)state;
	write_token(path, TOKEN "\n");
	prepare(&fake);
	fake_host_set_text(&fake, "endpoint", "0.0.0.0:7020");
	fake_host_set_text(&fake, "token_file", path);
	fake_host_start(&fake);
	strings_base64(encoded, pair, strlen(pair));
	strcat(basic, encoded);
	assert_int_equal(status_with("localhost", "Bearer " TOKEN), 200);
	assert_int_equal(status_with("localhost", "bearer  " TOKEN), 200);
	assert_int_equal(status_with("localhost", basic), 200);
	assert_int_equal(status_with("localhost", ""), 401);
	assert_int_equal(status_with("localhost", "Bearer"), 401);
	assert_int_equal(status_with("localhost", "Bearer "), 401);
	assert_int_equal(status_with("localhost", "Bearer " TOKEN "0"), 401);
	assert_int_equal(status_with("localhost", "Bearer 0123456789abcdef"), 401);
	assert_int_equal(status_with("localhost", "Basic " TOKEN), 401);
	assert_int_equal(status_with("localhost", "Basic ===="), 401);
	assert_int_equal(status_with("localhost", "Digest " TOKEN), 401);
	// Nobody learns without it what is there.
	assert_int_equal(status_with("evil.example", "Bearer " TOKEN), 421);
	end(&fake);
	unlink(path);
}

static void a_configuration_that_shows_profiles_to_all_is_none(void **state)
{
	static const char *const open[] = { "0.0.0.0:7020", ":7020", "[::]:7020", "10.0.0.1:7020",
					    "node.example:7020" };
	static const char *const closed[] = { "localhost:7020", "127.0.0.1:7020", "127.3.2.1:1",
					      "[::1]:7020" };
	struct fake_host fake;

	(void)state;
	prepare(&fake);
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		struct profcol_error *error;

		fake_host_set_text(&fake, "endpoint", open[i]);
		error = profcol_exporter_web.validate(fake.config);
		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), "set token_file"));
		profcol_error_destroy(error);
	}
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		fake_host_set_text(&fake, "endpoint", closed[i]);
		assert_no_error(profcol_exporter_web.validate(fake.config));
	}
	fake_host_deinit(&fake);
}

static void a_token_that_can_be_guessed_is_refused(void **state)
{
	static const char controls[] = "\1\2\3\4\5\6\7\1\2\3\4\5\6\7\1\2\3\4\5\6\7";
	static const char *const tokens[] = { "", "short", "with blanks in the middle of it",
					      controls };

	(void)state;
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		struct fake_host fake;
		struct profcol_error *error;
		char path[32];

		write_token(path, tokens[i]);
		prepare(&fake);
		fake_host_set_text(&fake, "token_file", path);
		error = fake_host_try_start(&fake);
		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), "token_file: "));
		// The token itself is in no message.
		assert_true(!tokens[i][0] || !strstr(profcol_error_message(error), tokens[i]));
		profcol_error_destroy(error);
		fake_host_shutdown(&fake);
		fake_host_deinit(&fake);
		unlink(path);
	}
}

/* ---- too much ---- */

static void all_that_was_given_is_exported_or_lost(void **state)
{
	struct fake_host fake;
	uint64_t samples = 0;

	(void)state;
	prepare(&fake);
	fake_host_set_int(&fake, "memory", 1 << 20);
	fake_host_start(&fake);
	for (uint64_t i = 0; i < 20; i++)
		samples += feed(&fake, i + 1, 10);
	fake_host_shutdown(&fake);
	assert_int_equal(atomic_load(&fake.exported) + atomic_load(&fake.lost), samples);
	assert_int_equal(atomic_load(&fake.lost), fake_host_lost_by(&fake, "inbox_full"));
	fake_host_deinit(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_in_can_be_asked_for),
		cmocka_unit_test(every_path_has_its_kind_of_answer),
		cmocka_unit_test(a_saved_page_has_its_own_policy),
		cmocka_unit_test(a_profile_from_now_on_ends_when_its_time_is_covered),
		cmocka_unit_test(who_has_left_ends_nothing_but_his_own),
		cmocka_unit_test(profiles_that_are_taken_are_few_and_end_with_the_program),
		cmocka_unit_test(names_of_others_lead_nowhere),
		cmocka_unit_test(a_token_is_asked_for_in_both_ways),
		cmocka_unit_test(a_configuration_that_shows_profiles_to_all_is_none),
		cmocka_unit_test(a_token_that_can_be_guessed_is_refused),
		cmocka_unit_test(all_that_was_given_is_exported_or_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
