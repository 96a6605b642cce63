/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of this process is in memory. Starting runs a great deal of code once (relocations,
 * constructors of libraries, options, channels), and the kernel maps 15 pages around each that is
 * touched: most of what a small process is charged for its program was needed for a moment.
 */
#pragma once

/*
 * Unmap the pages of the program and its libraries that nothing has written to, and give free heap
 * back to the kernel. The pages stay in the page cache; those that are needed again come back when
 * they are touched, some microseconds each time. Any thread; takes a millisecond.
 *
 * A breakpoint that a debugger or a tracer has set in them before is gone.
 */
void residency_trim(void);
