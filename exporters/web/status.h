/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept, as JSON for the page. Private to answer.c. */
#pragma once

#include "answer.h"

#include <stdio.h>

/* Times, kinds of samples, keys to group by, and the account. */
void status_write(const struct answer_context *context, FILE *stream);

/* How much of the kind that @parameters name there is in each slice of time. */
void status_write_load(const struct answer_context *context, const struct parameters *parameters,
		       FILE *stream);
