// SPDX-License-Identifier: Apache-2.0
#include "known_files.h"

#include "runtimes/runtime_number.h"

#include <string.h>

/* One file cannot take more, whatever it answers: ten times what a large program needs. */
enum { MAX_FILE_BYTES = 64 << 20 };

struct id_match {
	const struct known_files *known;
	uint32_t id;
};

static bool id_equal(uint32_t place, const void *context)
{
	const struct id_match *match = context;

	return match->known->files.items[place]->id == match->id;
}

static uint32_t id_hash(uint32_t id)
{
	return id * 0x9e3779b1u; // Fibonacci: ids are dense
}

static void index_drop(struct known_files *known, struct known_file *file)
{
	if (file->index.fd < 0)
		return;
	close(file->index.fd);
	known->index_bytes -= file->index.memory;
	shares_take(&known->index_shares, file->owner, file->index.memory);
	known->index_count--;
	known->own_root_count -= file->index.in_own_root;
	file->index = (struct known_index){ .fd = -1 };
}

static void known_file_destroy(struct known_files *known, struct known_file *file)
{
	index_drop(known, file);
	cleanup_fd(&file->making_fd);
	arena_destroy(file->arena);
	VECTOR_DEINIT(&file->ranges);
	known_lines_deinit(&file->lines);
	free(file);
}

void known_files_deinit(struct known_files *known)
{
	for (size_t i = 0; i < known->files.count; i++)
		known_file_destroy(known, known->files.items[i]);
	for (size_t i = 0; i < known->retired.count; i++)
		arena_destroy(known->retired.items[i]);
	VECTOR_DEINIT(&known->files);
	VECTOR_DEINIT(&known->retired);
	intern_deinit(&known->index);
	shares_deinit(&known->shares);
	shares_deinit(&known->index_shares);
	free(known->spare);
	*known = (struct known_files){ 0 };
}

static void known_file_count_memory(struct known_files *known, struct known_file *file)
{
	size_t memory = sizeof(*file) + arena_memory(file->arena) +
			known_lines_memory(&file->lines) +
			file->ranges.capacity * sizeof(*file->ranges.items);

	known->memory = known->memory - file->memory + memory;
	shares_take(&known->shares, file->owner, file->memory);
	shares_add(&known->shares, file->owner, memory);
	file->memory = memory;
}

static void known_file_clear(struct known_file *file)
{
	file->state = KNOWN_NOTHING;
	file->retry_ns = 0;
	file->segments = NULL;
	file->segment_count = 0;
	file->build_id_gnu = file->build_id_go = file->htlhash = "";
	file->ranges.count = 0;
	file->lines_by = RUNTIME_NONE;
	file->lines_paused = 0;
	known_lines_clear(&file->lines);
	file->debug_wanted = false;
	file->debug_candidate = 0;
	file->made_ns = 0;
	file->link[0] = '\0';
	file->outdated = file->asked;
}

static struct known_file *known_files_add(struct known_files *known, uint32_t id)
{
	struct known_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->id = id;
	file->owner = OWNER_UNKNOWN;
	file->making_fd = file->index.fd = file->maybe.fd = -1;
	file->lap = known->lap;
	file->arena = arena_create(MAX_FILE_BYTES);
	known_file_clear(file);
	if (!file->arena || !VECTOR_RESERVE(&known->files, 1) ||
	    !intern_insert(&known->index, id_hash(id), (uint32_t)known->files.count)) {
		known_file_destroy(known, file);
		return NULL;
	}
	known->files.items[known->files.count++] = file;
	known_file_count_memory(known, file);
	return file;
}

struct known_file *known_files_find(const struct known_files *known, uint32_t id)
{
	const struct id_match match = { known, id };
	uint32_t place = intern_find(&known->index, id_hash(id), id_equal, &match);

	return place == INTERN_MISSING ? NULL : known->files.items[place];
}

void known_file_set_owner(struct known_files *known, struct known_file *file, struct owner owner)
{
	shares_move(&known->shares, file->owner, owner, file->memory);
	if (file->index.fd >= 0)
		shares_move(&known->index_shares, file->owner, owner, file->index.memory);
	file->owner = owner;
}

static bool content_equal(const struct known_content *a, const struct known_content *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec;
}

void known_file_unlearn(struct known_files *known, struct known_file *file)
{
	struct arena *fresh = arena_create(MAX_FILE_BYTES);

	index_drop(known, file);
	// Text of the old content may be in use. Without memory it stays with the file.
	if (fresh && VECTOR_PUSH(&known->retired, file->arena)) {
		known->memory += arena_memory(file->arena);
		file->arena = fresh;
	} else {
		arena_destroy(fresh);
	}
	known_file_clear(file);
	known_file_count_memory(known, file);
}

struct known_file *known_files_get(struct known_files *known, uint32_t id)
{
	struct known_file *file = known_files_find(known, id);

	if (!file)
		file = known_files_add(known, id);
	if (!file)
		return NULL;
	if (file->lap != known->lap) {
		known_file_unlearn(known, file);
		file->content_id = 0;
		file->lap = known->lap;
	}
	file->used = known->round;
	return file;
}

void known_file_meet(struct known_files *known, struct known_file *file, const struct stat *stat)
{
	const struct known_content content = {
		.device = stat->st_dev,
		.inode = stat->st_ino,
		.size = stat->st_size,
		.modified = stat->st_mtim,
	};

	if (file->content_id && content_equal(&file->content, &content))
		return;
	if (file->content_id)
		known_file_unlearn(known, file);
	file->content = content;
	file->content_id = ++known->last_content_id;
}

void known_file_set_index(struct known_files *known, struct known_file *file,
			  const struct known_index *index)
{
	index_drop(known, file);
	if (index->fd < 0)
		return;
	file->index = *index;
	file->index.used = known->round;
	known->index_bytes += index->memory;
	shares_add(&known->index_shares, file->owner, index->memory);
	known->index_count++;
	known->own_root_count += index->in_own_root;
}

/* The file whose index was not used for longest and is not in use, of @owner's if that is not NULL;
 * or NULL. */
static struct known_file *oldest_index(const struct known_files *known, const struct owner *owner)
{
	struct known_file *oldest = NULL;

	for (size_t i = 0; i < known->files.count; i++) {
		struct known_file *file = known->files.items[i];

		if (file->index.fd >= 0 && !file->asked &&
		    (!owner || owner_is(file->owner, *owner)) &&
		    (!oldest || file->index.used < oldest->index.used))
			oldest = file;
	}
	return oldest;
}

size_t known_files_drop_indexes(struct known_files *known, size_t budget_bytes, size_t most)
{
	size_t dropped = 0;

	while (known->index_bytes > budget_bytes || known->index_count > most) {
		struct known_file *oldest = NULL;
		struct owner largest;

		if (shares_largest(&known->index_shares, budget_bytes, &largest))
			oldest = oldest_index(known, &largest);
		if (!oldest)
			oldest = oldest_index(known, NULL);
		if (!oldest)
			break;
		// What was learned by one of its own root is only true as long as that is looked
		// at.
		if (oldest->index.in_own_root) {
			uint64_t made_ns = oldest->made_ns;

			known_file_unlearn(known, oldest);
			oldest->made_ns = made_ns;
		}
		index_drop(known, oldest);
		dropped++;
	}
	return dropped;
}

static bool file_learn_facts(struct known_file *file, const struct worker_answer *answer)
{
	size_t bytes = answer->segment_count * sizeof(*answer->segments);
	struct worker_segment *segments = arena_alloc(file->arena, bytes ? bytes : 1);
	const char *gnu = arena_strdup(file->arena, answer->build_id_gnu);
	const char *go = arena_strdup(file->arena, answer->build_id_go);
	const char *htlhash = arena_strdup(file->arena, answer->htlhash);

	if (!segments || !gnu || !go || !htlhash)
		return false;
	if (bytes)
		memcpy(segments, answer->segments, bytes);
	file->segments = segments;
	file->segment_count = answer->segment_count;
	file->build_id_gnu = gnu;
	file->build_id_go = go;
	file->htlhash = htlhash;
	file->state = KNOWN_FACTS;
	return true;
}

bool known_file_learn_facts(struct known_files *known, struct known_file *file,
			    const struct worker_answer *answer)
{
	bool learned = file->state == KNOWN_FACTS || file_learn_facts(file, answer);

	known_file_count_memory(known, file);
	return learned;
}

static bool range_copy(struct known_file *file, const struct worker_answer *answer,
		       const struct worker_range *range, struct known_range *ret)
{
	struct known_range copy = {
		.start = range->start,
		.limit = range->start + range->size,
		.unnamed = range->kind == WORKER_UNNAMED,
		.entry = range->start - range->before,
	};

	if (range->name) {
		copy.name = arena_strdup(file->arena, answer->text + range->name);
		if (!copy.name)
			return false;
	}
	if (range->system_name) {
		copy.system_name = arena_strdup(file->arena, answer->text + range->system_name);
		if (!copy.system_name)
			return false;
	}
	*ret = copy;
	return true;
}

/* Merge two sorted lists into @to. A range that overlaps a known one is left out. */
static size_t ranges_merge(struct known_file *file, const struct worker_answer *answer,
			   struct known_range *to, bool *complete)
{
	size_t known = 0, fresh = 0, count = 0;

	while (known < file->ranges.count || fresh < answer->range_count) {
		const struct known_range *old =
			known < file->ranges.count ? &file->ranges.items[known] : NULL;
		const struct worker_range *new =
			fresh < answer->range_count ? &answer->ranges[fresh] : NULL;

		if (new && (!old || old->start >= new->start + new->size)) {
			if (range_copy(file, answer, new, &to[count]))
				count++;
			else
				*complete = false;
			fresh++;
		} else if (new && new->start < old->limit) {
			fresh++;
		} else {
			to[count++] = *old;
			known++;
		}
	}
	return count;
}

bool known_file_learn(struct known_files *known, struct known_file *file,
		      const struct worker_answer *answer)
{
	size_t most = file->ranges.count + answer->range_count;
	bool complete = true;

	if (file->state != KNOWN_FACTS && !file_learn_facts(file, answer))
		return false;
	if (most > known->spare_count) {
		struct known_range *grown = realloc(known->spare, most * sizeof(*grown));

		if (!grown)
			return false;
		known->spare = grown;
		known->spare_count = most;
	}
	if (!VECTOR_RESERVE(&file->ranges, answer->range_count))
		return false;
	file->ranges.count = ranges_merge(file, answer, known->spare, &complete);
	if (file->ranges.count)
		memcpy(file->ranges.items, known->spare,
		       file->ranges.count * sizeof(*known->spare));
	known_file_count_memory(known, file);
	return complete;
}

bool known_file_learn_lines(struct known_files *known, struct known_file *file,
			    const struct worker_answer *answer)
{
	bool complete = known_lines_learn(&file->lines, file->arena, answer);

	known_file_count_memory(known, file);
	return complete;
}

const struct known_range *known_file_find(const struct known_file *file, uint64_t address)
{
	size_t low = 0, high = file->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->ranges.items[middle].limit <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == file->ranges.count || file->ranges.items[low].start > address)
		return NULL;
	return &file->ranges.items[low];
}

/* The place of the file that was not used for longest and is not waited for, of @owner's if that is
 * not NULL; or files.count. */
static size_t known_files_oldest(const struct known_files *known, const struct owner *owner)
{
	size_t oldest = known->files.count;

	for (size_t i = 0; i < known->files.count; i++) {
		const struct known_file *file = known->files.items[i];

		if (!file->asked && (!owner || owner_is(file->owner, *owner)) &&
		    (oldest == known->files.count || file->used < known->files.items[oldest]->used))
			oldest = i;
	}
	return oldest;
}

static void known_files_rebuild_index(struct known_files *known)
{
	intern_clear(&known->index);
	// Cannot fail: there is room for more than this.
	for (size_t i = 0; i < known->files.count; i++)
		intern_insert(&known->index, id_hash(known->files.items[i]->id), (uint32_t)i);
}

size_t known_files_forget(struct known_files *known, size_t budget_bytes)
{
	size_t dropped = 0;

	for (size_t i = 0; i < known->retired.count; i++) {
		known->memory -= arena_memory(known->retired.items[i]);
		arena_destroy(known->retired.items[i]);
	}
	known->retired.count = 0;
	while (known->memory > budget_bytes) {
		size_t oldest = known->files.count;
		struct owner largest;

		if (shares_largest(&known->shares, budget_bytes, &largest))
			oldest = known_files_oldest(known, &largest);
		if (oldest == known->files.count)
			oldest = known_files_oldest(known, NULL);
		if (oldest == known->files.count)
			break;
		known->memory -= known->files.items[oldest]->memory;
		shares_take(&known->shares, known->files.items[oldest]->owner,
			    known->files.items[oldest]->memory);
		known_file_destroy(known, known->files.items[oldest]);
		known->files.items[oldest] = known->files.items[--known->files.count];
		dropped++;
	}
	if (dropped)
		known_files_rebuild_index(known);
	known->round++;
	return dropped;
}
