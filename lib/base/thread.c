// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(ret, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}
