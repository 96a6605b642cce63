// SPDX-License-Identifier: Apache-2.0
#include "profile_page.h"

#include "base/base.h"
#include "confighttp/confighttp.h"
#include "http/http.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 16, NODES_MAX = 1000000 };

static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
			     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct serving {
	char prefix[2 + 2 * SECRET_BYTES + 1]; /* "/0123.../" */
	char *page;                            /* owned */
	size_t length;
};

static void serving_deinit(struct serving *serving)
{
	free(serving->page);
}

/* The page with the data in it, and its script and style beside it: these are this server's. */
static struct profcol_error *make_page(struct serving *serving, struct flame *flame, bool has_base)
{
	const struct flame_json_settings settings = { .nodes_max = NODES_MAX,
						      .has_base = has_base };
	FILE *stream = open_memstream(&serving->page, &serving->length);
	struct profcol_error *error;

	if (!stream)
		return profcol_error_errno(ENOMEM, "make the page");
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	      "<title>profcol</title>\n<link rel=\"stylesheet\" href=\"app.css\"></head>\n"
	      "<body><script type=\"application/json\" id=\"data\">",
	      stream);
	error = flame_write_json(flame, &settings, stream);
	fputs("</script>\n<script src=\"app.js\"></script></body></html>\n", stream);
	if (fclose(stream) && !error)
		error = profcol_error_errno(ENOMEM, "make the page");
	return error;
}

static void copy(struct profcol_http_answer *answer, const char *type, const char *bytes,
		 size_t length)
{
	answer->reply.body = malloc(length + 1);
	answer->reply.status = answer->reply.body ? 200 : 503;
	if (!answer->reply.body)
		return;
	memcpy(answer->reply.body, bytes, length);
	answer->reply.length = length;
	answer->reply.content_type = type;
}

static void take(void *context, struct profcol_http_call *call)
{
	static const struct profcol_list no_others;
	const struct serving *serving = context;
	struct profcol_http_answer answer = { .size = sizeof(answer), .reply.status = 404 };
	const char *path = call->request.path;
	size_t length = strlen(serving->prefix);
	struct profcol_text script = flame_asset(FLAME_SCRIPT), style = flame_asset(FLAME_STYLE);

	if (!confighttp_is_known_host(call->host, &no_others)) {
		answer.reply.status = 421;
	} else if (!strncmp(path, serving->prefix, length)) {
		path += length;
		if (!*path)
			copy(&answer, "text/html; charset=utf-8", serving->page, serving->length);
		else if (!strcmp(path, "app.js"))
			copy(&answer, "text/javascript; charset=utf-8", script.bytes,
			     script.length);
		else if (!strcmp(path, "app.css"))
			copy(&answer, "text/css; charset=utf-8", style.bytes, style.length);
		answer.policy = policy;
	}
	http_answer(call, &answer);
}

/* Until one of the signals that ask for an end has come; they are blocked. */
static void wait_for_end(const sigset_t *ends)
{
	int number;

	while (sigwait(ends, &number))
		continue;
}

static struct profcol_error *serve(struct serving *serving, const sigset_t *ends, FILE *stream)
{
	const struct profcol_http_settings settings = {
		.size = sizeof(settings),
		.endpoint = "localhost:0",
		.take = take,
		.context = serving,
	};
	struct profcol_http_listener *listener = NULL;
	struct http_server *server = NULL;
	struct profcol_error *error = http_server_create(&server);

	if (!error)
		error = http_server_open(server, &settings, &listener);
	if (!error) {
		fprintf(stream, "open http://%s%s in a browser; Ctrl-C ends\n",
			http_listener_address(listener), serving->prefix);
		fflush(stream);
		wait_for_end(ends);
	}
	http_listener_close(listener);
	http_server_destroy(server);
	return error;
}

struct profcol_error *profile_page_serve(struct flame *flame, bool has_base, FILE *stream)
{
	CLEANUP(serving_deinit) struct serving serving = { 0 };
	uint8_t secret[SECRET_BYTES];
	char digits[2 * SECRET_BYTES + 1];
	struct profcol_error *error;
	sigset_t ends, before;

	if (!flame_asset(FLAME_SCRIPT).bytes)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"this program was built without the page; build it with "
			"-DPROFCOL_PAGE=ON, or write a picture: -o FILE.svg");
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return profcol_error_errno(errno, "make an address");
	strings_hex(digits, secret, sizeof(secret));
	snprintf(serving.prefix, sizeof(serving.prefix), "/%s/", digits);
	error = make_page(&serving, flame, has_base);
	if (error)
		return error;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	error = serve(&serving, &ends, stream);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
