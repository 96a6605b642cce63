/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Unwind rules as the kernel side reads them. The rules of 64 KiB of a file's text (ELF
 * addresses) are a page:
 *
 *   u16 first[257]   for each block of 256 bytes the number of its first row, then the number of all
 *   u16 reserved
 *   u32 rows[]       of each block by address, the first one at its start
 *
 * A row says from which byte of its block on which rule holds:
 *
 *   bits  0..7   byte
 *   bits 16..31  rule: 1nnnnnnnnnn sssss   CFA = sp + 8 n, n > 0
 *                      01nnnnnnnnn sssss   CFA = fp + 8 n, n > 0
 *                      00iiiiiiiiiiiiii    number i of the table of rules
 *
 * In the first two the return address lies at CFA - 8, and the caller's frame pointer at
 * CFA - 8 (s + 1), or with s = 0 still in its register. amd64 only; everything else, and all of
 * arm64, is in the table.
 *
 * So that one sample touches few cache lines: one of `first`, one of `rows`.
 */
#pragma once

#include <linux/types.h>

enum {
	UNWIND_PAGE_SHIFT = 16,
	UNWIND_BLOCK_SHIFT = 8,
	UNWIND_BLOCKS = 1 << (UNWIND_PAGE_SHIFT - UNWIND_BLOCK_SHIFT),
	UNWIND_PAGE_HEAD_BYTES = 2 * (UNWIND_BLOCKS + 2),

	UNWIND_PACKED_SP = 1 << 15,
	UNWIND_PACKED_FP = 1 << 14,
	UNWIND_PACKED_SLOTS = 1 << 5,       /* of s */
	UNWIND_PACKED_SP_DEPTHS = 1 << 10,  /* of n */
	UNWIND_PACKED_FP_DEPTHS = 1 << 9,
	UNWIND_RULES = 1 << 14,             /* in the table at most */

	UNWIND_RULE_UNKNOWN = 0, /* fixed numbers in the table */
	UNWIND_RULE_END = 1,
};
