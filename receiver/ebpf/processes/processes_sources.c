// SPDX-License-Identifier: Apache-2.0
#include "processes_parts.h"

#include "debug_files.h"
#include "memory_open.h"
#include "perf_map_open.h"
#include "resolve.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

/* Of reading another process's memory, which takes some us. */
static const uint64_t READ_LIMIT_NS = 100000000;

int processes_open_file(struct processes *processes, uint32_t file)
{
	struct watch *watch = &processes->watch;
	int fd = files_open(watch->files, file), status;

	if (fd != -ENOENT)
		return fd;
	status =
		resolve_again(&watch->table, &watch->table_lock, watch->files, file, FILES_OPEN_NS);
	return status ? status : files_open(watch->files, file);
}

/* Of the newest program of process @pid. */
static struct owner owner_of(struct processes *processes, uint32_t pid)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	struct owner owner = OWNER_UNKNOWN;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process)
		owner = process->owner;
	pthread_mutex_unlock(&watch->table_lock);
	return owner;
}

struct owner processes_owner(struct processes *processes, const struct process_key *key)
{
	return owner_of(processes, key->pid);
}

struct owner processes_memory_owner(struct processes *processes, uint32_t pid)
{
	struct watch *watch = &processes->watch;
	// One whose owner is not known need not be another one's.
	struct owner owner = { OWNER_UNKNOWN.uid, pid };
	const struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process && process->owner_read && !owner_is(process->owner, OWNER_UNKNOWN))
		owner = process->owner;
	pthread_mutex_unlock(&watch->table_lock);
	return owner;
}

struct owner processes_file_owner(struct processes *processes, uint32_t file)
{
	struct owner owner = OWNER_UNKNOWN;

	(void)files_has(processes->watch.files, file, &owner);
	return owner;
}

/* The root that @file alone belongs to, if that is not the machine's; false when there is none. */
static bool find_own_root(struct processes *processes, uint32_t file, struct root_files_search *ret)
{
	struct process_root host;

	if (!files_root(processes->watch.files, file, &ret->root, &ret->pid) || !ret->pid ||
	    !process_root_of_host(&host) || process_root_equal(&host, &ret->root))
		return false;
	ret->owner = owner_of(processes, ret->pid);
	return true;
}

/*
 * Looks in the machine's root, from path number *@next on: by build id in directories of root's,
 * then by the link. That leads beside the file, where an owner may have a look-up wait for ever.
 */
static int open_debug_of_machine(struct processes *processes, uint32_t file, const char *path,
				 const struct debug_paths *paths, size_t *next)
{
	const char *slash = strrchr(path, '/');
	struct root_files_search search = {
		.owner = OWNER_SHARED,
		.paths = (const char *const *)paths->paths,
		.count = paths->by_build_id,
	};
	int fd = -ENOENT;

	if (*next < search.count)
		fd = files_open_in_root(processes->watch.files, &search, next);
	if (fd >= 0 || *next >= paths->count)
		return fd;
	if (*next < search.count)
		*next = search.count;
	search.count = paths->count;
	search.place = slash ? intern_hash(path, (size_t)(slash - path)) : 0;
	if (!files_has(processes->watch.files, file, &search.owner))
		return -ENOENT;
	// Who is not known, and what is everybody's, must not pay for others.
	if (owner_is(search.owner, OWNER_UNKNOWN) || owner_is(search.owner, OWNER_SHARED))
		search.owner = (struct owner){ OWNER_OF_FILE.uid, file };
	return files_open_in_root(processes->watch.files, &search, next);
}

int processes_open_debug(struct processes *processes, uint32_t file,
			 const struct process_debug_query *query, size_t *candidate,
			 struct process_debug_file *ret)
{
	CLEANUP_FREE char *path = processes_file_path(processes, file);
	const struct debug_names names = { path ? path : "", query->build_id, query->link };
	CLEANUP(debug_paths_deinit) struct debug_paths paths = { 0 };
	struct root_files_search search = { .owner = OWNER_SHARED };
	size_t next = *candidate;

	if (!debug_paths_init(&paths, &names, query->directories, query->directory_count))
		return -ENOMEM;
	*ret = (struct process_debug_file){ .fd = -ENOENT };
	search.paths = (const char *const *)paths.paths;
	search.count = paths.count;
	if (next < paths.count)
		ret->fd = open_debug_of_machine(processes, file, names.path, &paths, &next);
	*candidate = next;
	if (ret->fd < 0 && find_own_root(processes, file, &search)) {
		next = *candidate > paths.count ? *candidate - paths.count : 0;
		ret->fd = files_open_in_root(processes->watch.files, &search, &next);
		*candidate = paths.count + next;
		ret->in_own_root = true;
		ret->root = search.root;
	}
	ret->by_link = next > paths.by_build_id;
	return ret->fd < 0 ? ret->fd : 0;
}

int processes_find_package(struct processes *processes, uint32_t file, struct process_package *ret)
{
	CLEANUP_FREE char *path = processes_file_path(processes, file);
	const char *const paths[] = { path };
	struct root_files_search search = { .owner = OWNER_SHARED, .paths = paths, .count = 1 };
	struct packages_found found;
	int status;

	*ret = (struct process_package){ 0 };
	if (!path || path[0] != '/')
		return -ENOENT;
	if (!find_own_root(processes, file, &search))
		search.pid = 0;
	status = files_find_packages(processes->watch.files, &search, &found);
	if (status)
		return status;
	ret->manager = found.manager;
	memcpy(ret->name, found.names[0], sizeof(ret->name));
	return 0;
}

bool processes_is_of_root(struct processes *processes, uint32_t file,
			  const struct process_root *root)
{
	struct process_root found;
	uint32_t pid;

	return files_root(processes->watch.files, file, &found, &pid) &&
	       process_root_equal(&found, root);
}

struct origin processes_file_origin(struct processes *processes, uint32_t file, bool own)
{
	return files_origin(processes->watch.files, file, own);
}

struct origin processes_memory_origin(struct processes *processes, uint32_t pid)
{
	struct owner owner = owner_of(processes, pid);
	struct origin origin = {
		.owner = processes_memory_owner(processes, pid),
		.payer = owner_close_payer(owner),
	};
	uint32_t uid;

	// It may have become another user since, without an exec: that is asked by a call that may
	// wait only if its number tells of it. One that is not read yet has its number for a
	// container, so that its user pays, and if that is root, nobody else.
	if (!proc_presume_uid(pid, &uid) && uid == origin.owner.uid)
		return origin;
	if (!proc_read_uid(files_calls(processes->watch.files), pid, owner, &uid) &&
	    uid != OWNER_UNKNOWN.uid)
		origin.owner.uid = uid;
	return origin;
}

int processes_open_memory(struct processes *processes, uint32_t pid)
{
	return memory_open(files_calls(processes->watch.files), pid, owner_of(processes, pid),
			   READ_LIMIT_NS);
}

ssize_t processes_read_stack(struct processes *processes, const struct stack_query *query, void *to)
{
	return stack_read(files_calls(processes->watch.files), query,
			  processes_memory_owner(processes, query->pid), READ_LIMIT_NS, to);
}

enum { CODE_MOST = 1024 }; /* mappings of a process among which a jitdump is looked for */

/* A jitdump is told by its name, jit-PID.dump, and that it is mapped as if it were code. */
static bool is_jitdump(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;
	unsigned int number;
	int end = 0;

	return name && sscanf(name, "/jit-%u.dump%n", &number, &end) == 1 && end && !name[end];
}

static int open_jitdump(struct processes *processes, const struct process_key *key,
			struct code_map_state *ret)
{
	CLEANUP_FREE struct process_code *code = calloc(CODE_MOST, sizeof(*code));
	size_t count = code ? processes_code(processes, key, code, CODE_MOST) : 0;
	int fd = -ENOENT;

	if (count > CODE_MOST)
		count = CODE_MOST;
	for (size_t i = 0; i < count && fd == -ENOENT; i++) {
		CLEANUP_FREE char *path = NULL;
		struct stat stat;

		if (code[i].file == PROCESS_NO_FILE)
			continue;
		path = processes_file_path(processes, code[i].file);
		if (!is_jitdump(path))
			continue;
		// It is written to as long as there is new code.
		fd = files_open_grown(processes->watch.files, code[i].file);
		if (fd == -ENOENT)
			fd = processes_open_file(processes, code[i].file);
		// It is written to at its end.
		ret->bytes =
			fd >= 0 && !processes_recall_file(fd, &stat) ? (uint64_t)stat.st_size : 0;
	}
	return fd;
}

int processes_open_code_map(struct processes *processes, const struct process_key *key,
			    struct code_map_state *ret)
{
	const struct perf_map_search search = {
		.pid = key->pid,
		.owner = owner_of(processes, key->pid),
		.start_boottime_ns = key->start_boottime_ns,
	};
	int fd;

	// What is opened here is closed by others, later.
	if (close_later_hangs(owner_close_payer(search.owner)))
		return -EAGAIN;
	fd = perf_map_open(files_calls(processes->watch.files), &search, READ_LIMIT_NS, ret);
	return fd == -ENOENT ? open_jitdump(processes, key, ret) : fd;
}

int processes_look(struct processes *processes, uint32_t pid, bool executable,
		   struct proc_look *ret)
{
	return proc_look(files_calls(processes->watch.files), pid, owner_of(processes, pid),
			 executable, ret);
}

int processes_read_cgroups(struct processes *processes, int directory, char **text_ret,
			   size_t *length_ret)
{
	return proc_read_cgroups(files_calls(processes->watch.files), directory, text_ret,
				 length_ret);
}

struct kernel_code *processes_kernel_code(struct processes *processes)
{
	return processes->watch.kernel_code;
}

bool processes_file_htlhash(struct processes *processes, uint32_t file, char ret[33])
{
	return files_htlhash(processes->watch.files, file, ret);
}

bool processes_file_is_stale(struct processes *processes, uint32_t file)
{
	return files_is_stale(processes->watch.files, file);
}

bool processes_look_at_file(struct processes *processes, uint32_t file,
			    struct process_file_look *ret)
{
	struct file_look look;

	if (!files_look(processes->watch.files, file, &look))
		return false;
	*ret = (struct process_file_look){
		.place = file_look_lasting_place(&look),
		.inode = look.inode,
		.modified_ns = look.modified_ns,
		.changed_ns = look.changed_ns,
		.born_ns = look.born_ns,
		.fresh = look.fresh,
	};
	return true;
}

char *processes_file_path(struct processes *processes, uint32_t file)
{
	return files_path(processes->watch.files, file);
}

bool processes_has_file(struct processes *processes, uint32_t file)
{
	return files_has(processes->watch.files, file, NULL);
}

struct processes_files processes_files(struct processes *processes)
{
	struct files_state state = files_state(processes->watch.files);

	return (struct processes_files){ .evicted = state.evicted, .lap = state.turns };
}
