// SPDX-License-Identifier: Apache-2.0
#include "requests.h"

void requests_init(struct requests *requests)
{
	*requests = (struct requests){ 0 };
	requests->last = &requests->first;
}

void requests_deinit(struct requests *requests)
{
	for (struct worker_request *request = requests->first, *next; request; request = next) {
		next = request->next;
		worker_request_destroy(request);
	}
	requests_init(requests);
}

bool requests_have_room(const struct requests *requests, struct owner owner)
{
	size_t own = 0;

	for (const struct worker_request *request = requests->first; request;
	     request = request->next)
		own += owner_pays_with(request->origin.owner, owner);
	return requests->count < REQUESTS_MOST && own < REQUESTS_MOST - requests->count;
}

void requests_add(struct requests *requests, struct worker_request *request)
{
	request->next = NULL;
	*requests->last = request;
	requests->last = &request->next;
	requests->count++;
}

void requests_add_first(struct requests *requests, struct worker_request *request)
{
	request->next = requests->first;
	if (!requests->first)
		requests->last = &request->next;
	requests->first = request;
	requests->count++;
}

/* The request at @place, the address of the pointer to it. */
static struct worker_request *take_at(struct requests *requests, struct worker_request **place)
{
	struct worker_request *request = *place;

	*place = request->next;
	if (!*place)
		requests->last = place;
	request->next = NULL;
	requests->count--;
	return request;
}

struct worker_request *requests_take_of(struct requests *requests, struct owner owner)
{
	for (struct worker_request **place = &requests->first; *place; place = &(*place)->next)
		if (owner_is((*place)->origin.owner, owner))
			return take_at(requests, place);
	return NULL;
}

struct worker_request *requests_take(struct requests *requests)
{
	return requests->first ? take_at(requests, &requests->first) : NULL;
}
