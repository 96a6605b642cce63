/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open batch: samples as the kernel sent them, frames and stacks interned,
 * nothing resolved. The drain thread appends, the reporter reads and clears it
 * after the two have swapped it. Clearing keeps the memory, so appending
 * allocates nothing once a batch of the usual size has been seen.
 *
 * Threads: one at a time; handing over is the caller's (drain.h).
 */
#pragma once

#include "process_memory/process_memory.h"
#include "processes/processes.h"
#include "sample.h"

#include "base/base.h"

/* In place of a process: of code that is the same for all. */
enum { CAPTURE_FILE = UINT32_MAX - 1, CAPTURE_KERNEL = UINT32_MAX };

struct capture_process {
	struct process_key key;
	uint64_t first_ns; /* CLOCK_MONOTONIC of its first sample in this batch */
	uint64_t noted_ns; /* of the one that was noted last (drain.c); or 0 */
	bool has_threads;  /* rows of `threads` */
};

struct capture_frame {
	uint64_t address;  /* of the instruction; return addresses are already reduced by 1.
			    * CAPTURE_FILE: its offset in the file, bytes; of a runtime's: of the
			    * object that says what runs */
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first sample that had it */
	union {
		uint64_t mapped_ns; /* 0; or what it lay in was mapped then: see outdated.h */
		struct {
			uint32_t position; /* of a runtime's: in the object... */
			uint32_t check;    /* ...and the word by which to tell whether that is
					      still the same */
		};
	};
	uint32_t process; /* row of `processes`, CAPTURE_FILE or CAPTURE_KERNEL */
	union {
		uint32_t file;    /* CAPTURE_FILE: file id of processes.h, not checked */
		uint32_t runtime; /* of a process: 0; or a language runtime's number, and << 8 the
				     kind of its frame */
	};
};

/* Is @frame one of a language runtime's? */
static inline bool capture_is_of_runtime(const struct capture_frame *frame)
{
	return frame->process < CAPTURE_FILE && frame->runtime;
}

/* Stack i has the frames stack_frames[stacks[i - 1].limit .. stacks[i].limit): leaf first, the
 * kernel's before the user's. */
struct capture_stack {
	uint32_t limit;
	uint32_t end; /* enum unwind_end: of the user's part; 0: there is none */
};

/* Most frames of a sample were in one shortly before: their rows are looked for here first, which
 * needs no memory that is far away. */
struct capture_recent {
	uint64_t address, second;
	uint32_t process, file;
	uint32_t frame; /* the row, + 1; 0: free */
};

enum { CAPTURE_RECENT = 1024 }; /* a power of two */

struct capture_comm {
	char text[SAMPLE_COMM_LENGTH];
};

/* A thread that was met in code of a language runtime that knows names of threads. */
struct capture_thread {
	uint32_t process; /* row of `processes` */
	uint32_t tid;
	uint32_t comm;    /* row of `comms`: what the system called it then */
	uint32_t runtime; /* enum runtime_number */
	bool is_first;    /* of its process */
};

/* Labels of samples, as records have them: words label_words[labels[i - 1].limit ..
 * labels[i].limit), which add up (sample_labels.h). */
struct capture_labels {
	uint32_t limit;
};

/* What became of the labels of a sample that has some. */
enum capture_labels_fate {
	CAPTURE_LABELS_WHOLE,
	CAPTURE_LABELS_CUT,        /* a value is longer than what is read */
	CAPTURE_LABELS_LEFT_OUT,   /* there are more, or longer keys, */
	CAPTURE_LABELS_UNREADABLE, /* or they cannot be read */
	CAPTURE_LABELS_NO_ROOM, /* the sample goes without: other labels have taken their share */
	CAPTURE_LABELS_FATES,
};

struct capture_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t value;   /* for how much it stands; at most INT64_MAX */
	uint32_t process;
	uint32_t stack;
	uint32_t comm;
	uint32_t tid;
	uint32_t labels; /* row of `labels`, + 1; 0: it has none */
	uint16_t cpu;
	uint8_t origin;  /* enum sample_origin */
	uint16_t detail; /* of that */
};

struct capture {
	uint64_t begin_ns;  /* CLOCK_MONOTONIC; when it became the open batch */
	uint64_t period_ns; /* of the timer's samples; set by who opens it */
	size_t max_bytes;   /* appending fails beyond */
	uint64_t seed;      /* of the hashes: programs choose what lies in their stacks */

	VECTOR(struct capture_process) processes;
	VECTOR(struct capture_frame) frames;
	VECTOR(struct capture_comm) comms;
	VECTOR(struct capture_thread) threads;
	VECTOR(struct capture_stack) stacks;
	VECTOR(uint32_t) stack_frames; /* rows of `frames` */
	VECTOR(struct capture_labels) labels;
	VECTOR(uint64_t) label_words;
	VECTOR(struct capture_sample) samples;
	uint64_t label_fates[CAPTURE_LABELS_FATES]; /* samples, by each that applies */

	struct intern process_index, frame_index, comm_index, thread_index, stack_index,
		labels_index;
	struct capture_recent recent[CAPTURE_RECENT];
};

void capture_init(struct capture *capture, size_t max_bytes);
void capture_deinit(struct capture *capture);

/* Forget all samples; keep the memory, unless it is far more than they used. */
void capture_clear(struct capture *capture, uint64_t begin_ns);

/*
 * Append the sample in the @length bytes at @record (bpf/sample.h). Returns 0,
 * -EBADMSG for a malformed record, -ENOSPC when the batch is full, -ENOMEM. The
 * capture stays whole in every case. *@process_ret is written on success. Different labels take an
 * eighth of a batch at most: programs may have others at each sample.
 */
int capture_append(struct capture *capture, const void *record, size_t length,
		   uint32_t *process_ret);

/* What is to be asked to know what frame number @frame is called; false: nothing, since it is none
 * of a runtime's. */
bool capture_question(const struct capture *capture, size_t frame, struct frame_question *ret);

/* The runtime of @frame, if that knows names of threads; else RUNTIME_NONE. */
uint32_t capture_naming_runtime(const struct capture_frame *frame);

/* The thread of @sample has a row from now on, since it was met in frames of @runtime; nothing
 * happens with RUNTIME_NONE. False without memory. Of capture_append. */
PROFCOL_MUST_CHECK bool capture_note_thread(struct capture *capture,
					    const struct capture_sample *sample, uint32_t runtime);

/* What is to be asked to know what thread number @thread is called. */
struct frame_question capture_thread_question(const struct capture *capture, size_t thread);

/* What is to be asked to know what @process, a row of `processes`, runs, if @runtime is its own. */
struct frame_question capture_program_question(const struct capture *capture, uint32_t process,
					       uint32_t runtime);

/* The row in `threads` of the thread that @sample was taken of; UINT32_MAX: it has none. */
uint32_t capture_find_thread(const struct capture *capture, const struct capture_sample *sample);

/* Where the frames of stack number @stack begin in stack_frames. */
static inline uint32_t capture_stack_begin(const struct capture *capture, uint32_t stack)
{
	return stack ? capture->stacks.items[stack - 1].limit : 0;
}

/* The labels of row @labels of `labels` (struct sample_labels). */
static inline const void *capture_labels(const struct capture *capture, uint32_t labels)
{
	return capture->label_words.items + (labels ? capture->labels.items[labels - 1].limit : 0);
}

/* Bytes held now, and an upper bound of the bytes that the samples in it need. */
size_t capture_memory(const struct capture *capture);
size_t capture_used(const struct capture *capture);

/* The row of the frame that is equal to @frame but for first_ns; UINT32_MAX without memory. */
uint32_t capture_intern_frame(struct capture *capture, struct capture_frame frame);

/* The row of the stack of these frames; UINT32_MAX without memory. */
uint32_t capture_intern_stack(struct capture *capture, const uint32_t *frames, size_t count,
			      uint32_t end);

/* Stacks that no sample has leave, and the others are numbered anew; frames and what else there is
 * stay as they are. Without memory all stays. */
void capture_drop_unused_stacks(struct capture *capture);
