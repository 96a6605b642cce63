/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for files, in ascending order and then from 0 on again. What others remember by a number
 * is found by nobody who has that number later, if they forget all they know by numbers some time
 * after each turn.
 *
 * There are two halves; a turn is when numbers begin to come from the other one. Given are those
 * that were in nobody's use when the half before began: between the end of one use and the next
 * lie a turn and all the numbers of a half. One thread at a time.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILE_NUMBERS_NONE = UINT32_MAX };

/* Orders numbers (uint32_t), for qsort(3) and bsearch(3). */
int file_numbers_compare(const void *left, const void *right);

struct file_numbers {
	uint32_t half;  /* how many there are in each */
	uint32_t next;  /* number to be given, unless it is passed over */
	uint32_t limit; /* of the half it lies in */
	uint64_t turns;
	VECTOR(uint32_t)
	passed, passed_next; /* ascending: to be passed over in this half, the
				next */
	size_t passed_at;    /* of `passed` the first from `next` on */
};

/* @count is even, and far more than are ever in use. */
void file_numbers_init(struct file_numbers *numbers, uint32_t count);
void file_numbers_deinit(struct file_numbers *numbers);

/* The next number, or FILE_NUMBERS_NONE before a turn. */
uint32_t file_numbers_take(struct file_numbers *numbers);

/* Go on in the other half. @used: all @count numbers that are in use, ascending. False without
 * memory: nothing has changed. */
bool file_numbers_turn(struct file_numbers *numbers, const uint32_t *used, size_t count);

size_t file_numbers_memory(const struct file_numbers *numbers); /* bytes */
