// SPDX-License-Identifier: Apache-2.0
/* Threads of a batch whose programs know names of threads. */
#include "capture.h"

#include "runtimes/runtime.h"

struct thread_lookup {
	const struct capture *capture;
	uint32_t words[3]; /* process, tid, comm */
};

static bool thread_equal(uint32_t id, const void *context)
{
	const struct thread_lookup *lookup = context;
	const struct capture_thread *thread = &lookup->capture->threads.items[id];

	return thread->process == lookup->words[0] && thread->tid == lookup->words[1] &&
	       thread->comm == lookup->words[2];
}

static uint32_t find(const struct thread_lookup *lookup, uint32_t hash)
{
	return intern_find(&lookup->capture->thread_index, hash, thread_equal, lookup);
}

static uint32_t hash_of(const struct thread_lookup *lookup)
{
	return intern_hash_seeded(lookup->words, sizeof(lookup->words), lookup->capture->seed);
}

uint32_t capture_naming_runtime(const struct capture_frame *frame)
{
	const struct runtime *runtime =
		capture_is_of_runtime(frame) ? runtime_find(frame->runtime & 0xff) : NULL;

	return runtime && runtime->name_thread ? runtime->number : RUNTIME_NONE;
}

bool capture_note_thread(struct capture *capture, const struct capture_sample *sample,
			 uint32_t runtime)
{
	const struct thread_lookup lookup = { capture,
					      { sample->process, sample->tid, sample->comm } };
	uint32_t hash;
	struct capture_process *process = &capture->processes.items[sample->process];

	if (runtime == RUNTIME_NONE)
		return true;
	hash = hash_of(&lookup);
	if (find(&lookup, hash) != INTERN_MISSING)
		return true;
	if (!VECTOR_RESERVE(&capture->threads, 1) ||
	    !intern_insert(&capture->thread_index, hash, (uint32_t)capture->threads.count))
		return false;
	capture->threads.items[capture->threads.count++] = (struct capture_thread){
		sample->process, sample->tid, sample->comm, runtime, !process->has_threads,
	};
	process->has_threads = true;
	return true;
}

uint32_t capture_find_thread(const struct capture *capture, const struct capture_sample *sample)
{
	const struct thread_lookup lookup = { capture,
					      { sample->process, sample->tid, sample->comm } };

	return capture->threads.count ? find(&lookup, hash_of(&lookup)) : UINT32_MAX;
}

struct frame_question capture_thread_question(const struct capture *capture, size_t thread)
{
	const struct capture_thread *from = &capture->threads.items[thread];

	return (struct frame_question){
		.key = capture->processes.items[from->process].key,
		.runtime = from->runtime,
		.frame = { .object = from->tid,
			   .check = proc_thread_name_check(capture->comms.items[from->comm].text),
			   .kind = RUNTIME_THREAD },
	};
}

struct frame_question capture_program_question(const struct capture *capture, uint32_t process,
					       uint32_t runtime)
{
	return (struct frame_question){
		.key = capture->processes.items[process].key,
		.runtime = runtime,
		.frame = { .kind = RUNTIME_PROGRAM },
	};
}
