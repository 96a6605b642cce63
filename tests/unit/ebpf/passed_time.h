/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What has passed on the clock of lib/base besides the real time; the test's to set. Linked by
 * profcol_passes_time() of the CMakeLists.txt beside this file. close_later() closes at once. */
extern uint64_t passed_ns;

/* From here on only passed_ns moves the clock, so that a busy machine makes nothing late. */
void time_stands(void);
/* The clock goes on from where it stands. */
void time_goes_on(void);
