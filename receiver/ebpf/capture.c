// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

void capture_init(struct capture *capture, size_t max_bytes)
{
	*capture = (struct capture){ .max_bytes = max_bytes };
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(&capture->seed, sizeof(capture->seed), GRND_NONBLOCK) < 0)
		capture->seed = (uintptr_t)capture;
}

void capture_deinit(struct capture *capture)
{
	VECTOR_DEINIT(&capture->processes);
	VECTOR_DEINIT(&capture->frames);
	VECTOR_DEINIT(&capture->comms);
	VECTOR_DEINIT(&capture->stack_ends);
	VECTOR_DEINIT(&capture->stack_frames);
	VECTOR_DEINIT(&capture->samples);
	intern_deinit(&capture->process_index);
	intern_deinit(&capture->frame_index);
	intern_deinit(&capture->comm_index);
	intern_deinit(&capture->stack_index);
}

#define VECTOR_BYTES(vector) ((vector)->capacity * sizeof(*(vector)->items))

size_t capture_memory(const struct capture *capture)
{
	return VECTOR_BYTES(&capture->processes) + VECTOR_BYTES(&capture->frames) +
	       VECTOR_BYTES(&capture->comms) + VECTOR_BYTES(&capture->stack_ends) +
	       VECTOR_BYTES(&capture->stack_frames) + VECTOR_BYTES(&capture->samples) +
	       intern_memory(&capture->process_index) + intern_memory(&capture->frame_index) +
	       intern_memory(&capture->comm_index) + intern_memory(&capture->stack_index);
}

/* Both double as they grow: a vector may be half empty, an index of 8-byte slots 5/8. */
enum { GROWTH = 2, INDEX_BYTES = 24 };

size_t capture_used(const struct capture *capture)
{
	size_t rows = capture->samples.count * sizeof(struct capture_sample) +
		      capture->frames.count * sizeof(struct capture_frame) +
		      capture->stack_frames.count * sizeof(uint32_t) +
		      capture->stack_ends.count * sizeof(uint32_t) +
		      capture->comms.count * sizeof(struct capture_comm) +
		      capture->processes.count * sizeof(struct capture_process);
	size_t indexed = capture->frames.count + capture->stack_ends.count + capture->comms.count +
			 capture->processes.count;

	return GROWTH * rows + INDEX_BYTES * indexed;
}

/* A burst must not be paid for ever after: memory beyond this has to be in use. */
enum { KEEP_BYTES = 4 << 20, KEEP_FACTOR = 4 };

void capture_clear(struct capture *capture, uint64_t begin_ns)
{
	size_t memory = capture_memory(capture);

	if (memory > KEEP_BYTES && memory / KEEP_FACTOR > capture_used(capture))
		capture_deinit(capture);
	capture->begin_ns = begin_ns;
	capture->processes.count = 0;
	capture->frames.count = 0;
	capture->comms.count = 0;
	capture->stack_ends.count = 0;
	capture->stack_frames.count = 0;
	capture->samples.count = 0;
	intern_clear(&capture->process_index);
	intern_clear(&capture->frame_index);
	intern_clear(&capture->comm_index);
	intern_clear(&capture->stack_index);
}

struct lookup {
	const struct capture *capture;
	const void *wanted;
	size_t count;
};

static bool process_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;
	const struct process_key *key = lookup->wanted;
	const struct process_key *row = &lookup->capture->processes.items[id].key;

	return row->pid == key->pid && row->exec_id == key->exec_id &&
	       row->start_boottime_ns == key->start_boottime_ns;
}

static uint32_t intern_process(struct capture *capture, const struct sample_head *head)
{
	struct process_key key = { head->pid, head->exec_id, head->start_boottime_ns };
	struct lookup lookup = { capture, &key, 0 };
	uint32_t hash = intern_hash_seeded(&key, sizeof(key), capture->seed);
	uint32_t id = intern_find(&capture->process_index, hash, process_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->processes.count;
	if (!VECTOR_RESERVE(&capture->processes, 1) ||
	    !intern_insert(&capture->process_index, hash, id))
		return INTERN_MISSING;
	capture->processes.items[capture->processes.count++] =
		(struct capture_process){ key, head->time_ns };
	return id;
}

static bool comm_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;

	return !memcmp(lookup->capture->comms.items[id].text, lookup->wanted, SAMPLE_COMM_LENGTH);
}

static uint32_t intern_comm(struct capture *capture, const char *text)
{
	struct capture_comm comm = { { 0 } };
	struct lookup lookup = { capture, comm.text, 0 };
	uint32_t hash, id;

	// What follows the NUL is whatever the kernel left there.
	memcpy(comm.text, text, strnlen(text, SAMPLE_COMM_LENGTH - 1));
	hash = intern_hash_seeded(comm.text, sizeof(comm.text), capture->seed);
	id = intern_find(&capture->comm_index, hash, comm_equal, &lookup);
	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->comms.count;
	if (!VECTOR_RESERVE(&capture->comms, 1) || !intern_insert(&capture->comm_index, hash, id))
		return INTERN_MISSING;
	capture->comms.items[capture->comms.count++] = comm;
	return id;
}

static bool frame_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;
	const struct capture_frame *frame = lookup->wanted;
	const struct capture_frame *row = &lookup->capture->frames.items[id];

	return row->address == frame->address && row->process == frame->process;
}

static uint32_t intern_frame(struct capture *capture, struct capture_frame frame)
{
	struct lookup lookup = { capture, &frame, 0 };
	uint32_t hash = intern_hash_seeded(&frame.address, sizeof(frame.address),
					   capture->seed + frame.process);
	uint32_t id = intern_find(&capture->frame_index, hash, frame_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->frames.count;
	if (!VECTOR_RESERVE(&capture->frames, 1) || !intern_insert(&capture->frame_index, hash, id))
		return INTERN_MISSING;
	capture->frames.items[capture->frames.count++] = frame;
	return id;
}

static bool stack_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;
	const uint32_t *ends = lookup->capture->stack_ends.items;
	uint32_t begin = id ? ends[id - 1] : 0;

	if (ends[id] - begin != lookup->count)
		return false;
	return !lookup->count || !memcmp(lookup->capture->stack_frames.items + begin,
					 lookup->wanted, lookup->count * sizeof(uint32_t));
}

static uint32_t intern_stack(struct capture *capture, const uint32_t *frames, size_t count)
{
	struct lookup lookup = { capture, frames, count };
	uint32_t hash = intern_hash_seeded(frames, count * sizeof(*frames), capture->seed);
	uint32_t id = intern_find(&capture->stack_index, hash, stack_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->stack_ends.count;
	if (!VECTOR_RESERVE(&capture->stack_frames, count) ||
	    !VECTOR_RESERVE(&capture->stack_ends, 1) ||
	    !intern_insert(&capture->stack_index, hash, id))
		return INTERN_MISSING;
	if (count)
		memcpy(capture->stack_frames.items + capture->stack_frames.count, frames,
		       count * sizeof(*frames));
	capture->stack_frames.count += count;
	capture->stack_ends.items[capture->stack_ends.count++] =
		(uint32_t)capture->stack_frames.count;
	return id;
}

/* The head of a record whose counts agree with its length; NULL for anything else. */
static const struct sample_head *record_head(const void *record, size_t length)
{
	const struct sample_head *head = record;

	// The ring pads a record to 8 bytes, and its start is aligned to them.
	if (length < sizeof(*head) || head->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    head->user_count > SAMPLE_MAX_USER_FRAMES ||
	    length < sizeof(*head) +
			     (head->kernel_count + (size_t)head->user_count) * sizeof(uint64_t))
		return NULL;
	return head;
}

static bool intern_frames(struct capture *capture, const struct sample_head *head, uint32_t process,
			  uint32_t *frames)
{
	const uint64_t *addresses = (const uint64_t *)(head + 1);
	size_t count = (size_t)head->kernel_count + head->user_count;

	for (size_t i = 0; i < count; i++) {
		// Where execution stood is exact; a return address belongs to the call before it.
		bool exact = i == 0 || i == head->kernel_count;

		frames[i] = intern_frame(
			capture,
			(struct capture_frame){
				.address = addresses[i] - !exact,
				.first_ns = head->time_ns,
				.process = i < head->kernel_count ? CAPTURE_KERNEL : process,
			});
		if (frames[i] == INTERN_MISSING)
			return false;
	}
	return true;
}

int capture_append(struct capture *capture, const void *record, size_t length,
		   uint32_t *process_ret)
{
	const struct sample_head *head = record_head(record, length);
	uint32_t frames[SAMPLE_MAX_FRAMES];
	struct capture_sample sample;

	if (!head)
		return -EBADMSG;
	if (capture_used(capture) + SAMPLE_MAX_BYTES > capture->max_bytes)
		return -ENOSPC;
	sample = (struct capture_sample){
		.time_ns = head->time_ns,
		.process = intern_process(capture, head),
		.comm = intern_comm(capture, head->comm),
		.tid = head->tid,
		.cpu = head->cpu,
	};
	if (sample.process == INTERN_MISSING || sample.comm == INTERN_MISSING ||
	    !intern_frames(capture, head, sample.process, frames))
		return -ENOMEM;
	sample.stack = intern_stack(capture, frames, (size_t)head->kernel_count + head->user_count);
	if (sample.stack == INTERN_MISSING || !VECTOR_PUSH(&capture->samples, sample))
		return -ENOMEM;
	*process_ret = sample.process;
	return 0;
}
