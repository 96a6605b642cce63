# SPDX-License-Identifier: Apache-2.0
# Callers of the form of glibc's lazy binding, whose canonical frame address hangs on rbx, and
# callees of all kinds. Never run.
	.text

	.macro begin name
	.p2align 4
	.globl \name
	.type \name, @function
\name:	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.macro caller name, callee
	begin \name
	push %rbx
	.cfi_def_cfa_offset 32
	.cfi_offset rbx, -32
	mov %rsp, %rbx
	.cfi_def_cfa_register rbx
	and $-64, %rsp
	mov 16(%rbx), %rsi
	mov 8(%rbx), %rdi
	call \callee
	mov %rax, %r11
	ret
	end \name
	.endm

	caller calls_saving, saving
	caller calls_keeping, keeping
	caller calls_saving_late, saving_late
	caller calls_leaving, leaving
	caller calls_twice_saving, twice_saving
	caller calls_into, saving + 1
	caller calls_table_less, table_less

	# As OpenSSL has it: another frame, another form.
begin calls_otherwise
	.cfi_def_cfa rbx, 32
	call saving
	ret
	end calls_otherwise

begin saving
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	push %rbx
	.cfi_def_cfa_offset 24
	.cfi_offset rbx, -24
	call table_less
	pop %rbx
	.cfi_restore rbx
	.cfi_def_cfa_offset 16
	pop %rbp
	.cfi_def_cfa_offset 8
	ret
	end saving

	# Its neighbour saves, within 128 bytes.
begin keeping
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call table_less
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	end keeping
begin neighbour
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call table_less
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	end neighbour

begin saving_late
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call table_less
	add $8, %rsp
	.cfi_def_cfa_offset 8
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call table_less
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	end saving_late

begin leaving
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call table_less
	pop %rbx
	.cfi_restore rbx
	.cfi_def_cfa_offset 8
	.byte 0xe9
	.long keeping - . - 4
	end leaving

begin twice_saving
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call table_less
	pop %rbx
	.cfi_restore rbx
	.cfi_def_cfa_offset 8
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	push %rbx
	.cfi_def_cfa_offset 24
	.cfi_offset rbx, -24
	call table_less
	ret
	end twice_saving

	# More of them than are looked at.
begin calls_often
	.cfi_def_cfa rbx, 32
	.rept 100
	mov 16(%rbx), %rsi
	mov 8(%rbx), %rdi
	call saving
	.endr
	ret
	end calls_often

	.p2align 4
	.skip 256, 0x90
	.type table_less, @function
table_less:
	ret
	.size table_less, . - table_less

	.section .note.GNU-stack, "", @progbits
