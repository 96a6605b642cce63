/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the samples went, exporter by exporter, across reloads: instances come and go, and
 * a receiver may lead to one exporter now and to another one later.
 *
 * The balance of an exporter is what it booked itself, and what was booked on the ways to
 * it for as long as they were ways to it. A period in which the layout stays the same is closed
 * by adding what was booked in it: of all receivers and processors on a way what they
 * filtered and lost, and what the last of them handed on. As taken counts the sum of these;
 * what a component that goes on still holds will be handed on, and so be taken, in a later
 * period; what one that has ended still holds has vanished, and counts as taken, too.
 *
 * Main thread, but for reading.
 */
#pragma once

#include "layout.h"

struct book {
	char *exporter; /* owned: its id */
	struct balance balance;
};

struct books {
	VECTOR(struct book *) items; /* owned */
};

void books_deinit(struct books *books);

/* Have a book for each exporter of @layout, so that closing cannot fail. False without memory. */
bool books_reserve(struct books *books, const struct layout *layout);

/* Close the period in which @layout ran. Those of its instances that have ended are shut down. */
void books_close(struct books *books, const struct layout *layout);

/* An instance is going to be destroyed: keep what it booked as an exporter. */
void books_keep(struct books *books, const struct instance *instance);

/*
 * Add to @balance what is booked of the exporter called @id: what is in its book, and what is
 * open in @layout.
 */
void books_add(const struct books *books, const struct layout *layout, const char *id,
	       struct balance *balance);
