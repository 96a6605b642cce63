/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A toy interpreter. Its programs are functions of instructions, each with a line of a source file;
 * they call each other within one call of the loop, and functions of C, which may call back.
 *
 * It says of itself where everything is: the section .toy.about leads to its threads, the section
 * .toy.loop has the code of the loop. Version 1 of the structures, for who looks from outside; what
 * follows in some of them is the interpreter's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TOY_FRAMES = 4096, TOY_SHADOW = 8192, TOY_CHAINS = 256, TOY_VERSION = 1 };

struct toy_text {
	uint32_t bytes;
	char text[];
};

/* From @position on. */
struct toy_row {
	uint32_t position, line;
};

enum toy_operation {
	TOY_WORK,   /* spends time: argument is in thousands of rounds */
	TOY_CALL,   /* a function of the program, by number */
	TOY_NATIVE, /* a function of C, by number; `more` is for that */
	TOY_AGAIN,  /* this function, or if the thread has no turns left that of the number */
	TOY_RETURN,
};

struct toy_instruction {
	enum toy_operation operation;
	uint32_t argument, more, line;
};

struct toy_code {
	uint32_t serial; /* no two have the same; 0 while it is none */
	uint32_t start_line;
	struct toy_text *name, *file;
	struct toy_row *rows;
	uint32_t row_count;
	uint32_t reserved;
	/* own: */
	const struct toy_instruction *instructions;
	const char *shadow_name; /* as chains have it */
	uint32_t shadow_line;    /* in place of all of its lines; 0: they are as they are */
};

struct toy_frame {
	struct toy_frame *caller;
	struct toy_code *code;
	uint32_t position;
	uint32_t reserved;
};

/* A call of the loop; in the frame of who called it. */
struct toy_call {
	struct toy_call *outer;
	struct toy_frame *volatile frame;
};

/* What the thread has called, apart from all of the above. */
struct toy_shadow {
	const char *function;
	const char *file; /* NULL: of C */
	uint32_t line;
};

struct toy_thread {
	struct toy_thread *next;
	uintptr_t self; /* the register by which the C library calls it */
	struct toy_call *volatile call;
	/* own: */
	struct toy_frame frames[TOY_FRAMES];
	uint32_t frame_count;
	uint32_t turns; /* left, of a recursion */
	uint32_t made;  /* functions made anew so far */
	struct toy_shadow shadow[TOY_SHADOW];
	uint32_t shadow_count;
	uint64_t chains[TOY_CHAINS]; /* hashes of those that were told */
	uint32_t chain_count;
};

typedef void toy_native(struct toy_thread *thread, uint32_t more);

/* The program's; defined by who uses this. */
extern struct toy_code *const toy_functions[];
extern toy_native *const toy_natives[];

/* The calling thread runs toy programs from now on, until the process ends. NULL without memory. */
struct toy_thread *toy_thread_begin(void);

/* Runs @code. */
void toy_call(struct toy_thread *thread, struct toy_code *code);

/* Fills the memory at @code, of which rows, name and file are there and large enough; then it is a
 * function with a serial of its own. */
void toy_code_make(struct toy_code *code, const char *name, const char *file,
		   const struct toy_instruction *instructions, uint32_t start_line);

/* It is none any more: its memory may become another one. */
void toy_code_end(struct toy_code *code);

/* The chain of calls that the thread is in is told to the file @toy_chains_fd, once. */
void toy_record(struct toy_thread *thread);
extern int toy_chains_fd;

void toy_shadow_push(struct toy_thread *thread, const char *function);
void toy_shadow_pop(struct toy_thread *thread);
