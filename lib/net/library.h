/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC library itself: clients and servers hold a reference each. Private to lib/net.
 */
#pragma once

/*
 * Start gRPC, or count one more user of it. What the library logs by itself is dropped, unless
 * GRPC_VERBOSITY is set in the environment: our answers say it, once. Any thread.
 */
void library_ref(void);
void library_unref(void); /* waits for the library's threads when it was the last one */
