/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Bits of an address in user memory. arm64 signs return addresses in those above, as many as the
 * kernel leaves (Documentation/arm64/pointer-authentication.rst); the instruction that takes the
 * signature off says which. A processor that cannot sign takes it for no operation.
 */
uint64_t address_mask(void);
