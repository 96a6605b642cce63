// SPDX-License-Identifier: Apache-2.0
/*
 * A member of the ring of `cold`: reads a token, walks through its own code (cold_text.py), passes
 * the token on. `cold_program FD TOKENS` is the member that brings the tokens in, the others have
 * no TOKENS. A token starts anew after each stage of VISITS members; where the last stage ends, a
 * unit is reported on FD. So a unit is the same work in rings of any length, as long as the ring
 * has its kinds of code in turn, and so many kinds divide its length and VISITS.
 */
#include <sched.h>

#include "unit.h"

#define STAGES 8
#define VISITS 24 // of a stage
#define WALKS  24 // of a visit

struct cold_token {
	uint32_t stage;
	uint32_t visits;
	uint32_t state;
	uint32_t sum;
};

/* From the code that cold_text.py prints. */
uint32_t cold_walk(uint32_t state);

static void cold_start_stage(struct cold_token *token, uint32_t stage)
{
	token->stage = stage;
	token->visits = 0;
	token->state = (stage + 1) * 2654435761u;
}

static void cold_end_stage(struct cold_token *token, int report_fd)
{
	token->sum = unit_fold(token->sum, token->state);
	if (token->stage + 1 < STAGES) {
		cold_start_stage(token, token->stage + 1);
		return;
	}
	unit_report(report_fd, token->sum);
	token->sum = UNIT_FOLD_START;
	cold_start_stage(token, 0);
}

static void cold_walk_and_pass(struct cold_token *token)
{
	for (unsigned int i = 0; i < WALKS; i++)
		token->state = cold_walk(token->state);
	token->visits++;
	if (write(STDOUT_FILENO, token, sizeof(*token)) != sizeof(*token))
		exit(1);
	sched_yield(); // even if another token waits here
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: cold_program FD [TOKENS]\n", stderr);
		return 2;
	}

	int report_fd = atoi(argv[1]);
	unsigned long tokens = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct cold_token token;

	for (unsigned long i = 0; i < tokens; i++) {
		token.sum = UNIT_FOLD_START;
		cold_start_stage(&token, 0);
		cold_walk_and_pass(&token);
	}
	while (read(STDIN_FILENO, &token, sizeof(token)) == sizeof(token)) {
		if (token.visits == VISITS)
			cold_end_stage(&token, report_fd);
		cold_walk_and_pass(&token);
	}
	return 1; // the ring is broken
}
