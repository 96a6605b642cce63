// SPDX-License-Identifier: Apache-2.0
/*
 * Three pages of code: one with more rows than a page has room for, one with more rules than an
 * answer has, and one like any other.
 */
	.text
	.balign 65536
	.globl crowded_rows
	.type crowded_rows, %function
crowded_rows:
	.cfi_startproc
	.rept 6000
	nop
	.cfi_adjust_cfa_offset 16
	nop
	.cfi_adjust_cfa_offset -16
	.endr
	.cfi_endproc
	.size crowded_rows, . - crowded_rows

	.balign 65536
	.globl crowded_rules
	.type crowded_rules, %function
crowded_rules:
	.cfi_startproc
	.set depth, 16384
	.rept 5000
	nop
	.set depth, depth + 16
	.cfi_def_cfa_offset depth
	.endr
	.cfi_endproc
	.size crowded_rules, . - crowded_rules

	.balign 65536
	.globl plain
	.type plain, %function
plain:
	.cfi_startproc
	nop
	.cfi_adjust_cfa_offset 65536
	nop
	.cfi_endproc
	.size plain, . - plain
	.section .note.GNU-stack, "", %progbits
