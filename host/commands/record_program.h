/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that `record -- PROGRAM` runs: a child that waits until the profiler is ready before
 * it executes, so that its first instruction can be sampled. Under sudo it runs as the user who
 * called it, with that user's groups and HOME. Main thread, but for the descriptor.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <sys/types.h>

struct record_program {
	pid_t pid;      /* 0 = there is none */
	int pid_fd;     /* readable once it has ended; owned */
	int go_fd;      /* written to: execute; closed: do not */
	int failure_fd; /* gets an errno when it cannot be executed */
	int status;     /* as of waitpid, once it has been waited for */
	bool ended;
	const char *name; /* borrowed */
};

/* Fork. Before any thread exists. @words is borrowed for the call and NULL-terminated. */
PROFCOL_MUST_CHECK struct profcol_error *record_program_start(char *const *words,
							      struct record_program *ret);

/* Let it execute. */
void record_program_go(struct record_program *program);

/* Has it ended? It is then reaped. */
bool record_program_has_ended(struct record_program *program);

/* Wait for that until @deadline_ns (CLOCK_MONOTONIC). */
bool record_program_wait(struct record_program *program, uint64_t deadline_ns);

/* Has it ended by the signal @number? */
bool record_program_was_ended_by(const struct record_program *program, int number);

/* The exit code as a shell has it, of one that has ended. */
int record_program_code(const struct record_program *program);

/* Why it could not be executed; NULL when it could be. Of one that has ended. */
struct profcol_error *record_program_failure(const struct record_program *program);

/* What has not been told to execute never will be. Leaves alone what runs. */
void record_program_deinit(struct record_program *program);
