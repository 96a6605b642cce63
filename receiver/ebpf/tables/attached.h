/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtimes that were found in processes, and which of them are to be looked at for their areas:
 * that is done without a lock by whoever asks here, since it may wait. One thread at a time.
 */
#pragma once

#include "process_memory/process_memory.h"
#include "processes/processes.h"
#include "runtimes/runtime.h"

#include <sys/queue.h>

/* A program that has loaded a file of a runtime's. */
struct attached {
	struct process_key key;
	struct owner owner; /* of the process, whose looks it is that take time */
	const struct runtime *runtime;
	uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)]; /* of that file */
	uint64_t base; /* where the file's ELF address 0 lies */
	uint32_t file; /* the owner's: its id */
	struct runtime_found found;
	uint32_t data; /* the owner's: handle of what the kernel side has of it; 0: nothing */
	size_t data_bytes;
	bool inherited; /* that is of the program that it was forked from, as far as is known */
	bool settled;   /* they are complete, and there are no more than before */
	enum runtime_refusal refused; /* unless ACCEPTED nothing will ever be known */
	uint64_t number;              /* no other one has had it */
	uint32_t attempts;            /* to look, since it mapped something last */
	uint32_t unanswered;          /* looks that got no answer, since one got one */
	uint64_t due_ns;              /* not to be looked at before... */
	uint64_t rests_ns;            /* ...nor before this, whatever it maps */
	uint64_t spent_ns;            /* by looks that got one */
	bool wanted;                  /* stands in attachments.wanted */
	uint32_t looks;               /* that have not ended */
	uint64_t looked_ns;           /* when the last one was taken */
	bool met;                     /* the owner's: it is there still */
	TAILQ_ENTRY(attached) others;
	SLIST_ENTRY(attached) of_process; /* the owner's */
};

SLIST_HEAD(attached_list, attached);

/* By the number of a runtime. */
struct attachments_counts {
	uint64_t count, known;              /* there are; of which the areas are known */
	uint64_t refused[RUNTIME_REFUSALS]; /* there were so far, but for ACCEPTED */
};

enum { ATTACHMENTS_PROVEN = 32 };

struct attachments {
	TAILQ_HEAD(, attached) wanted;
	/* Of files that all was found of in some process, the latest. */
	struct {
		const struct runtime *runtime; /* NULL: none */
		uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)];
	} proven[ATTACHMENTS_PROVEN];
	size_t next_proven;
	uint64_t made;         /* since init */
	struct read_time time; /* that looks have taken */
	uint32_t unlabelled; /* the owner's: runtimes whose labels are not read, 1 << number each */
	struct attachments_counts of[RUNTIMES];
};

void attachments_init(struct attachments *attachments);
void attachments_deinit(struct attachments *attachments); /* all are destroyed */

/*
 * NULL without memory. It is wanted if there is something to look for: of a runtime that foresees
 * it all is known at once, if it was found in another process. @layout is copied.
 */
struct attached *attached_create(struct attachments *attachments, const struct process_key *key,
				 struct owner owner, const struct runtime *runtime,
				 const void *layout, uint64_t base, uint64_t now_ns);
void attached_destroy(struct attachments *attachments, struct attached *attached); /* or NULL */

/* Is it of the same file at the same place? */
bool attached_is(const struct attached *attached, const struct runtime *runtime, const void *layout,
		 uint64_t base);

/* @attached, which was just created, has what is known of @from: the same file at the same place in
 * the program that it was forked from. It is looked at all the same. */
void attached_inherit(struct attachments *attachments, struct attached *attached,
		      const struct attached *from);

/* The process has mapped something: what was not there may be. */
void attached_changed(struct attachments *attachments, struct attached *attached, uint64_t now_ns);

/* When the next one is due to be looked at, whose owner has time left; UINT64_MAX: none is wanted.
 */
uint64_t attachments_due_ns(const struct attachments *attachments);

/* What to look at next: a copy. False: nothing is due. */
bool attachments_next(struct attachments *attachments, uint64_t now_ns, struct attached *ret);

/* A look at a process of @owner's is over that took @spent_ns. An owner has a fifth of all time for
 * looks, since they can be made to take as long as they may: that delays nobody else's. */
void attachments_spend(struct attachments *attachments, struct owner owner, uint64_t spent_ns);

/*
 * A look at @attached has ended. True when it is known what was not, or not what was inherited.
 * What is missing is looked for again, later and later, as long as looks at it have not taken very
 * long, and it is not refused. A look without an answer is made again after a second, then two,
 * four, up to sixteen: then that counts as a refusal. One that was not made (again_ns) counts for
 * nothing.
 */
bool attached_learn(struct attachments *attachments, struct attached *attached,
		    const struct process_looked *looked, uint64_t now_ns);
