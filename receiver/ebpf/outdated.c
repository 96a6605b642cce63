// SPDX-License-Identifier: Apache-2.0
#include "outdated.h"

/* Mappings that are looked at for one batch, so that no process can hold it up: some 0.1 s. */
static const uint64_t VISITS_MOST = 50000000;

struct mending {
	struct capture *capture;
	struct processes *processes;
	uint64_t visits;     /* that are left */
	uint64_t *addresses; /* borrowed, by frame: where it was found last; for those there were
				first */
	size_t address_count;
	uint32_t frames[SAMPLE_MAX_WORDS];
	size_t count;
	uint32_t end;
	bool changed;
};

/* The same address may have been something else when this batch met it first. */
static uint32_t frame_at(struct mending *mending, uint32_t row, const struct process_key *key,
			 uint64_t time_ns)
{
	struct capture_frame frame = mending->capture->frames.items[row];
	struct process_mapping then, now;

	if (frame.first_ns == time_ns ||
	    !processes_find_mapping(mending->processes, key, time_ns, frame.address, &now))
		return row;
	if (processes_find_mapping(mending->processes, key, frame.first_ns, frame.address, &then) &&
	    then.begin_ns == now.begin_ns)
		return row;
	frame.mapped_ns = now.begin_ns;
	frame.first_ns = time_ns;
	return capture_intern_frame(mending->capture, frame);
}

/* Is @frame, number @row, of code that the process of @key no longer had? */
static bool is_lost(struct mending *mending, const struct process_key *key, uint64_t time_ns,
		    uint32_t row)
{
	const struct capture_frame *frame = &mending->capture->frames.items[row];
	struct process_place place = {
		.offset = frame->address,
		.file = frame->file,
		.visits = mending->visits,
	};
	bool lost;

	if (row < mending->address_count)
		place.address = mending->addresses[row];
	lost = processes_has_lost(mending->processes, key, time_ns, &place);
	if (row < mending->address_count)
		mending->addresses[row] = place.address;
	mending->visits = place.visits;
	return lost;
}

/* *@row becomes the frame as it was at the time of @sample, UINT32_MAX without memory. False: there
 * was none. */
static bool mend_frame(struct mending *mending, const struct capture_sample *sample, uint32_t *row)
{
	const struct capture_frame *frame = &mending->capture->frames.items[*row];
	const struct process_key *key = &mending->capture->processes.items[sample->process].key;
	uint32_t before = *row;

	if (frame->process == CAPTURE_KERNEL || capture_is_of_runtime(frame))
		return true;
	if (frame->process == CAPTURE_FILE)
		return !is_lost(mending, key, sample->time_ns, *row);
	*row = frame_at(mending, *row, key, sample->time_ns);
	mending->changed |= *row != before;
	return true;
}

static void mend_sample(struct mending *mending, struct capture_sample *sample)
{
	struct capture *capture = mending->capture;
	struct capture_stack stack = capture->stacks.items[sample->stack];
	uint32_t at = capture_stack_begin(capture, sample->stack), row, id;

	mending->count = 0;
	mending->end = stack.end;
	mending->changed = false;
	for (; at < stack.limit && mending->count < SAMPLE_MAX_WORDS; at++) {
		row = capture->stack_frames.items[at];
		if (!mend_frame(mending, sample, &row)) {
			mending->end = UNWIND_END_NO_MAPPING;
			mending->changed = true;
			break;
		}
		if (row == UINT32_MAX)
			return;
		mending->frames[mending->count++] = row;
	}
	if (!mending->changed)
		return;
	id = capture_intern_stack(capture, mending->frames, mending->count, mending->end);
	if (id != UINT32_MAX)
		sample->stack = id;
}

/* Samples that have waited, for their stacks or to be selected, may be older than the batch. */
static uint64_t first_sample_ns(const struct capture *capture)
{
	uint64_t first_ns = capture->begin_ns;

	for (size_t i = 0; i < capture->samples.count; i++)
		if (capture->samples.items[i].time_ns < first_ns)
			first_ns = capture->samples.items[i].time_ns;
	return first_ns;
}

void outdated_mend(struct capture *capture, struct processes *processes)
{
	CLEANUP_FREE bool *suspects = calloc(capture->processes.count + 1, sizeof(bool));
	CLEANUP_FREE uint64_t *addresses = NULL;
	struct mending mending = {
		.capture = capture,
		.processes = processes,
		.visits = VISITS_MOST,
	};
	uint64_t since_ns = first_sample_ns(capture);
	bool any = false, changed = false;

	since_ns -= since_ns < OUTDATED_KEEP_NS ? since_ns : OUTDATED_KEEP_NS;
	for (size_t i = 0; suspects && i < capture->processes.count; i++) {
		suspects[i] =
			processes_code_ended(processes, &capture->processes.items[i].key, since_ns);
		any |= suspects[i];
	}
	if (!any)
		return;
	addresses = calloc(capture->frames.count + 1, sizeof(*addresses));
	mending.addresses = addresses;
	mending.address_count = addresses ? capture->frames.count : 0;
	for (size_t i = 0; i < capture->samples.count; i++) {
		struct capture_sample *sample = &capture->samples.items[i];
		uint32_t stack = sample->stack;

		if (suspects[sample->process])
			mend_sample(&mending, sample);
		changed |= sample->stack != stack;
	}
	if (changed)
		capture_drop_unused_stacks(capture);
}
