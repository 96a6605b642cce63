// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include "sample_labels.h"

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
	VECTOR_DEINIT(&capture->threads);
	VECTOR_DEINIT(&capture->stacks);
	VECTOR_DEINIT(&capture->stack_frames);
	VECTOR_DEINIT(&capture->labels);
	VECTOR_DEINIT(&capture->label_words);
	VECTOR_DEINIT(&capture->samples);
	intern_deinit(&capture->process_index);
	intern_deinit(&capture->frame_index);
	intern_deinit(&capture->comm_index);
	intern_deinit(&capture->thread_index);
	intern_deinit(&capture->stack_index);
	intern_deinit(&capture->labels_index);
}

#define VECTOR_BYTES(vector) ((vector)->capacity * sizeof(*(vector)->items))

size_t capture_memory(const struct capture *capture)
{
	return VECTOR_BYTES(&capture->processes) + VECTOR_BYTES(&capture->frames) +
	       VECTOR_BYTES(&capture->comms) + VECTOR_BYTES(&capture->threads) +
	       VECTOR_BYTES(&capture->stacks) + VECTOR_BYTES(&capture->stack_frames) +
	       VECTOR_BYTES(&capture->samples) + VECTOR_BYTES(&capture->labels) +
	       VECTOR_BYTES(&capture->label_words) + intern_memory(&capture->labels_index) +
	       intern_memory(&capture->process_index) + intern_memory(&capture->frame_index) +
	       intern_memory(&capture->comm_index) + intern_memory(&capture->thread_index) +
	       intern_memory(&capture->stack_index);
}

/* Both double as they grow: a vector may be half empty, an index of 8-byte slots 5/8. */
enum { GROWTH = 2, INDEX_BYTES = 24 };

/* Of a batch, what labels may take. */
enum { LABELS_SHARE = 8 };

/* What @count rows of labels of @words take at most. */
static size_t labels_bytes(size_t count, size_t words)
{
	return GROWTH * (count * sizeof(struct capture_labels) + words * sizeof(uint64_t)) +
	       INDEX_BYTES * count;
}

static size_t labels_used(const struct capture *capture)
{
	return labels_bytes(capture->labels.count, capture->label_words.count);
}

size_t capture_used(const struct capture *capture)
{
	size_t rows = capture->samples.count * sizeof(struct capture_sample) +
		      capture->frames.count * sizeof(struct capture_frame) +
		      capture->stack_frames.count * sizeof(uint32_t) +
		      capture->stacks.count * sizeof(struct capture_stack) +
		      capture->comms.count * sizeof(struct capture_comm) +
		      capture->threads.count * sizeof(struct capture_thread) +
		      capture->processes.count * sizeof(struct capture_process);
	size_t indexed = capture->frames.count + capture->stacks.count + capture->comms.count +
			 capture->threads.count + capture->processes.count;

	return GROWTH * rows + INDEX_BYTES * indexed + labels_used(capture);
}

/* What one more sample of @count frames and @label_bytes adds to it at most. */
static size_t capture_most(size_t count, size_t label_bytes)
{
	size_t rows = sizeof(struct capture_sample) + sizeof(struct capture_process) +
		      sizeof(struct capture_comm) + sizeof(struct capture_thread) +
		      sizeof(struct capture_stack) +
		      count * (sizeof(struct capture_frame) + sizeof(uint32_t));

	return GROWTH * rows + INDEX_BYTES * (count + 4) +
	       labels_bytes(1, label_bytes / sizeof(uint64_t));
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
	capture->threads.count = 0;
	capture->stacks.count = 0;
	capture->stack_frames.count = 0;
	capture->samples.count = 0;
	capture->labels.count = 0;
	capture->label_words.count = 0;
	memset(capture->label_fates, 0, sizeof(capture->label_fates));
	memset(capture->recent, 0, sizeof(capture->recent));
	intern_clear(&capture->process_index);
	intern_clear(&capture->frame_index);
	intern_clear(&capture->comm_index);
	intern_clear(&capture->thread_index);
	intern_clear(&capture->stack_index);
	intern_clear(&capture->labels_index);
}

struct lookup {
	const struct capture *capture;
	const void *wanted;
	size_t count;
	uint32_t end;
};

static bool process_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;

	return process_key_equal(&lookup->capture->processes.items[id].key, lookup->wanted);
}

static uint32_t intern_process(struct capture *capture, const struct sample_head *head)
{
	struct process_key key = { head->pid, head->exec_id, head->start_boottime_ns };
	struct lookup lookup = { capture, &key };
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
	struct lookup lookup = { capture, comm.text };
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

	return row->address == frame->address && row->process == frame->process &&
	       row->file == frame->file && row->mapped_ns == frame->mapped_ns;
}

uint32_t capture_intern_frame(struct capture *capture, struct capture_frame frame)
{
	struct lookup lookup = { capture, &frame };
	uint64_t key[] = { frame.address, frame.mapped_ns,
			   (uint64_t)frame.process << 32 | frame.file };
	uint32_t hash = intern_hash_seeded(key, sizeof(key), capture->seed);
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
	const struct capture *capture = lookup->capture;
	uint32_t begin = capture_stack_begin(capture, id);
	struct capture_stack stack = capture->stacks.items[id];

	if (stack.limit - begin != lookup->count || stack.end != lookup->end)
		return false;
	return !lookup->count || !memcmp(capture->stack_frames.items + begin, lookup->wanted,
					 lookup->count * sizeof(uint32_t));
}

static uint32_t stack_hash(const struct capture *capture, const uint32_t *frames, size_t count,
			   uint32_t end)
{
	return intern_hash_seeded(frames, count * sizeof(*frames), capture->seed + end);
}

uint32_t capture_intern_stack(struct capture *capture, const uint32_t *frames, size_t count,
			      uint32_t end)
{
	struct lookup lookup = { capture, frames, count, end };
	uint32_t hash = stack_hash(capture, frames, count, end);
	uint32_t id = intern_find(&capture->stack_index, hash, stack_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->stacks.count;
	if (!VECTOR_RESERVE(&capture->stack_frames, count) ||
	    !VECTOR_RESERVE(&capture->stacks, 1) || !intern_insert(&capture->stack_index, hash, id))
		return INTERN_MISSING;
	if (count)
		memcpy(capture->stack_frames.items + capture->stack_frames.count, frames,
		       count * sizeof(*frames));
	capture->stack_frames.count += count;
	capture->stacks.items[capture->stacks.count++] =
		(struct capture_stack){ (uint32_t)capture->stack_frames.count, end };
	return id;
}

static bool labels_equal(uint32_t id, const void *context)
{
	const struct lookup *lookup = context;
	const struct capture *capture = lookup->capture;
	const uint64_t *words = capture_labels(capture, id);
	const uint64_t *limit = capture->label_words.items + capture->labels.items[id].limit;

	return (size_t)(limit - words) == lookup->count &&
	       !memcmp(words, lookup->wanted, lookup->count * sizeof(*words));
}

/* The row of @count words of labels; of its share of the batch nothing is left:
 * CAPTURE_LABELS_NO_ROOM is counted, and there is none. */
static uint32_t intern_labels(struct capture *capture, const uint64_t *words, size_t count)
{
	struct lookup lookup = { capture, words, count };
	uint32_t hash = intern_hash_seeded(words, count * sizeof(*words), capture->seed);
	uint32_t id = intern_find(&capture->labels_index, hash, labels_equal, &lookup);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)capture->labels.count;
	if (labels_used(capture) + labels_bytes(1, count) > capture->max_bytes / LABELS_SHARE ||
	    !VECTOR_RESERVE(&capture->label_words, count) || !VECTOR_RESERVE(&capture->labels, 1) ||
	    !intern_insert(&capture->labels_index, hash, id)) {
		capture->label_fates[CAPTURE_LABELS_NO_ROOM]++;
		return INTERN_MISSING;
	}
	memcpy(capture->label_words.items + capture->label_words.count, words,
	       count * sizeof(*words));
	capture->label_words.count += count;
	capture->labels.items[capture->labels.count++] =
		(struct capture_labels){ (uint32_t)capture->label_words.count };
	return id;
}

/* The labels of a record; they add up. */
static const struct sample_labels *record_labels(const struct sample_head *head)
{
	const uint64_t *words = (const uint64_t *)(head + 1);

	return (const void *)(words + head->kernel_count + head->user_words +
			      head->deferred_bytes / sizeof(uint64_t));
}

/* As capture_sample.labels. */
static uint32_t append_labels(struct capture *capture, const struct sample_head *head)
{
	const struct sample_labels *labels = record_labels(head);
	uint32_t row;

	if (!head->label_bytes)
		return 0;
	capture->label_fates[CAPTURE_LABELS_WHOLE] +=
		!(labels->flags & ~(SAMPLE_LABELS_PARTNER | SAMPLE_LABELS_WOKEN)) && labels->count;
	capture->label_fates[CAPTURE_LABELS_CUT] += (labels->flags & SAMPLE_LABELS_CUT) != 0;
	capture->label_fates[CAPTURE_LABELS_LEFT_OUT] +=
		(labels->flags & SAMPLE_LABELS_LEFT_OUT) != 0;
	capture->label_fates[CAPTURE_LABELS_UNREADABLE] +=
		(labels->flags & SAMPLE_LABELS_UNREADABLE) != 0;
	if (!labels->count && !(labels->flags & SAMPLE_LABELS_PARTNER))
		return 0;
	row = intern_labels(capture, (const uint64_t *)labels,
			    head->label_bytes / sizeof(uint64_t));
	return row == INTERN_MISSING ? 0 : row + 1;
}

/* Of a frame that is a place in a file: the file's number, from 1 on. */
static uint32_t frame_file(uint64_t frame)
{
	return (uint32_t)((frame & ~UNWIND_FRAME_FILE) >> UNWIND_FRAME_SHIFT);
}

/* What the kernel's walker took for an address may be anything, the mark of a file included. */
static bool frame_is_in_file(const struct sample_head *head, uint64_t frame)
{
	return head->end != UNWIND_END_NO_PROCESS && frame & UNWIND_FRAME_FILE;
}

/* The same of the mark of a runtime's frame, which has another word. */
static bool frame_is_wide(const struct sample_head *head, uint64_t frame)
{
	return head->end != UNWIND_END_NO_PROCESS && unwind_frame_is_wide(frame);
}

/* Do files have numbers, and all frames all their words? */
static bool user_frames_add_up(const struct sample_head *head)
{
	const uint64_t *user = (const uint64_t *)(head + 1) + head->kernel_count;

	for (size_t i = 0; i < head->user_words; i++) {
		if (frame_is_in_file(head, user[i]) && !frame_file(user[i]))
			return false;
		if (frame_is_wide(head, user[i]) && ++i == head->user_words)
			return false;
	}
	return true;
}

/* Are there all bytes that @head, of a record of @length bytes, tells of, and do labels add up? */
static bool record_adds_up(const struct sample_head *head, size_t length)
{
	size_t words = (size_t)head->kernel_count + head->user_words;
	size_t bytes = sizeof(*head) + words * sizeof(uint64_t);

	if (length < bytes)
		return false;
	if (!head->label_bytes)
		return true;
	return head->deferred_bytes % sizeof(uint64_t) == 0 &&
	       length >= bytes + head->deferred_bytes + head->label_bytes &&
	       sample_labels_check(record_labels(head), head->label_bytes);
}

/* The head of a record whose counts agree with its length; NULL for anything else. */
static const struct sample_head *record_head(const void *record, size_t length)
{
	const struct sample_head *head = record;

	// The ring pads a record to 8 bytes, and its start is aligned to them.
	if (length < sizeof(*head) || head->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    head->user_words > SAMPLE_MAX_USER_WORDS || !record_adds_up(head, length))
		return NULL;
	if (head->end >= UNWIND_END_COUNT || (head->user_words && !head->end))
		return NULL;
	if (!head->origin || head->origin >= SAMPLE_WALL || head->value > INT64_MAX)
		return NULL;
	return user_frames_add_up(head) ? head : NULL;
}

/* A thread that has waited, or has woken another one, stands in a call, of what samples it. */
static bool stands_in_call(uint32_t origin)
{
	return origin == SAMPLE_OFF_CPU || origin == SAMPLE_WAKERS ||
	       origin == SAMPLE_MEMORY_GROWTH;
}

/* Where execution stood is exact; a return address belongs to the call before it. */
static struct capture_frame kernel_frame(const struct sample_head *head, size_t depth)
{
	uint64_t word = ((const uint64_t *)(head + 1))[depth];
	bool is_exact = !depth && !stands_in_call(head->origin);

	return (struct capture_frame){ .address = word - !is_exact, .process = CAPTURE_KERNEL };
}

static struct capture_frame user_frame(const struct sample_head *head, uint64_t word, size_t depth,
				       uint32_t process)
{
	if (head->end == UNWIND_END_NO_PROCESS)
		return (struct capture_frame){ .address = word - (depth > 0), .process = process };
	if (!frame_is_in_file(head, word))
		return (struct capture_frame){ .address = word, .process = process };
	return (struct capture_frame){
		.address = word & ((1ull << UNWIND_FRAME_SHIFT) - 1),
		.process = CAPTURE_FILE,
		.file = frame_file(word) - 1,
	};
}

/* Of a language runtime's code. */
static struct capture_frame runtime_frame(const uint64_t words[2], uint32_t process)
{
	const uint64_t numbers = (1u << UNWIND_FRAME_NUMBER_BITS) - 1;
	const uint64_t kinds = (1u << UNWIND_FRAME_KIND_BITS) - 1;

	return (struct capture_frame){
		.address = words[0] & ((1ull << UNWIND_FRAME_NUMBER_SHIFT) - 1),
		.process = process,
		.runtime = (uint32_t)(words[0] >> UNWIND_FRAME_NUMBER_SHIFT & numbers) |
			   (uint32_t)(words[0] >> UNWIND_FRAME_KIND_SHIFT & kinds) << 8,
		.position = (uint32_t)words[1],
		.check = (uint32_t)(words[1] >> 32),
	};
}

bool capture_question(const struct capture *capture, size_t frame, struct frame_question *ret)
{
	const struct capture_frame *from = &capture->frames.items[frame];

	if (from->process >= CAPTURE_FILE)
		return false;
	*ret = (struct frame_question){
		.key = capture->processes.items[from->process].key,
		.runtime = from->runtime & 0xff,
		.frame = { .object = from->address },
	};
	if (from->runtime) {
		ret->frame.position = from->position;
		ret->frame.check = from->check;
		ret->frame.kind = from->runtime >> 8;
	}
	return true;
}

/* As capture_intern_frame, of a frame of a sample. */
static uint32_t intern_recent_frame(struct capture *capture, struct capture_frame frame)
{
	uint64_t mixed = (frame.address ^ frame.file ^ frame.mapped_ns) * 0x9e3779b97f4a7c15ull;
	struct capture_recent *recent = &capture->recent[mixed >> 32 & (CAPTURE_RECENT - 1)];
	uint32_t row;

	if (recent->frame && recent->address == frame.address && recent->process == frame.process &&
	    recent->file == frame.file && recent->second == frame.mapped_ns)
		return recent->frame - 1;
	row = capture_intern_frame(capture, frame);
	if (row != INTERN_MISSING)
		*recent = (struct capture_recent){ frame.address, frame.mapped_ns, frame.process,
						   frame.file, row + 1 };
	return row;
}

/* The rows of all frames of a sample to @frames; *@count_ret: how many they are; *@runtime_ret: of
 * the innermost one whose runtime knows names of threads. */
static bool intern_frames(struct capture *capture, const struct sample_head *head, uint32_t process,
			  uint32_t *frames, size_t *count_ret, uint32_t *runtime_ret)
{
	const uint64_t *words = (const uint64_t *)(head + 1);
	size_t all = (size_t)head->kernel_count + head->user_words, count = 0;

	*runtime_ret = RUNTIME_NONE;
	for (size_t i = 0; i < all; i++) {
		struct capture_frame frame;

		if (i < head->kernel_count)
			frame = kernel_frame(head, i);
		else if (frame_is_wide(head, words[i]))
			frame = runtime_frame(&words[i++], process);
		else
			frame = user_frame(head, words[i], i - head->kernel_count, process);
		if (*runtime_ret == RUNTIME_NONE)
			*runtime_ret = capture_naming_runtime(&frame);
		frame.first_ns = head->time_ns;
		frames[count] = intern_recent_frame(capture, frame);
		if (frames[count++] == INTERN_MISSING)
			return false;
	}
	*count_ret = count;
	return true;
}

int capture_append(struct capture *capture, const void *record, size_t length,
		   uint32_t *process_ret)
{
	const struct sample_head *head = record_head(record, length);
	uint32_t frames[SAMPLE_MAX_WORDS];
	struct capture_sample sample;
	uint32_t runtime;
	size_t count;

	if (!head)
		return -EBADMSG;
	count = (size_t)head->kernel_count + head->user_words;
	if (capture_used(capture) + capture_most(count, head->label_bytes) > capture->max_bytes)
		return -ENOSPC;
	sample = (struct capture_sample){
		.time_ns = head->time_ns,
		.process = intern_process(capture, head),
		.comm = intern_comm(capture, head->comm),
		.tid = head->tid,
		.cpu = head->cpu,
		.origin = (uint8_t)head->origin,
		.detail = head->detail,
		.value = head->value,
	};
	if (sample.process == INTERN_MISSING || sample.comm == INTERN_MISSING ||
	    !intern_frames(capture, head, sample.process, frames, &count, &runtime))
		return -ENOMEM;
	sample.stack = capture_intern_stack(capture, frames, count, head->end);
	sample.labels = append_labels(capture, head);
	if (sample.stack == INTERN_MISSING || !capture_note_thread(capture, &sample, runtime) ||
	    !VECTOR_PUSH(&capture->samples, sample))
		return -ENOMEM;
	*process_ret = sample.process;
	return 0;
}

/* What is @stack, its frames from @begin on, becomes number @id, which is not above its own. */
static void move_stack(struct capture *capture, uint32_t id, uint32_t begin,
		       const struct capture_stack *stack)
{
	uint32_t *frames = capture->stack_frames.items;
	uint32_t to = capture_stack_begin(capture, id), count = stack->limit - begin;

	if (count) {
		memmove(frames + to, frames + begin, count * sizeof(*frames));
		frames += to;
	}
	// The index had all of them: there is room.
	intern_insert(&capture->stack_index, stack_hash(capture, frames, count, stack->end), id);
	capture->stacks.items[id] = (struct capture_stack){ to + count, stack->end };
}

void capture_drop_unused_stacks(struct capture *capture)
{
	CLEANUP_FREE uint32_t *ids = calloc(capture->stacks.count + 1, sizeof(*ids));
	uint32_t kept = 0, begin = 0;

	if (!ids)
		return;
	for (size_t i = 0; i < capture->samples.count; i++)
		ids[capture->samples.items[i].stack] = 1;
	intern_clear(&capture->stack_index);
	for (size_t id = 0; id < capture->stacks.count; id++) {
		struct capture_stack stack = capture->stacks.items[id];

		if (ids[id]) {
			move_stack(capture, kept, begin, &stack);
			ids[id] = kept++;
		}
		begin = stack.limit;
	}
	capture->stacks.count = kept;
	capture->stack_frames.count = capture_stack_begin(capture, kept);
	for (size_t i = 0; i < capture->samples.count; i++)
		capture->samples.items[i].stack = ids[capture->samples.items[i].stack];
}
