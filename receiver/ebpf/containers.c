// SPDX-License-Identifier: Apache-2.0
#include "containers.h"

#include <string.h>
#include <sys/random.h>

enum { MOST_CONTAINERS = 2048 };

void containers_init(struct containers *containers)
{
	*containers = (struct containers){ 0 };
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(&containers->seed, sizeof(containers->seed), GRND_NONBLOCK) < 0)
		containers->seed = (uintptr_t)containers;
}

void containers_deinit(struct containers *containers)
{
	VECTOR_DEINIT(&containers->rows);
	intern_deinit(&containers->index);
}

static uint32_t hash_id(const struct containers *containers, const char *id)
{
	return intern_hash_seeded(id, strlen(id), containers->seed);
}

struct lookup {
	const struct containers *containers;
	const char *id;
};

static bool is_called(uint32_t row, const void *context)
{
	const struct lookup *lookup = context;

	return !strcmp(lookup->containers->rows.items[row].id, lookup->id);
}

static uint32_t find_row(const struct containers *containers, const char *id, uint32_t hash)
{
	struct lookup lookup = { containers, id };

	return intern_find(&containers->index, hash, is_called, &lookup);
}

static int compare_last(const void *left, const void *right)
{
	const struct containers_row *a = left, *b = right;

	return a->last_ns > b->last_ns ? -1 : a->last_ns < b->last_ns;
}

/* Keep the half that had samples last. The index has room for more than that. */
static void forget_half(struct containers *containers)
{
	struct containers_row *rows = containers->rows.items;

	qsort(rows, containers->rows.count, sizeof(*rows), compare_last);
	containers->rows.count /= 2;
	intern_clear(&containers->index);
	for (uint32_t row = 0; row < containers->rows.count; row++)
		(void)intern_insert(&containers->index, hash_id(containers, rows[row].id), row);
}

void containers_meet(struct containers *containers, const char *id, uint64_t time_ns)
{
	uint32_t hash = hash_id(containers, id);
	uint32_t found = find_row(containers, id, hash);
	struct containers_row row = { .first_ns = time_ns, .last_ns = time_ns };

	if (found != INTERN_MISSING) {
		if (time_ns > containers->rows.items[found].last_ns)
			containers->rows.items[found].last_ns = time_ns;
		if (time_ns < containers->rows.items[found].first_ns)
			containers->rows.items[found].first_ns = time_ns;
		return;
	}
	if (strlen(id) >= sizeof(row.id))
		return;
	memcpy(row.id, id, strlen(id) + 1);
	if (containers->rows.count == MOST_CONTAINERS)
		forget_half(containers);
	if (VECTOR_RESERVE(&containers->rows, 1) &&
	    intern_insert(&containers->index, hash, (uint32_t)containers->rows.count))
		containers->rows.items[containers->rows.count++] = row;
}

bool containers_find(const struct containers *containers, const char *id, uint64_t *first_ns_ret)
{
	uint32_t row = find_row(containers, id, hash_id(containers, id));

	if (row == INTERN_MISSING)
		return false;
	*first_ns_ret = containers->rows.items[row].first_ns;
	return true;
}
