// SPDX-License-Identifier: Apache-2.0
#include "index_maker.h"

#include "file_index.h"
#include "symbols.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { CANDIDATES_MOST = 16 }; /* debug files of one file that are opened */

void index_maker_init(struct index_maker *maker, const struct profcol_host *host,
		      struct processes *processes, struct known_files *known,
		      struct worker_pool *pool, const struct profcol_list *directories,
		      uint64_t most_bytes)
{
	static const char *const labels[WORKER_SOURCES] = {
		[WORKER_SYMTAB] = "source=symtab",       [WORKER_DEBUGDATA] = "source=debugdata",
		[WORKER_DEBUG_FILE] = "source=build_id", [WORKER_DYNSYM] = "source=dynsym",
		[WORKER_NO_SOURCE] = "source=none",
	};
	static const char help[] =
		"files read for the names of their functions, by where these are";

	*maker = (struct index_maker){
		.processes = processes,
		.known = known,
		.pool = pool,
		.directories = *directories,
		.most_bytes = most_bytes,
	};
	for (size_t i = 0; i < WORKER_SOURCES; i++)
		maker->made[i] =
			host->metric(host, PROFCOL_COUNTER, "symbol_sources", labels[i], help);
	maker->by_link =
		host->metric(host, PROFCOL_COUNTER, "symbol_sources", "source=debuglink", help);
	maker->without_tables =
		host->metric(host, PROFCOL_COUNTER, "symbol_files_without_tables", "",
			     "files whose functions without a name cannot be told apart, since "
			     "there is no unwind table");
	maker->refused = host->metric(host, PROFCOL_COUNTER, "symbol_debug_files_refused", "",
				      "files in debug directories that belong to another build");
	maker->given_up = host->metric(host, PROFCOL_COUNTER, "symbol_debug_files_given_up", "",
				       "debug files that a worker failed on");
}

/* ---- asking ---- */

/* The vDSO as a file. It is the kernel's own. */
static int open_vdso(void)
{
	CLEANUP_FD int fd = memfd_create("profcol-vdso", MFD_CLOEXEC);
	size_t bytes = 0;
	const void *image = worker_vdso_image(&bytes);

	if (fd < 0)
		return -errno;
	if (!image || write(fd, image, bytes) != (ssize_t)bytes)
		return -ENOENT;
	return TAKE_FD(fd);
}

int index_maker_open(struct index_maker *maker, struct known_file *file)
{
	bool is_vdso = file->id == SYMBOLS_VDSO;
	int fd = is_vdso ? open_vdso() : processes_open_file(maker->processes, file->id);
	struct stat stat;
	int status;

	if (fd < 0 || is_vdso)
		return fd;
	status = processes_recall_file(fd, &stat) ? -EIO : S_ISREG(stat.st_mode) ? 0 : -EINVAL;
	if (status) {
		index_maker_close(maker, file, fd);
		return status;
	}
	known_file_meet(maker->known, file, &stat);
	return fd;
}

void index_maker_close(const struct index_maker *maker, const struct known_file *file, int fd)
{
	if (fd >= 0)
		close_later(fd, index_maker_origin(maker, file, false).payer);
}

struct origin index_maker_origin(const struct index_maker *maker, const struct known_file *file,
				 bool own)
{
	if (file->id == SYMBOLS_VDSO)
		return (struct origin){ .owner = OWNER_MACHINE };
	return processes_file_origin(maker->processes, file->id, own);
}

/* Ask with what @debug has brought, which is taken; fd -1: without a debug file. */
static int ask(struct index_maker *maker, struct known_file *file,
	       const struct process_debug_file *debug)
{
	struct worker_index_files files = {
		.debug = debug->fd,
		.debug_found_by = debug->by_link ? WORKER_DEBUG_BY_LINK : WORKER_DEBUG_BY_BUILD_ID,
	};

	files.file = index_maker_open(maker, file);
	file->making_fd = files.file < 0 ? -1 : file_index_begin();
	files.index = file->making_fd < 0 ? -1 : fcntl(file->making_fd, F_DUPFD_CLOEXEC, 0);
	if (files.index < 0) {
		int status = files.file < 0 ? files.file : -EMFILE;

		index_maker_close(maker, file, files.file);
		index_maker_close(maker, file, files.debug);
		index_maker_forget(file);
		return status;
	}
	file->asked = worker_pool_ask_index(
		maker->pool, file->id,
		index_maker_origin(maker, file, debug->fd >= 0 && debug->in_own_root), &files);
	if (!file->asked) {
		index_maker_forget(file);
		return -EAGAIN;
	}
	file->making = debug->fd < 0 ? MAKING_OWN : MAKING_DEBUG;
	file->made_ns = clock_monotonic_ns();
	file->maybe = (struct known_index){
		.fd = -1,
		.by_link = debug->fd >= 0 && debug->by_link,
		.in_own_root = debug->fd >= 0 && debug->in_own_root,
		.root = debug->root,
	};
	return 0;
}

int index_maker_ask(struct index_maker *maker, struct known_file *file)
{
	return ask(maker, file, &(struct process_debug_file){ .fd = -1 });
}

/* The index of a file is the one that stays. */
static void count_index(const struct index_maker *maker, const struct known_index *index)
{
	bool by_link = index->source == WORKER_DEBUG_FILE && index->by_link;

	profcol_metric_add(by_link ? maker->by_link : maker->made[index->source], 1);
	if (!index->has_tables)
		profcol_metric_add(maker->without_tables, 1);
}

bool index_maker_ask_debug(struct index_maker *maker, struct known_file *file)
{
	const struct process_debug_query query = {
		.build_id = file->build_id_gnu,
		.link = file->link,
		.directories = maker->directories.items,
		.directory_count = maker->directories.count,
	};
	struct process_debug_file debug;

	file->debug_wanted = file->debug_candidate < CANDIDATES_MOST &&
			     !processes_open_debug(maker->processes, file->id, &query,
						   &file->debug_candidate, &debug);
	if (file->debug_wanted)
		file->debug_wanted = !ask(maker, file, &debug);
	if (!file->debug_wanted && file->index.fd >= 0)
		count_index(maker, &file->index);
	return file->debug_wanted;
}

void index_maker_forget(struct known_file *file)
{
	cleanup_fd(&file->making_fd);
	file->making_fd = -1;
	file->making = MAKING_NOTHING;
}

/* ---- answers ---- */

/* Is it worth while to look for a debug file? */
static bool wants_debug(const struct known_file *file, const struct worker_index *index)
{
	return (index->source == WORKER_DYNSYM || index->source == WORKER_NO_SOURCE) &&
	       (file->build_id_gnu[0] || file->link[0]);
}

/* The index that has just been written holds. */
static enum index_outcome take_index(struct index_maker *maker, struct known_file *file,
				     const struct worker_answer *answer)
{
	struct known_index index = file->maybe;

	// While the worker read it somebody may have written to it.
	if (file->id != SYMBOLS_VDSO && processes_file_is_stale(maker->processes, file->id))
		return INDEX_LATER;
	// One that takes all the room would have to go at once, and come again, and so on.
	if (file_index_memory(answer->index.bytes) > maker->most_bytes ||
	    file_index_finish(file->making_fd, answer->index.bytes))
		return INDEX_HOPELESS;
	if (!known_file_learn_facts(maker->known, file, answer))
		return INDEX_LATER;
	index.fd = TAKE_FD(file->making_fd);
	index.memory = file_index_memory(answer->index.bytes);
	index.source = answer->index.source;
	index.has_tables = answer->index.has_tables;
	file->lines_by = answer->index.lines_by;
	index.in_own_root &= index.source == WORKER_DEBUG_FILE;
	known_file_set_index(maker->known, file, &index);
	return INDEX_TAKEN;
}

static enum index_outcome take_own(struct index_maker *maker, struct known_file *file,
				   const struct worker_answer *answer)
{
	enum index_outcome outcome;

	if (answer->outcome == WORKER_MISSING)
		return INDEX_LATER;
	if (answer->outcome != WORKER_ANSWERED)
		return INDEX_HOPELESS;
	outcome = take_index(maker, file, answer);
	if (outcome != INDEX_TAKEN)
		return outcome;
	snprintf(file->link, sizeof(file->link), "%s", answer->index.link);
	file->debug_candidate = 0;
	file->debug_wanted = wants_debug(file, &answer->index);
	if (!file->debug_wanted)
		count_index(maker, &file->index);
	return INDEX_TAKEN;
}

static enum index_outcome take_debug(struct index_maker *maker, struct known_file *file,
				     const struct worker_answer *answer)
{
	if (answer->outcome == WORKER_MISSING) {
		file->debug_candidate = 0;
		return INDEX_LATER;
	}
	if (answer->outcome != WORKER_ANSWERED) {
		profcol_metric_add(maker->given_up, 1);
		return INDEX_TAKEN;
	}
	profcol_metric_add(maker->refused, answer->index.debug_refused);
	if (answer->index.source != WORKER_DEBUG_FILE)
		return INDEX_TAKEN;
	file->debug_wanted = false;
	if (take_index(maker, file, answer) != INDEX_TAKEN)
		profcol_metric_add(maker->given_up, 1);
	return INDEX_TAKEN;
}

enum index_outcome index_maker_take(struct index_maker *maker, struct known_file *file,
				    const struct worker_answer *answer)
{
	enum index_outcome outcome = file->making == MAKING_OWN ? take_own(maker, file, answer)
								: take_debug(maker, file, answer);

	if (file->making == MAKING_DEBUG && outcome == INDEX_TAKEN && !file->debug_wanted)
		count_index(maker, &file->index);
	index_maker_forget(file);
	return outcome;
}

/* ---- roots ---- */

void index_maker_check_roots(struct index_maker *maker)
{
	struct known_files *known = maker->known;

	for (size_t i = 0; known->own_root_count && i < known->files.count; i++) {
		struct known_file *file = known->files.items[i];

		if (file->index.in_own_root &&
		    !processes_is_of_root(maker->processes, file->id, &file->index.root))
			known_file_unlearn(known, file);
		else if (file->making == MAKING_DEBUG && file->maybe.in_own_root)
			file->outdated |= !processes_is_of_root(maker->processes, file->id,
								&file->maybe.root);
	}
}
