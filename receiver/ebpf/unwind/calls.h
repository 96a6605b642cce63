/* SPDX-License-Identifier: Apache-2.0 */
/* Whether code calls anything. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Could a call end in the @length bytes of @code, which begin with an instruction? True whenever
 * some bytes look like one, wherever instructions may begin: nothing is disassembled. Of other
 * machines than EM_X86_64 (Intel SDM vol. 2, CALL) and EM_AARCH64 (Arm ARM, C4.1) always.
 */
bool calls_may_end_in(const uint8_t *code, size_t length, uint16_t elf_machine);
