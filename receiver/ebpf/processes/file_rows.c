// SPDX-License-Identifier: Apache-2.0
#include "file_rows.h"

#include "proc_text.h"

#include <string.h>
#include <unistd.h>

enum {
	/* Apart, so that a program that maps many long paths does not take the ids from others. */
	PATHS_SHARE = 4,
	PATH_OVERHEAD_BYTES = 16, /* of an allocation */
	/* What tables/ keeps of a file with little code, as most are; it goes with the row. */
	ELSEWHERE_BYTES = 256,
	INDEXES = 3,
	FIRST_ROWS = 64,
};

/* How many files fit into @max_bytes. */
static size_t most_rows(size_t max_bytes)
{
	size_t each = sizeof(struct file) + sizeof(struct file_alias) + ELSEWHERE_BYTES;
	size_t index, rows, most = 8;

	// Indexes double, and are three quarters full at most; rows take what is left.
	for (size_t slots = FIRST_ROWS; slots <= 1u << 25; slots *= 2) {
		index = INDEXES * slots * sizeof(struct intern_slot);
		if (index >= max_bytes)
			break;
		rows = (max_bytes - index) / each;
		if (rows > slots / 4 * 3)
			rows = slots / 4 * 3;
		if (rows > most)
			most = rows;
	}
	return most;
}

void file_rows_init(struct file_rows *rows, size_t most_open, size_t max_bytes, uint32_t numbers)
{
	*rows = (struct file_rows){
		.most = most_rows(max_bytes / PATHS_SHARE * (PATHS_SHARE - 1)),
		.most_open = most_open,
		.most_path_bytes = max_bytes / PATHS_SHARE,
	};
	file_numbers_init(&rows->numbers, numbers);
}

void file_rows_deinit(struct file_rows *rows)
{
	for (size_t i = 0; i < rows->rows.count; i++) {
		struct file *file = &rows->rows.items[i];

		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
	}
	shares_deinit(&rows->shares);
	shares_deinit(&rows->path_shares);
	shares_deinit(&rows->held_shares);
	shares_deinit(&rows->root_shares);
	VECTOR_DEINIT(&rows->roots);
	VECTOR_DEINIT(&rows->rows);
	VECTOR_DEINIT(&rows->aliases);
	VECTOR_DEINIT(&rows->held);
	intern_deinit(&rows->by_id);
	intern_deinit(&rows->by_look);
	intern_deinit(&rows->by_alias);
	file_numbers_deinit(&rows->numbers);
}

size_t file_rows_memory(const struct file_rows *rows)
{
	return rows->path_bytes + rows->rows.capacity * sizeof(*rows->rows.items) +
	       rows->aliases.capacity * sizeof(*rows->aliases.items) +
	       rows->roots.capacity * sizeof(*rows->roots.items) +
	       rows->held.capacity * sizeof(*rows->held.items) + intern_memory(&rows->by_id) +
	       intern_memory(&rows->by_look) + intern_memory(&rows->by_alias) +
	       file_numbers_memory(&rows->numbers);
}

/* ---- finding ---- */

struct lookup {
	const struct file_rows *rows;
	const struct file_look *look;
	bool unsettled;
	uint64_t device, inode;
	uint32_t id;
};

static uint32_t pair_hash(uint64_t device, uint64_t inode)
{
	uint64_t pair[] = { device, inode };

	return intern_hash(pair, sizeof(pair));
}

static uint32_t id_hash(uint32_t id)
{
	return id * 0x9e3779b1u; // Fibonacci: ids come one after the other
}

static bool id_equal(uint32_t place, const void *context)
{
	const struct lookup *lookup = context;

	return lookup->rows->rows.items[place].id == lookup->id;
}

/* Can what is written to @file leave all its times as they were? */
static bool is_unsettled(const struct file *file)
{
	return file->look.fresh && (file->ends.elf || !file->ends.hashed);
}

static bool look_equal(uint32_t place, const void *context)
{
	const struct lookup *lookup = context;
	const struct file *file = &lookup->rows->rows.items[place];

	return file_is(file, lookup->look, false) && is_unsettled(file) == lookup->unsettled &&
	       (file->fd >= 0 || file_look_same_place(&file->look, lookup->look));
}

static bool alias_equal(uint32_t place, const void *context)
{
	const struct lookup *lookup = context;
	const struct file_alias *alias = &lookup->rows->aliases.items[place];

	return alias->device == lookup->device && alias->inode == lookup->inode;
}

static struct file *file_at(const struct file_rows *rows, uint32_t place)
{
	return place == INTERN_MISSING ? NULL : &rows->rows.items[place];
}

struct file *file_rows_find(const struct file_rows *rows, uint32_t id)
{
	struct lookup lookup = { .rows = rows, .id = id };

	return file_at(rows, intern_find(&rows->by_id, id_hash(id), id_equal, &lookup));
}

struct file *file_rows_find_look(const struct file_rows *rows, const struct file_look *look)
{
	struct lookup lookup = { .rows = rows, .look = look };

	return file_at(rows, intern_find(&rows->by_look, pair_hash(look->device, look->inode),
					 look_equal, &lookup));
}

bool file_rows_met_unsettled(const struct file_rows *rows, const struct file_look *look)
{
	struct lookup lookup = { .rows = rows, .look = look, .unsettled = true };

	return intern_find(&rows->by_look, pair_hash(look->device, look->inode), look_equal,
			   &lookup) != INTERN_MISSING;
}

static struct file_alias *find_alias(const struct file_rows *rows, const struct mapped_file *mapped)
{
	struct lookup lookup = { .rows = rows, .device = mapped->device, .inode = mapped->inode };
	uint32_t place = intern_find(&rows->by_alias, pair_hash(mapped->device, mapped->inode),
				     alias_equal, &lookup);

	return place == INTERN_MISSING ? NULL : &rows->aliases.items[place];
}

struct file *file_rows_find_alias(const struct file_rows *rows, const struct mapped_file *mapped)
{
	const struct file_alias *alias = find_alias(rows, mapped);

	return alias ? file_rows_find(rows, alias->file) : NULL;
}

/* @file's row, path and descriptor count for @owner from now on. */
static void set_owner(struct file_rows *rows, struct file *file, struct owner owner)
{
	shares_move(&rows->shares, file->owner, owner, 1);
	shares_move(&rows->path_shares, file->owner, owner, file_path_bytes(file));
	shares_move(&rows->held_shares, file->owner, owner, file->fd >= 0);
	file->owner = owner;
}

void file_rows_mapped_by(struct file_rows *rows, struct file *file,
			 const struct mapped_file *mapped)
{
	uint64_t container = mapped->owner.container;

	// A file that was just mapped counts as living until file_rows_let_go() looks, or it would
	// be closed before all older ones.
	file->lives |= mapped->pid != 0;
	if (mapped->inherited)
		return;
	set_owner(rows, file, owner_join(file->owner, mapped->owner));
	file->several_containers |= file->has_container && file->container != container;
	file->has_container = true;
	file->container = container;
}

size_t file_path_bytes(const struct file *file)
{
	return file->path ? strlen(file->path) + 1 + PATH_OVERHEAD_BYTES : 0;
}

bool file_has_path(const struct file *file, const struct mapped_file *mapped)
{
	size_t length = proc_path_length(mapped->path, strlen(mapped->path));

	return file->path && strlen(file->path) == length &&
	       !memcmp(file->path, mapped->path, length);
}

bool file_is(const struct file *file, const struct file_look *look, bool raw)
{
	if (!file_look_same_inode(&file->look, look))
		return false;
	if (file_look_same_content(&file->look, look))
		return true;
	// An inode held open cannot have been given to another file.
	return !look->links && raw && !file->ends.elf && (file->fd >= 0 || !file->look.links);
}

bool file_owns_alias(const struct file *file)
{
	// Subvolumes of btrfs, and layers of an overlay on several file systems, share a device in
	// maps, and have one each in stat. Numbers of files without a name have 32 bits: they are
	// used up in an hour by who wants that.
	return file->fd >= 0 && file->seen && file->look.links && !is_unsettled(file) &&
	       file->device == file->look.device && file->inode == file->look.inode;
}

/* ---- adding ---- */

static bool turn_numbers(struct file_rows *rows)
{
	size_t count = rows->rows.count;
	CLEANUP_FREE uint32_t *used = calloc(count + 1, sizeof(*used));

	if (!used)
		return false;
	for (size_t i = 0; i < count; i++)
		used[i] = rows->rows.items[i].id;
	qsort(used, count, sizeof(*used), file_numbers_compare);
	return file_numbers_turn(&rows->numbers, used, count);
}

static uint32_t take_number(struct file_rows *rows)
{
	uint32_t id = file_numbers_take(&rows->numbers);

	if (id == FILE_NUMBERS_NONE && turn_numbers(rows))
		id = file_numbers_take(&rows->numbers);
	return id;
}

static void take_path(struct file_rows *rows, struct file *file, const char *path)
{
	size_t length = proc_path_length(path, strlen(path));

	if (shares_admit(&rows->path_shares, file->owner, length + 1 + PATH_OVERHEAD_BYTES,
			 rows->most_path_bytes, rows->most_path_bytes - rows->path_bytes))
		file->path = strndup(path, length);
	rows->paths_refused += !file->path;
	rows->path_bytes += file_path_bytes(file);
	shares_add(&rows->path_shares, file->owner, file_path_bytes(file));
}

void file_rows_drop_path(struct file_rows *rows, struct file *file)
{
	rows->path_bytes -= file_path_bytes(file);
	shares_take(&rows->path_shares, file->owner, file_path_bytes(file));
	free(TAKE(file->path));
}

/* Room for one more than the @count of @bytes each that there are, and none beyond @most, which is
 * more than that. False without memory. */
static bool reserve(void **items, size_t *capacity, size_t count, size_t most, size_t bytes)
{
	size_t wanted = *capacity ? 2 * *capacity : FIRST_ROWS;
	void *grown;

	if (count < *capacity)
		return true;
	if (wanted > most)
		wanted = most;
	grown = reallocarray(*items, wanted, bytes);
	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}

/* In the rows, and in the indexes of what it will be found by, for one more of @owner's. */
static bool reserve_row(struct file_rows *rows, struct owner owner)
{
	uint32_t count = (uint32_t)rows->rows.count + 1;

	return shares_admit(&rows->shares, owner, 1, rows->most, rows->most - rows->rows.count) &&
	       reserve((void **)&rows->rows.items, &rows->rows.capacity, rows->rows.count,
		       rows->most, sizeof(*rows->rows.items)) &&
	       intern_reserve(&rows->by_id, count) && intern_reserve(&rows->by_look, count);
}

struct file *file_rows_add(struct file_rows *rows, const struct mapped_file *mapped)
{
	struct file file = {
		.device = mapped->device,
		.inode = mapped->inode,
		.begin_ns = mapped->begin_ns,
		.owner = mapped->inherited ? OWNER_UNKNOWN : mapped->owner,
		.container = mapped->owner.container,
		.has_container = !mapped->inherited,
		.fd = -1,
		.root = FILE_ROOT_NONE,
	};
	size_t place = rows->rows.count;

	file.id = reserve_row(rows, file.owner) ? take_number(rows) : FILE_NUMBERS_NONE;
	if (file.id == FILE_NUMBERS_NONE) {
		rows->wants_room = true;
		rows->refused++;
		return NULL;
	}
	take_path(rows, &file, mapped->path);
	shares_add(&rows->shares, file.owner, 1);
	file.used = ++rows->clock;
	rows->rows.items[rows->rows.count++] = file;
	intern_insert(&rows->by_id, id_hash(file.id), (uint32_t)place);
	return &rows->rows.items[place];
}

void file_rows_set_alias(struct file_rows *rows, const struct mapped_file *mapped,
			 const struct file *file)
{
	struct file_alias *alias = find_alias(rows, mapped);

	if (alias) {
		alias->file = file->id;
		return;
	}
	// Without room the file is looked for anew next time: slower, not wrong.
	if (rows->aliases.count >= rows->most)
		return;
	if (!reserve((void **)&rows->aliases.items, &rows->aliases.capacity, rows->aliases.count,
		     rows->most, sizeof(*rows->aliases.items)) ||
	    !intern_insert(&rows->by_alias, pair_hash(mapped->device, mapped->inode),
			   (uint32_t)rows->aliases.count))
		return;
	rows->aliases.items[rows->aliases.count++] =
		(struct file_alias){ mapped->device, mapped->inode, file->id };
}

void file_rows_see(struct file_rows *rows, struct file *file, const struct file_look *look)
{
	// So it is now, and may be found by that at once.
	file->look = *look;
	if (file->seen)
		return;
	file->seen = true;
	// There is room in the index since the row was added.
	intern_insert(&rows->by_look, pair_hash(look->device, look->inode),
		      (uint32_t)(file - rows->rows.items));
}

/* ---- descriptors ---- */

void file_rows_touch(struct file_rows *rows, struct file *file)
{
	file->used = ++rows->clock;
}

/* Is @a let go of before @b? Whether a file is written to while it runs shows by its descriptor. */
static bool goes_before(const struct file *a, const struct file *b)
{
	return a->lives != b->lives ? b->lives : a->used < b->used;
}

/* The descriptor of the one that goes before all others: of the owner that holds most, if that is
 * not the one who needs it. */
static int let_go(struct file_rows *rows, struct owner owner)
{
	struct owner yielding;
	bool yields = shares_yields(&rows->held_shares, owner, 1, &yielding);
	size_t oldest = SIZE_MAX;
	struct file *file;

	if (!yields && shares_of(&rows->held_shares, owner)) {
		yielding = owner;
		yields = true;
	}
	for (size_t i = 0; i < rows->held.count; i++) {
		file = &rows->rows.items[rows->held.items[i]];
		if (yields && !owner_is(file->owner, yielding))
			continue;
		if (oldest == SIZE_MAX ||
		    goes_before(file, &rows->rows.items[rows->held.items[oldest]]))
			oldest = i;
	}
	if (oldest == SIZE_MAX)
		return -1;
	file = &rows->rows.items[rows->held.items[oldest]];
	rows->held.items[oldest] = rows->held.items[--rows->held.count];
	shares_take(&rows->held_shares, file->owner, 1);
	return TAKE_FD(file->fd);
}

int file_rows_hold(struct file_rows *rows, struct file *file, int fd)
{
	int surplus = -1;

	file_rows_touch(rows, file);
	if (file->fd >= 0 || !rows->most_open)
		return fd;
	if (rows->held.count >= rows->most_open) {
		surplus = let_go(rows, file->owner);
		if (surplus < 0)
			return fd;
	}
	if (!VECTOR_PUSH(&rows->held, (uint32_t)(file - rows->rows.items)))
		return fd; // nothing has been let go: there was room where one was
	file->fd = fd;
	shares_add(&rows->held_shares, file->owner, 1);
	return surplus;
}

/* Is @file's mount one that goes with a container, or with the machine? Directories of the
 * machine's own programs need not lie on its root; a root without a container is of who has changed
 * to it. */
static bool goes_with_root(const struct file_rows *rows, const struct process_root *host,
			   const struct file *file)
{
	uint64_t mount = file->look.mount_number;

	// Where mounts have no numbers nobody can tell. A file without a name may lie in memory,
	// which is no mount of anybody's, and cannot be opened again.
	if (!mount || !file->look.links || file->machines || mount == host->mount)
		return true;
	if (!file->has_container || !file->container)
		return false;
	for (size_t i = 0; i < rows->roots.count; i++)
		if (rows->roots.items[i].root.mount == mount)
			return true;
	return false;
}

static bool is_passing(const struct file_rows *rows, const struct process_root *host,
		       uint64_t clock, uint32_t place)
{
	const struct file *file = &rows->rows.items[place];

	return file->used <= clock && !goes_with_root(rows, host, file);
}

bool file_rows_has_passing(const struct file_rows *rows, const struct process_root *host,
			   uint64_t clock)
{
	for (size_t i = 0; i < rows->held.count; i++)
		if (is_passing(rows, host, clock, rows->held.items[i]))
			return true;
	return false;
}

size_t file_rows_let_go(struct file_rows *rows, const struct process_root *host, uint64_t clock,
			const uint32_t *living, size_t living_count, struct file_let_go *gone)
{
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < rows->held.count; i++) {
		struct file *file = &rows->rows.items[rows->held.items[i]];

		file->lives = living_count && bsearch(&file->id, living, living_count,
						      sizeof(*living), file_numbers_compare);
		if (file->lives || !is_passing(rows, host, clock, rows->held.items[i])) {
			rows->held.items[kept++] = rows->held.items[i];
			continue;
		}
		shares_take(&rows->held_shares, file->owner, 1);
		gone[count++] = (struct file_let_go){ TAKE_FD(file->fd), file_payer(file) };
	}
	rows->held.count = kept;
	return count;
}

/* ---- making room ---- */

/* There is room in all indexes, for as much as there was. */
void file_rows_rebuild(struct file_rows *rows)
{
	size_t kept = 0;

	intern_clear(&rows->by_id);
	intern_clear(&rows->by_look);
	intern_clear(&rows->by_alias);
	rows->held.count = 0;
	for (uint32_t i = 0; i < rows->rows.count; i++) {
		const struct file *file = &rows->rows.items[i];

		intern_insert(&rows->by_id, id_hash(file->id), i);
		if (file->seen)
			intern_insert(&rows->by_look,
				      pair_hash(file->look.device, file->look.inode), i);
		if (file->fd >= 0)
			rows->held.items[rows->held.count++] = i;
	}
	for (size_t i = 0; i < rows->aliases.count; i++) {
		struct file_alias alias = rows->aliases.items[i];

		if (!file_rows_find(rows, alias.file))
			continue;
		rows->aliases.items[kept] = alias;
		intern_insert(&rows->by_alias, pair_hash(alias.device, alias.inode),
			      (uint32_t)kept++);
	}
	rows->aliases.count = kept;
}
