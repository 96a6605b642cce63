/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVMs among the processes, and which of them are to be looked at for their heaps: that is done
 * without a lock by whoever asks here, since it may wait. One thread at a time.
 */
#pragma once

#include "jvm_heaps.h"

#include "processes/processes.h"

#include <sys/queue.h>

/* One program that has loaded libjvm.so. */
struct jvm {
	struct process_key key;
	struct worker_hotspot layout;
	uint64_t base; /* where the library's ELF address 0 lies */
	struct jvm_heaps heaps;
	bool settled;      /* they have an interpreter, and it grows no more */
	uint64_t number;   /* no other one has had it */
	uint32_t attempts; /* to look, since it mapped something last */
	uint64_t due_ns;   /* not to be looked at before */
	uint64_t spent_ns; /* by looks */
	bool wanted;       /* stands in jvms.wanted */
	TAILQ_ENTRY(jvm) others;
};

struct jvms {
	TAILQ_HEAD(, jvm) wanted;
	uint64_t made;       /* since init */
	uint64_t rests_ns;   /* nobody is looked at before */
	size_t count, known; /* there are; of which the heaps are known */
};

void jvms_init(struct jvms *jvms);

/* NULL without memory. It is wanted. */
struct jvm *jvm_create(struct jvms *jvms, const struct process_key *key,
		       const struct worker_hotspot *layout, uint64_t base, uint64_t now_ns);
void jvm_destroy(struct jvms *jvms, struct jvm *jvm); /* accepts NULL */

/* It has mapped something: what was not there may be. */
void jvm_changed(struct jvms *jvms, struct jvm *jvm, uint64_t now_ns);

/* When the next one is due to be looked at; UINT64_MAX: none is wanted. */
uint64_t jvms_due_ns(const struct jvms *jvms);

/* What to look at next: a copy. False: nothing is due. */
bool jvms_next(struct jvms *jvms, uint64_t now_ns, struct jvm *ret);

/*
 * A look that took @spent_ns is over: for four times as long there is no other one, since one can
 * be made to take as long as it may.
 */
void jvms_rest(struct jvms *jvms, uint64_t spent_ns, uint64_t now_ns);

/* It has found that @jvm has @heaps. True when that is more than was known. What is missing is
 * looked for again, later and later, as long as looks at it have not taken very long. */
bool jvm_learn(struct jvms *jvms, struct jvm *jvm, const struct jvm_heaps *heaps, uint64_t spent_ns,
	       uint64_t now_ns);
