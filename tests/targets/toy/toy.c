/* SPDX-License-Identifier: Apache-2.0 */
#include "toy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOY_LOOP __attribute__((noinline, section(".toy.loop")))

static struct toy_about {
	char magic[8];
	uint64_t version;
	struct toy_thread *volatile threads;
} toy_about __attribute__((section(".toy.about"), used)) = { "TOYABOUT", TOY_VERSION, NULL };

int toy_chains_fd = -1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the next and the list */
static uint32_t serials;

/* What is interrupted here sees what was written before. */
static inline __attribute__((always_inline)) void in_order(void)
{
	__asm__ volatile("" : : : "memory");
}

/* ---- what is true ---- */

static inline __attribute__((always_inline)) void
shadow_add(struct toy_thread *thread, const char *function, const char *file, uint32_t line)
{
	thread->shadow[thread->shadow_count++] = (struct toy_shadow){ function, file, line };
}

void toy_shadow_push(struct toy_thread *thread, const char *function)
{
	shadow_add(thread, function, NULL, 0);
}

void toy_shadow_pop(struct toy_thread *thread)
{
	thread->shadow_count--;
}

static uint64_t hash_of(const struct toy_thread *thread)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < thread->shadow_count; i++) {
		hash = (hash ^ (uintptr_t)thread->shadow[i].function) * 1099511628211u;
		hash = (hash ^ thread->shadow[i].line) * 1099511628211u;
	}
	return hash;
}

static void tell(const struct toy_thread *thread)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);

	for (uint32_t i = 0; i < thread->shadow_count; i++) {
		const struct toy_shadow *at = &thread->shadow[i];

		fprintf(file, "%s%s", i ? "|" : "", at->function);
		if (at->file)
			fprintf(file, "@%s:%u", at->file, at->line);
	}
	fprintf(file, "\n");
	fclose(file);
	if (write(toy_chains_fd, text, bytes) != (ssize_t)bytes)
		abort();
	free(text);
}

void toy_record(struct toy_thread *thread)
{
	uint64_t hash = hash_of(thread);

	for (uint32_t i = 0; i < thread->chain_count; i++)
		if (thread->chains[i] == hash)
			return;
	if (thread->chain_count == TOY_CHAINS)
		abort();
	thread->chains[thread->chain_count++] = hash;
	tell(thread);
}

/* ---- functions ---- */

static void set_text(struct toy_text *text, const char *from)
{
	text->bytes = (uint32_t)strlen(from);
	memcpy(text->text, from, text->bytes);
}

static void set_rows(struct toy_code *code)
{
	uint32_t line = 0;

	code->row_count = 0;
	for (uint32_t at = 0;; at++) {
		const struct toy_instruction *instruction = &code->instructions[at];

		if (instruction->line != line)
			code->rows[code->row_count++] =
				(struct toy_row){ at, code->start_line + instruction->line };
		line = instruction->line;
		if (instruction->operation == TOY_RETURN)
			return;
	}
}

void toy_code_make(struct toy_code *code, const char *name, const char *file,
		   const struct toy_instruction *instructions, uint32_t start_line)
{
	uint32_t serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);

	code->start_line = start_line;
	code->instructions = instructions;
	set_text(code->name, name);
	set_text(code->file, file);
	set_rows(code);
	__atomic_store_n(&code->serial, serial, __ATOMIC_RELEASE);
}

void toy_code_end(struct toy_code *code)
{
	__atomic_store_n(&code->serial, 0, __ATOMIC_SEQ_CST);
}

/* ---- threads ---- */

struct toy_thread *toy_thread_begin(void)
{
	struct toy_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->self = (uintptr_t)__builtin_thread_pointer();
	pthread_mutex_lock(&lock);
	thread->next = toy_about.threads;
	in_order();
	toy_about.threads = thread;
	pthread_mutex_unlock(&lock);
	return thread;
}

/* ---- the interpreter ---- */

static inline __attribute__((always_inline)) void work(uint32_t thousands)
{
	uint64_t x = 88172645463325252u;

	for (uint64_t i = 0; i < thousands * 1000ull; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

static inline __attribute__((always_inline)) void push(struct toy_thread *thread,
						       struct toy_call *call, struct toy_code *code)
{
	struct toy_frame *frame = &thread->frames[thread->frame_count++];

	frame->caller = call->frame;
	frame->code = code;
	frame->position = 0;
	shadow_add(thread, code->shadow_name, code->file->text, 0);
	in_order();
	call->frame = frame;
}

/* The chain has the line that runs now. */
static inline __attribute__((always_inline)) void note_line(struct toy_thread *thread,
							    const struct toy_frame *frame)
{
	const struct toy_code *code = frame->code;

	thread->shadow[thread->shadow_count - 1].line =
		code->shadow_line ? code->shadow_line
				  : code->start_line + code->instructions[frame->position].line;
}

static TOY_LOOP void toy_loop(struct toy_thread *thread, struct toy_call *call)
{
	for (;;) {
		struct toy_frame *frame = call->frame;
		const struct toy_instruction *at = &frame->code->instructions[frame->position];

		note_line(thread, frame);
		in_order();
		switch (at->operation) {
		case TOY_WORK:
			toy_record(thread);
			work(at->argument);
			break;
		case TOY_CALL:
			push(thread, call, toy_functions[at->argument]);
			continue;
		case TOY_AGAIN:
			if (thread->turns) {
				thread->turns--;
				push(thread, call, frame->code);
			} else {
				push(thread, call, toy_functions[at->argument]);
			}
			continue;
		case TOY_NATIVE:
			toy_natives[at->argument](thread, at->more);
			break;
		case TOY_RETURN:
			thread->shadow_count--;
			thread->frame_count--;
			if (!frame->caller)
				return;
			call->frame = frame = frame->caller;
			break;
		}
		frame->position++;
		in_order();
	}
}

__attribute__((noinline)) void toy_call(struct toy_thread *thread, struct toy_code *code)
{
	struct toy_call call = { .outer = thread->call };

	toy_shadow_push(thread, "toy_call");
	push(thread, &call, code);
	thread->call = &call;
	toy_loop(thread, &call);
	thread->call = call.outer;
	toy_shadow_pop(thread);
}
