/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of libraries and components. Any thread. */
#pragma once

#include <pthread.h>

/*
 * Start a thread that takes no signals: they are for those that wait for them, and SIGPIPE is then
 * an error of write(). The caller joins *@ret. 0 or a positive errno, as pthread_create(3).
 */
int thread_start(pthread_t *ret, void *(*run)(void *argument), void *argument);
