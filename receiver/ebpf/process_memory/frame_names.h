/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What frames of language runtimes are called, for each program that has them: those that were
 * asked for and are still to be read, and those that were. One thread at a time.
 */
#pragma once

#include "frame_rows.h"

#include "processes/processes.h"
#include "runtimes/runtime.h"

#include "base/base.h"

#include <sys/queue.h>

/* A frame of a program, or, with RUNTIME_THREAD, a thread, with RUNTIME_PROGRAM the program itself.
 */
struct frame_question {
	struct process_key key;
	uint32_t runtime; /* enum runtime_number; RUNTIME_NONE: code in memory of no file */
	struct runtime_frame frame; /* of such code: `object` is its address, the rest is 0 */
};

/* How long a program is not asked for what was read of it in vain. */
struct names_rest {
	uint64_t until_ns;  /* UINT64_MAX: for good */
	uint64_t length_ns; /* 0: it was not in vain */
};

/* A program whose frames were asked for. */
struct named_process {
	struct process_key key;
	struct owner owner; /* OWNER_UNKNOWN until frame_names_note_owner() */
	struct frame_rows rows;
	size_t bytes;
	size_t asked;                    /* frames that are being read */
	uint64_t due_ns;                 /* nothing is read before: others are waited for, ... */
	uint64_t rest_ns;                /* ...and it rests until then */
	uint64_t gather_ns;              /* how long others are waited for; 0: as at first, ... */
	uint64_t gather_most_ns;         /* ...and at most; 0: as long as of any program */
	uint64_t wanted_ns;              /* when the first of what is wanted was asked for... */
	uint64_t asked_ns;               /* ...and of what is being read */
	uint64_t last_ns;                /* when something was asked for last */
	struct names_rest silent;        /* whose memory does not answer: nothing is read... */
	enum frame_state silent_as;      /* ...and this is what frames have that are asked for */
	struct names_rest no_map;        /* which names code in memory of no file */
	struct names_rest no_threads;    /* whose names can be read */
	bool has_thread_names;           /* such a name was read */
	struct named_process *next;      /* in its chain */
	TAILQ_ENTRY(named_process) open; /* in frame_names.open: something is wanted or asked */
	bool is_open;
};

enum {
	FRAME_NAMES_CHAINS = 1024,  /* a power of two */
	FRAME_NAMES_WANTED = 16384, /* frames of one program that wait to be read */
};

struct frame_names {
	struct named_process *chains[FRAME_NAMES_CHAINS];
	TAILQ_HEAD(, named_process) open;
	size_t count; /* of processes */
	size_t bytes, most_bytes;
	struct shares shares; /* of `bytes` */
	uint64_t seed;
	uint64_t evicted; /* names, and frames without one, that made room for others */
	uint64_t dropped; /* questions there was no room or memory for */
};

/* At most @most_bytes are kept. */
void frame_names_init(struct frame_names *names, size_t most_bytes);
void frame_names_deinit(struct frame_names *names);

/* @question is asked at @now_ns. What failed some time ago is read once more, and so are names of
 * code in memory of no file, since others may take its place. Without room or memory it is not
 * answered. True: frame_names_due_ns() may have become earlier, or frame_names_trim() has to do. */
bool frame_names_ask(struct frame_names *names, const struct frame_question *question,
		     uint64_t now_ns);

/* A process whose frames are to be read by @now_ns, nothing of which is being read; NULL. */
struct named_process *frame_names_next(struct frame_names *names, uint64_t now_ns);

/* When frame_names_next() has one; UINT64_MAX: not before something else happens. */
uint64_t frame_names_due_ns(const struct frame_names *names);

/* What is wanted of @process and one runtime, the first ones: now they are being read. Threads come
 * after all frames, and by themselves. @frames has room for @most; they ascend by their objects.
 * Returns how many there are. */
size_t frame_names_take(struct named_process *process, uint32_t *runtime_ret,
			struct runtime_frame *frames, size_t most);

/* @count @frames that were taken are wanted as before: not yet. False: they have been wanted for so
 * long that they are to be given up. */
bool frame_names_postpone(struct frame_names *names, struct named_process *process,
			  uint32_t runtime, const struct runtime_frame *frames, size_t count,
			  uint64_t now_ns);

/* @process is @owner's, in whose share its names are. */
void frame_names_note_owner(struct frame_names *names, struct named_process *process,
			    struct owner owner);

/* NULL: forgotten. */
struct named_process *frame_names_process(struct frame_names *names, const struct process_key *key);

/* @frame of @process, which was being read, has this @name (taken; NULL with any other state). */
void frame_names_learn(struct frame_names *names, struct named_process *process, uint32_t runtime,
		       const struct runtime_frame *frame, enum frame_state state,
		       struct frame_name *name, uint64_t now_ns);

/*
 * An answer about @process has come, whatever it says: it is not silent. Nothing is read before
 * @rest_ns. With @count frames, 0 where that tells nothing, of which @gone were others by then, it
 * is decided how long the next ones are gathered: while a few come now and then, up to a quarter of
 * a second; less where some were gone.
 */
void frame_names_note_answer(struct named_process *process, size_t count, size_t gone,
			     uint64_t rest_ns);

/* Make all that is wanted due at once: somebody waits for names. True: frame_names_due_ns() has
 * become earlier. */
bool frame_names_hurry(struct frame_names *names);

/* The file that names code of @process was read for @count @frames in this @state. */
void frame_names_note_map(const struct frame_names *names, struct named_process *process,
			  const struct runtime_frame *frames, size_t count,
			  struct code_map_state state);

/* @process has no such file, as far as is known at @now_ns. It may have one soon: it is looked for
 * again after a second, then two, four, up to half a minute. */
void frame_names_note_no_map(struct named_process *process, uint64_t now_ns);

/* Has it been, for all of these? Then there is nothing new in it. */
bool frame_names_know_map(const struct frame_names *names, const struct named_process *process,
			  const struct runtime_frame *frames, size_t count,
			  struct code_map_state state);

/* Threads of @process keep their names unread for a while, since reading them took too long: for a
 * second at first, then two, four, up to five minutes, until a name is read. Names that are wanted
 * now get @state. */
void frame_names_rest_threads(struct frame_names *names, struct named_process *process,
			      enum frame_state state, uint64_t now_ns);

/* All that is wanted of @process has @state, and so has what is asked for before @until_ns
 * (UINT64_MAX: ever): nothing is read. */
void frame_names_give_up(struct frame_names *names, struct named_process *process,
			 enum frame_state state, uint64_t until_ns, uint64_t now_ns);

/* The same, since the memory of @process gave no answer: for a second at first, then two, four, up
 * to sixteen, unless an answer comes in between; and then for good. */
void frame_names_fall_silent(struct frame_names *names, struct named_process *process,
			     enum frame_state state, uint64_t now_ns);

/* What has been asked for before @time_ns has been answered, but for what is not read before
 * @until_ns. */
bool frame_names_are_settled(const struct frame_names *names, uint64_t time_ns, uint64_t until_ns);

/* What is known of @question; *@name_ret, borrowed, if FRAME_NAMED. */
enum frame_state frame_names_find(const struct frame_names *names,
				  const struct frame_question *question,
				  const struct frame_name **name_ret);

/* If more is kept than may be: of the owner who has most, the programs that take most lose the
 * names that were not asked for for longest, until there is room again. These are read again if
 * they are still wanted. */
void frame_names_trim(struct frame_names *names);

/* Forget programs that nothing was asked for since @time_ns. */
void frame_names_forget(struct frame_names *names, uint64_t time_ns);
