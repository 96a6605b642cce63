// SPDX-License-Identifier: Apache-2.0
#include "later.h"

#include "connection.h"
#include "http.h"
#include "request.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

struct call {
	struct profcol_http_call base;
	struct http_later *later;           /* borrowed */
	struct http_connection *connection; /* the server's thread alone; NULL: the client left */
	atomic_bool gone;                   /* the same, for the component */
	struct profcol_http_answer answer;  /* its body is owned, once it is there */
	struct call *next;
	char texts[]; /* of the request, behind one another */
};

struct http_later {
	int wake; /* borrowed */
	pthread_mutex_t lock;
	struct call *answered; /* owned; under the lock; the last one first */
};

static struct call *call_of(const struct profcol_http_call *base)
{
	return (struct call *)((uintptr_t)base - offsetof(struct call, base));
}

struct http_later *http_later_create(int wake)
{
	struct http_later *later = calloc(1, sizeof(*later));

	if (!later)
		return NULL;
	later->wake = wake;
	pthread_mutex_init(&later->lock, NULL);
	return later;
}

/* In the order in which they came. */
static struct call *take_answered(struct http_later *later)
{
	struct call *call, *first = NULL;

	pthread_mutex_lock(&later->lock);
	call = TAKE(later->answered);
	pthread_mutex_unlock(&later->lock);
	while (call) {
		struct call *next = call->next;

		call->next = first;
		first = call;
		call = next;
	}
	return first;
}

void http_later_destroy(struct http_later *later)
{
	struct call *call;

	if (!later)
		return;
	call = take_answered(later);
	while (call) {
		struct call *next = call->next;

		free(call->answer.reply.body);
		free(call);
		call = next;
	}
	pthread_mutex_destroy(&later->lock);
	free(later);
}

/* Copy @text to *@to, which moves on behind it. */
static const char *copy_text(char **to, const char *text)
{
	char *copy = *to;

	*to = stpcpy(copy, text) + 1;
	return copy;
}

struct profcol_http_call *http_later_call(struct http_later *later,
					  struct http_connection *connection,
					  const struct http_request *request)
{
	size_t bytes = strlen(request->path) + strlen(request->query) + strlen(request->host) +
		       strlen(request->authorization) + 4;
	struct call *call = calloc(1, sizeof(*call) + bytes);
	char *texts;

	if (!call)
		return NULL;
	texts = call->texts;
	call->base = (struct profcol_http_call){
		.size = sizeof(call->base),
		.request.path = copy_text(&texts, request->path),
		.request.query = copy_text(&texts, request->query),
		.host = copy_text(&texts, request->host),
		.authorization = copy_text(&texts, request->authorization),
	};
	call->later = later;
	call->connection = connection;
	return &call->base;
}

void http_later_leave(struct profcol_http_call *base)
{
	struct call *call = call_of(base);

	call->connection = NULL;
	atomic_store(&call->gone, true);
}

void http_later_deliver(struct http_later *later)
{
	struct call *call = take_answered(later);

	while (call) {
		struct call *next = call->next;

		if (call->connection)
			http_connection_answer(call->connection, &call->answer);
		else
			free(call->answer.reply.body);
		free(call);
		call = next;
	}
}

/* ---- from elsewhere ---- */

void http_answer(struct profcol_http_call *base, const struct profcol_http_answer *answer)
{
	struct call *call = call_of(base);
	struct http_later *later = call->later;

	memcpy(&call->answer, answer,
	       answer->size < sizeof(*answer) ? answer->size : sizeof(*answer));
	pthread_mutex_lock(&later->lock);
	call->next = later->answered;
	later->answered = call;
	eventfd_write(later->wake, 1);
	pthread_mutex_unlock(&later->lock);
}

bool http_is_gone(const struct profcol_http_call *base)
{
	return atomic_load(&call_of(base)->gone);
}
