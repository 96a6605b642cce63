// SPDX-License-Identifier: Apache-2.0
#include "files_parts.h"
#include "processes.h"

#include "base/base.h"

#include <unistd.h>

/* Where nearly all files are needed, it is not looked for others all the time. */
static const uint64_t evict_pause_ns = 1000000000;

bool files_want_room(struct files *files)
{
	uint64_t now = clock_monotonic_ns();
	bool want;

	pthread_mutex_lock(&files->lock);
	want = now >= files->evict_again_ns && file_rows_nearly_full(&files->rows);
	// Whatever may hinder who is told so.
	if (want)
		files->evict_again_ns = now + evict_pause_ns;
	pthread_mutex_unlock(&files->lock);
	return want;
}

size_t files_margin(const struct files *files)
{
	return file_rows_margin(&files->rows);
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

size_t files_evict(struct files *files, const uint32_t *needed, size_t count)
{
	CLEANUP_FREE int *fds = calloc(files->rows.most_open + 1, sizeof(*fds));
	size_t fd_count, evicted;

	if (!fds)
		return 0;
	pthread_mutex_lock(&files->lock);
	evicted = file_rows_evict(&files->rows, needed, count, fds, &fd_count);
	if (!file_rows_nearly_full(&files->rows))
		files->evict_again_ns = 0;
	pthread_mutex_unlock(&files->lock);
	close_all(fds, fd_count);
	return evicted;
}

size_t files_yield(struct files *files, uint32_t *ids, size_t most)
{
	CLEANUP_FREE int *fds = calloc(files->rows.most_open + 1, sizeof(*fds));
	size_t fd_count, yielded;

	if (!fds)
		return 0;
	pthread_mutex_lock(&files->lock);
	yielded = file_rows_yield(&files->rows, ids, most, fds, &fd_count);
	pthread_mutex_unlock(&files->lock);
	close_all(fds, fd_count);
	return yielded;
}

bool files_may_let_go(struct files *files)
{
	bool may;

	pthread_mutex_lock(&files->lock);
	// Before there are too many it has to be known which are needed.
	may = files->rows.held.count >= files->rows.most_open / 2 ||
	      file_rows_has_passing(&files->rows, &files->host_root, files->let_go_clock);
	if (!may)
		files->let_go_clock = files->rows.clock;
	pthread_mutex_unlock(&files->lock);
	return may;
}

void files_let_go(struct files *files, const uint32_t *living, size_t count)
{
	CLEANUP_FREE struct file_let_go *gone = calloc(files->rows.most_open + 1, sizeof(*gone));
	size_t gone_count;

	if (!gone)
		return;
	pthread_mutex_lock(&files->lock);
	gone_count = file_rows_let_go(&files->rows, &files->host_root, files->let_go_clock, living,
				      count, gone);
	files->let_go_clock = files->rows.clock;
	pthread_mutex_unlock(&files->lock);
	for (size_t i = 0; i < gone_count; i++)
		close_later(gone[i].fd, gone[i].payer);
}

/* Would nothing show that @file is written to? Of what is no program a change means nothing. */
static bool is_unwatched(const struct file *file)
{
	return file->fd < 0 && file->seen && (file->ends.elf || !file->ends.hashed);
}

/* Where the first of @living is that is not below @id. */
static size_t place_of(const uint32_t *living, size_t count, uint32_t id)
{
	size_t first = 0, end = count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (living[middle] < id)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

uint32_t files_unheld(struct files *files, const uint32_t *living, size_t count)
{
	uint32_t found = PROCESS_NO_FILE;

	pthread_mutex_lock(&files->lock);
	if (!files->unheld_next)
		files->unheld_clock = files->rows.clock;
	for (size_t i = place_of(living, count, files->unheld_next);
	     i < count && found == PROCESS_NO_FILE; i++) {
		const struct file *file = file_rows_find(&files->rows, living[i]);

		if (file && is_unwatched(file) && file->used > files->unheld_since)
			found = file->id;
		files->unheld_next = living[i] + 1;
	}
	if (found == PROCESS_NO_FILE) {
		files->unheld_next = 0;
		files->unheld_since = files->unheld_clock;
	}
	pthread_mutex_unlock(&files->lock);
	return found;
}

struct files_state files_state(struct files *files)
{
	const struct file_rows *rows = &files->rows;
	struct files_state state;

	pthread_mutex_lock(&files->lock);
	state = (struct files_state){
		.files = rows->rows.count,
		.open = rows->held.count,
		.memory = file_rows_memory(rows),
		.refused = rows->refused,
		.paths_refused = rows->paths_refused,
		.roots_refused = rows->roots_refused,
		.evicted = rows->evicted,
		.turns = rows->numbers.turns,
	};
	pthread_mutex_unlock(&files->lock);
	return state;
}
