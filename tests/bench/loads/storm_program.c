// SPDX-License-Identifier: Apache-2.0
/*
 * What `storm` starts: some half a millisecond of calls, sorting and recursion, then the end. With
 * the argument PAUSE_MS it does that again and again, after pauses of so long, half of that more or
 * less.
 */
#include <string.h>
#include <time.h>

#include "unit.h"

#define COUNT    1500
#define NOINLINE __attribute__((noinline))

struct storm_tree {
	uint32_t value;
	struct storm_tree *left;
	struct storm_tree *right;
};

static NOINLINE void storm_insert(struct storm_tree **tree, uint32_t value)
{
	if (*tree) {
		storm_insert(value < (*tree)->value ? &(*tree)->left : &(*tree)->right, value);
		return;
	}
	*tree = calloc(1, sizeof(**tree));
	if (!*tree)
		abort();
	(*tree)->value = value;
}

static NOINLINE uint32_t storm_fold(const struct storm_tree *tree, uint32_t sum)
{
	if (!tree)
		return sum;
	sum = storm_fold(tree->left, sum);
	sum = unit_fold(sum, tree->value);
	return storm_fold(tree->right, sum);
}

static NOINLINE void storm_free(struct storm_tree *tree)
{
	if (!tree)
		return;
	storm_free(tree->left);
	storm_free(tree->right);
	free(tree);
}

static int storm_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static NOINLINE uint32_t storm_sort(const uint32_t *values)
{
	uint32_t sorted[COUNT];
	uint32_t sum = UNIT_FOLD_START;

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, COUNT, sizeof(sorted[0]), storm_compare);
	for (unsigned int i = 0; i < COUNT; i++)
		sum = unit_fold(sum, sorted[i]);
	return sum;
}

static NOINLINE uint32_t storm_work(void)
{
	uint32_t values[COUNT];
	uint32_t state = 42;
	struct storm_tree *tree = NULL;

	for (unsigned int i = 0; i < COUNT; i++) {
		state = state * 1103515245u + 12345u;
		values[i] = state >> 8;
		storm_insert(&tree, values[i]);
	}

	uint32_t sum = storm_fold(tree, storm_sort(values));

	storm_free(tree);
	return sum;
}

static void storm_rest(unsigned long pause_ms)
{
	unsigned long ms = pause_ms / 2 + (unsigned long)rand() % (pause_ms + 1);
	struct timespec rest = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&rest, NULL);
}

int main(int argc, char **argv)
{
	unsigned long pause_ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	srand((unsigned int)getpid());
	unit_report(STDOUT_FILENO, storm_work());
	while (pause_ms) {
		storm_rest(pause_ms);
		unit_report(STDOUT_FILENO, storm_work());
	}
	return 0;
}
