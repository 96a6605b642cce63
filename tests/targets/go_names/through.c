/* SPDX-License-Identifier: Apache-2.0 */
/* From Go to C and back. */
#include "_cgo_export.h"

void intoC(void);

__attribute__((noinline)) void intoC(void)
{
	backToGo();
	__asm__ volatile("");
}
