// SPDX-License-Identifier: Apache-2.0
#include "attached.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* What a runtime makes when it starts is there some 20 ms later. */
	FIRST_PAUSE_NS = 20000000,
	PAUSE_DOUBLINGS = 7,
	ATTEMPTS = 40,       /* over a minute and a half; then with what it maps next */
	UNANSWERED_MOST = 6, /* the last one half a minute after the first */
	LOOKS_MOST = 2,      /* at one time */
};

static const uint64_t UNANSWERED_PAUSE_NS = 1000000000; /* after the first, then twice as long */

/* A look takes 0.2 ms. On a machine that has no time at all it may take as long as it is let. */
static const uint64_t SPENT_MOST_NS = 2000000000;

/* A look may take five seconds; when many programs start, a thousand take less than the quarter of
 * one. */
static const struct read_time_terms time_terms = {
	.part = 5,
	.most_ns = 250000000,
	.debt_ns = 5000000000,
};

void attachments_init(struct attachments *attachments)
{
	TAILQ_INIT(&attachments->wanted);
	read_time_init(&attachments->time, &time_terms);
}

void attachments_deinit(struct attachments *attachments)
{
	read_time_deinit(&attachments->time);
}

static void set_wanted(struct attachments *attachments, struct attached *attached, bool wanted)
{
	if (wanted && !attached->wanted)
		TAILQ_INSERT_TAIL(&attachments->wanted, attached, others);
	else if (!wanted && attached->wanted)
		TAILQ_REMOVE(&attachments->wanted, attached, others);
	attached->wanted = wanted;
}

/* Is all known that there is to know, or some of it? */
static bool is_known(const struct attached *attached)
{
	return attached->found.progress || !attached->runtime->attach;
}

static bool is_proven(const struct attachments *attachments, const struct runtime *runtime,
		      const void *layout)
{
	for (size_t i = 0; i < ATTACHMENTS_PROVEN; i++)
		if (attachments->proven[i].runtime == runtime &&
		    !memcmp(attachments->proven[i].layout, layout, runtime->layout_bytes))
			return true;
	return false;
}

static void prove(struct attachments *attachments, const struct attached *attached)
{
	size_t at = attachments->next_proven;

	if (!attached->runtime->foresee ||
	    is_proven(attachments, attached->runtime, attached->layout))
		return;
	attachments->next_proven = (at + 1) % ATTACHMENTS_PROVEN;
	attachments->proven[at].runtime = attached->runtime;
	memcpy(attachments->proven[at].layout, attached->layout, sizeof(attached->layout));
}

static void refuse(struct attachments *attachments, struct attached *attached,
		   enum runtime_refusal refused)
{
	if (!refused || attached->refused)
		return;
	attached->refused = refused;
	attachments->of[attached->runtime->number].refused[refused]++;
}

/* What is the same in all processes, if it is known of one, or of none but by their file. */
static void foresee(struct attachments *attachments, struct attached *attached)
{
	const struct runtime *runtime = attached->runtime;

	if (!runtime->foresee ||
	    (runtime->attach && !is_proven(attachments, runtime, attached->layout)) ||
	    (runtime->has_labels && attachments->unlabelled & 1u << runtime->number))
		return;
	runtime->foresee(attached->layout, attached->base, &attached->found);
	refuse(attachments, attached, (enum runtime_refusal)attached->found.refused);
	attached->settled = true;
}

struct attached *attached_create(struct attachments *attachments, const struct process_key *key,
				 struct owner owner, const struct runtime *runtime,
				 const void *layout, uint64_t base, uint64_t now_ns)
{
	struct attached *attached = calloc(1, sizeof(*attached));

	if (!attached)
		return NULL;
	attached->key = *key;
	attached->owner = owner;
	attached->runtime = runtime;
	memcpy(attached->layout, layout, runtime->layout_bytes);
	attached->base = base;
	attached->number = ++attachments->made;
	attached->due_ns = now_ns;
	foresee(attachments, attached);
	attachments->of[runtime->number].count++;
	attachments->of[runtime->number].known += is_known(attached);
	set_wanted(attachments, attached, runtime->attach && !attached->settled);
	return attached;
}

void attached_destroy(struct attachments *attachments, struct attached *attached)
{
	struct attachments_counts *counts;

	if (!attached)
		return;
	counts = &attachments->of[attached->runtime->number];
	set_wanted(attachments, attached, false);
	counts->count--;
	counts->known -= is_known(attached);
	free(attached);
}

void attached_inherit(struct attachments *attachments, struct attached *attached,
		      const struct attached *from)
{
	attached->found = from->found;
	attached->inherited = true;
	attachments->of[attached->runtime->number].known += attached->found.progress > 0;
}

bool attached_is(const struct attached *attached, const struct runtime *runtime, const void *layout,
		 uint64_t base)
{
	return attached->runtime == runtime && attached->base == base &&
	       !memcmp(attached->layout, layout, runtime->layout_bytes);
}

/* Have looks taken too long, or got no answer too often? */
static bool is_given_up(const struct attached *attached)
{
	return attached->spent_ns > SPENT_MOST_NS || attached->unanswered >= UNANSWERED_MOST;
}

void attached_changed(struct attachments *attachments, struct attached *attached, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + FIRST_PAUSE_NS, rests_ns = attached->rests_ns;

	if (!attached->runtime->attach || attached->settled || attached->refused ||
	    is_given_up(attached))
		return;
	attached->attempts = 0;
	// While a look hangs, by the worker's fault maybe, there is one more, but no third one: it
	// may map something all the time.
	if (attached->looks >= LOOKS_MOST)
		return;
	if (attached->looks && rests_ns < attached->looked_ns + UNANSWERED_PAUSE_NS)
		rests_ns = attached->looked_ns + UNANSWERED_PAUSE_NS;
	due_ns = due_ns < rests_ns ? rests_ns : due_ns;
	if (attached->due_ns > due_ns || (attached->looks && !attached->wanted))
		attached->due_ns = due_ns;
	set_wanted(attachments, attached, true);
}

uint64_t attachments_due_ns(const struct attachments *attachments)
{
	uint64_t due_ns = UINT64_MAX;
	const struct attached *attached;

	TAILQ_FOREACH(attached, &attachments->wanted, others)
	{
		uint64_t time_ns;

		if (attached->due_ns >= due_ns)
			continue;
		time_ns = read_time_due_ns(&attachments->time, attached->owner);
		time_ns = time_ns < attached->due_ns ? attached->due_ns : time_ns;
		due_ns = time_ns < due_ns ? time_ns : due_ns;
	}
	return due_ns;
}

bool attachments_next(struct attachments *attachments, uint64_t now_ns, struct attached *ret)
{
	struct attached *attached;

	TAILQ_FOREACH(attached, &attachments->wanted, others)
	if (attached->due_ns <= now_ns &&
	    read_time_is_left(&attachments->time, attached->owner, now_ns)) {
		set_wanted(attachments, attached, false);
		attached->looks++;
		attached->looked_ns = now_ns;
		*ret = *attached;
		return true;
	}
	return false;
}

void attachments_spend(struct attachments *attachments, struct owner owner, uint64_t spent_ns)
{
	read_time_spend(&attachments->time, owner, spent_ns);
}

/* What was inherited gives way to what is found, or to nothing where that is refused. True when it
 * was something else. */
static bool disinherit(struct attachments *attachments, struct attached *attached,
		       const struct runtime_found *found, enum runtime_refusal refused)
{
	struct attachments_counts *counts = &attachments->of[attached->runtime->number];
	const struct runtime_found nothing = { 0 };

	if (!refused && (!found || !found->progress))
		return false;
	if (refused)
		found = &nothing;
	attached->inherited = false;
	if (!memcmp(&attached->found, found, sizeof(*found)))
		return false;
	counts->known -= is_known(attached);
	attached->found = *found;
	counts->known += is_known(attached);
	return true;
}

/* The look has got no answer. Another one may: whoever holds a lock of the memory lets go of it,
 * and a machine that had no time has some again. False: there were enough of them. */
static bool look_again(struct attachments *attachments, struct attached *attached, uint64_t now_ns)
{
	if (++attached->unanswered >= UNANSWERED_MOST)
		return false;
	attached->rests_ns = now_ns + (UNANSWERED_PAUSE_NS << (attached->unanswered - 1));
	attached->due_ns = attached->rests_ns;
	set_wanted(attachments, attached, true);
	return true;
}

/* Take the answer of a look: @found, or NULL and why the process is @refused. */
static bool learn_found(struct attachments *attachments, struct attached *attached,
			const struct runtime_found *found, enum runtime_refusal refused)
{
	bool other = attached->inherited && disinherit(attachments, attached, found, refused);
	bool more = found && found->progress > attached->found.progress;

	// What is known already stays: a look may be refused later for want of time.
	if (!attached->found.progress)
		refuse(attachments, attached, refused);
	attached->settled = (found && found->complete && !more) || attached->refused;
	if (more && found->complete)
		prove(attachments, attached);
	if (more) {
		attachments->of[attached->runtime->number].known += !is_known(attached);
		attached->found = *found;
	}
	return more || other;
}

bool attached_learn(struct attachments *attachments, struct attached *attached,
		    const struct process_looked *looked, uint64_t now_ns)
{
	uint32_t doublings =
		attached->attempts < PAUSE_DOUBLINGS ? attached->attempts : PAUSE_DOUBLINGS;
	enum runtime_refusal refused = looked->refused;
	bool news;

	attached->looks -= attached->looks > 0;
	if (attached->settled)
		return false;
	if (looked->again_ns) {
		attached->due_ns = attached->rests_ns = looked->again_ns;
		set_wanted(attachments, attached, true);
		return false;
	}
	if (looked->unanswered) {
		if (look_again(attachments, attached, now_ns))
			return false;
		refused = RUNTIME_REFUSED_MEMORY;
	} else {
		attached->unanswered = 0;
		attached->spent_ns += looked->spent_ns;
	}
	if (looked->found && looked->found->refused)
		refused = (enum runtime_refusal)looked->found->refused;
	news = learn_found(attachments, attached, looked->found, refused);
	attached->due_ns = now_ns + ((uint64_t)FIRST_PAUSE_NS << doublings);
	set_wanted(attachments, attached,
		   !attached->settled && !is_given_up(attached) && ++attached->attempts < ATTEMPTS);
	return news;
}
