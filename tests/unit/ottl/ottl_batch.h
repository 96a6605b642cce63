/* SPDX-License-Identifier: Apache-2.0 */
/* The batch that the tests of lib/ottl ask about; ottl_batch.c shows what is in it. */
#pragma once

#include <profcol/batch.h>

/* Never NULL. */
struct profcol_batch *ottl_batch_create(void);

/*
 * One profile of @count samples. Sample I has a stack of its own, one frame of "function I", and
 * the attributes "number": I and "text": @length letters 'a', which the resource has, too. Never
 * NULL.
 */
struct profcol_batch *ottl_batch_create_wide(uint32_t count, size_t length);
