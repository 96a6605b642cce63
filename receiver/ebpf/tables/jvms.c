// SPDX-License-Identifier: Apache-2.0
#include "jvms.h"

#include <stdlib.h>

enum {
	/* A JVM maps its heaps, and makes the interpreter some 20 ms later, in as many. */
	FIRST_PAUSE_NS = 20000000,
	PAUSE_DOUBLINGS = 7,
	ATTEMPTS = 40, /* over a minute and a half; then with what it maps next */
	REST_FACTOR = 4,
};

/* A look takes 0.2 ms. On a machine that has no time at all it may take as long as it is let. */
static const uint64_t SPENT_MOST_NS = 2000000000;

void jvms_init(struct jvms *jvms)
{
	TAILQ_INIT(&jvms->wanted);
}

static void set_wanted(struct jvms *jvms, struct jvm *jvm, bool wanted)
{
	if (wanted && !jvm->wanted)
		TAILQ_INSERT_TAIL(&jvms->wanted, jvm, others);
	else if (!wanted && jvm->wanted)
		TAILQ_REMOVE(&jvms->wanted, jvm, others);
	jvm->wanted = wanted;
}

struct jvm *jvm_create(struct jvms *jvms, const struct process_key *key,
		       const struct worker_hotspot *layout, uint64_t base, uint64_t now_ns)
{
	struct jvm *jvm = calloc(1, sizeof(*jvm));

	if (!jvm)
		return NULL;
	jvm->key = *key;
	jvm->layout = *layout;
	jvm->base = base;
	jvm->number = ++jvms->made;
	jvm->due_ns = now_ns;
	jvms->count++;
	set_wanted(jvms, jvm, true);
	return jvm;
}

void jvm_destroy(struct jvms *jvms, struct jvm *jvm)
{
	if (!jvm)
		return;
	set_wanted(jvms, jvm, false);
	jvms->count--;
	jvms->known -= jvm->heaps.count > 0;
	free(jvm);
}

void jvm_changed(struct jvms *jvms, struct jvm *jvm, uint64_t now_ns)
{
	if (jvm->settled || jvm->spent_ns > SPENT_MOST_NS)
		return;
	jvm->attempts = 0;
	if (jvm->due_ns > now_ns + FIRST_PAUSE_NS)
		jvm->due_ns = now_ns + FIRST_PAUSE_NS;
	set_wanted(jvms, jvm, true);
}

uint64_t jvms_due_ns(const struct jvms *jvms)
{
	uint64_t due_ns = UINT64_MAX;
	const struct jvm *jvm;

	TAILQ_FOREACH(jvm, &jvms->wanted, others)
	if (jvm->due_ns < due_ns)
		due_ns = jvm->due_ns;
	return due_ns < jvms->rests_ns ? jvms->rests_ns : due_ns;
}

bool jvms_next(struct jvms *jvms, uint64_t now_ns, struct jvm *ret)
{
	struct jvm *jvm;

	if (now_ns < jvms->rests_ns)
		return false;
	TAILQ_FOREACH(jvm, &jvms->wanted, others)
	if (jvm->due_ns <= now_ns) {
		set_wanted(jvms, jvm, false);
		*ret = *jvm;
		return true;
	}
	return false;
}

void jvms_rest(struct jvms *jvms, uint64_t spent_ns, uint64_t now_ns)
{
	jvms->rests_ns = now_ns + REST_FACTOR * spent_ns;
}

bool jvm_learn(struct jvms *jvms, struct jvm *jvm, const struct jvm_heaps *heaps, uint64_t spent_ns,
	       uint64_t now_ns)
{
	bool more = heaps->count &&
		    (!jvm->heaps.count || heaps->interpreter_bytes > jvm->heaps.interpreter_bytes);
	uint32_t doublings = jvm->attempts < PAUSE_DOUBLINGS ? jvm->attempts : PAUSE_DOUBLINGS;

	jvm->settled = heaps->interpreter_bytes && !more;
	if (more) {
		jvms->known += !jvm->heaps.count;
		jvm->heaps = *heaps;
	}
	jvm->spent_ns += spent_ns;
	jvm->due_ns = now_ns + ((uint64_t)FIRST_PAUSE_NS << doublings);
	set_wanted(jvms, jvm,
		   !jvm->settled && jvm->spent_ns <= SPENT_MOST_NS && ++jvm->attempts < ATTEMPTS);
	return more;
}
