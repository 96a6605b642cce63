/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing files of others. At each close a file system may ask its server to write back what it
 * has (FLUSH in FUSE, the same in NFS), also of a file that was only read, and waits for the answer
 * in a way that nothing ends: nor a signal, nor SIGKILL. A thread that has other things to do must
 * not close such a file, and nothing that can be asked of a descriptor without waiting says whether
 * it is one. Descriptors that were opened with O_PATH are closed without asking anybody.
 */
#pragma once

/*
 * Close @fd, which is taken, in a thread that does nothing else. Costs the caller some
 * microseconds. While a close does not come back, another thread goes on with what else there is,
 * after a moment; when four are held up, the rest waits for one of them. The threads end when there
 * is nothing left to close. Any thread.
 */
void close_later(int fd);

/* For CLEANUP(): unless it is negative. */
void cleanup_close_later(const int *fd);
