/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing files of others. At each close a file system may ask its server to write back what it
 * has (FLUSH in FUSE, the same in NFS), also of a file that was only read, and waits for the answer
 * in a way that nothing ends: nor a signal, nor SIGKILL. A thread that has other things to do must
 * not close such a file, and nothing that can be asked of a descriptor without waiting says whether
 * it is one. Descriptors that were opened with O_PATH are closed without asking anybody.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Close @fd, which is taken, in a thread that does nothing else, at the expense of @payer, a number
 * of the caller's choice; 0 is the machine. Costs the caller some microseconds.
 *
 * While a close does not come back, another thread goes on with what else there is, after a moment.
 * A payer with four that are held up waits for one of them, and for no other payer's. There are up
 * to 68 threads, 32 of them the machine's, which end when there is nothing left to close. Any
 * thread.
 */
void close_later(int fd, uint64_t payer);

/*
 * Should nothing more be opened for @payer? So it is while four of its closes have not come back
 * for a second, or hundreds wait. Any thread.
 */
bool close_later_hangs(uint64_t payer);

/* How many closes of @payer may hang before nothing more should be opened for it. Any thread. */
unsigned int close_later_most(uint64_t payer);

struct close_later_counts {
	unsigned int hanging; /* closes that have not come back for five seconds */
	uint64_t payer;       /* of one of these */
	uint64_t refused;     /* how often close_later_hangs() was true so far: questions */
};

/* Any thread. */
struct close_later_counts close_later_counts(void);
