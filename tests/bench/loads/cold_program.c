// SPDX-License-Identifier: Apache-2.0
/*
 * A member of the ring of `cold`: reads a token, walks through its own code (cold_text.py), passes
 * the token on. `cold_program TOKENS FD` is the member that brings the tokens in; it reports a
 * unit on FD when a token has made TOURS tours. Tours differ, units do not.
 */
#include <sched.h>

#include "unit.h"

#define TOURS 8
#define WALKS 24

struct cold_token {
	uint32_t tour;
	uint32_t state;
	uint32_t sum;
};

/* From the code that cold_text.py prints. */
uint32_t cold_walk(uint32_t state);

static void cold_start_tour(struct cold_token *token, uint32_t tour)
{
	token->tour = tour;
	token->state = (tour + 1) * 2654435761u;
}

static void cold_end_tour(struct cold_token *token, int report_fd)
{
	token->sum = unit_fold(token->sum, token->state);
	if (token->tour + 1 < TOURS) {
		cold_start_tour(token, token->tour + 1);
		return;
	}
	unit_report(report_fd, token->sum);
	token->sum = UNIT_FOLD_START;
	cold_start_tour(token, 0);
}

static void cold_walk_and_pass(struct cold_token *token)
{
	for (unsigned int i = 0; i < WALKS; i++)
		token->state = cold_walk(token->state);
	if (write(STDOUT_FILENO, token, sizeof(*token)) != sizeof(*token))
		exit(1);
	sched_yield(); // even if another token waits here
}

int main(int argc, char **argv)
{
	unsigned long tokens = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	int report_fd = argc == 3 ? atoi(argv[2]) : -1;
	struct cold_token token;

	for (unsigned long i = 0; i < tokens; i++) {
		token.sum = UNIT_FOLD_START;
		cold_start_tour(&token, 0);
		cold_walk_and_pass(&token);
	}
	while (read(STDIN_FILENO, &token, sizeof(token)) == sizeof(token)) {
		if (tokens)
			cold_end_tour(&token, report_fd);
		cold_walk_and_pass(&token);
	}
	return 1; // the ring is broken
}
