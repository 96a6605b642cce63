/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxed processes that read files of profiled programs, and the pool
 * through which the profiler asks them.
 *
 * A worker gets open descriptors and makes the index of a file's functions, or is asked for
 * functions by such an index and file offsets, or for the unwind rules of text pages. It answers
 * with what the file says of itself (load segments, build ids), too. It has no capabilities, a
 * seccomp filter and limits on memory; what it answers is checked before anybody sees it. It may
 * die of a file (a truncated mapping, a hang): then it is started again, that file is given up and
 * the others go on. One slow file never holds up another: more workers are started as long as
 * requests wait behind it.
 *
 * A worker reads the bytes of one owner (origin.h): who takes one over learns and spoils nothing of
 * others. There are few, so the one that has been idle for longest ends when another owner's bytes
 * are to be read, and an owner with several gives one up for one who has none.
 *
 * Threads: one at a time. Workers live as long as the program (host->spawn_helper
 * forks from a thread that does).
 */
#pragma once

#include "origin.h"

#include <profcol/component.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct runtime;
struct runtime_found;
struct runtime_frame;
struct runtime_process;
struct unwind_rule;

/*
 * Body of a worker process (profcol_component.helper): shut itself in, then serve
 * requests on @socket until the other end closes. Returns 1 when it cannot shut
 * itself in; otherwise it does not return.
 */
int worker_helper(int socket);

enum {
	WORKER_MAX_OFFSETS = 4096,  /* in one request: a full answer stays in one piece of 1 MiB */
	WORKER_MAX_SEGMENTS = 64,   /* PT_LOADs; linkers write 2 to 8 */
	WORKER_MAX_NAME = 4096,     /* bytes of one name, with its NUL */
	WORKER_MAP_MOST = 64 << 20, /* bytes that are read of a perf map: some 0.3 s */
	WORKER_MAX_PAGES = 64,      /* in one request: 2 MiB at worst, 0.5 MiB as compilers write */
	WORKER_SMALL_PAGES = 32, /* of text: such a file is answered whole at the first request */
	WORKER_FIRST_RULE = 2,   /* number of worker_answer.rules[0] in rows */
	WORKER_MAX_RUNTIMES = 4, /* of one file */
	WORKER_LINK_BYTES = 256, /* of the name in .gnu_debuglink, with its NUL */
	WORKER_INDEX_BYTES = 128 << 20, /* at most, of one file */
	WORKER_MAX_FRAMES = 1024,       /* of a runtime, in one request */
	WORKER_MAX_PLACES = 2048,       /* of a file, whose lines one request is about */
	WORKER_MAX_LINES = 16384,       /* of these, in one answer */
};

/* A PT_LOAD: bytes of the file at an address of the file's own address space. */
struct worker_segment {
	uint64_t file_offset;
	uint64_t file_bytes;
	uint64_t address;
	uint64_t memory_bytes;
	uint32_t executable; /* 0 or 1 */
	uint32_t reserved;
};

/*
 * The segment that holds @file_offset, an executable one before others; NULL when none does.
 */
const struct worker_segment *worker_find_segment(const struct worker_segment *segments,
						 size_t count, uint64_t file_offset);

enum worker_range_kind {
	WORKER_NOTHING,  /* no function here, as far as the file says */
	WORKER_FUNCTION, /* one with a name */
	WORKER_UNNAMED,  /* an entry of the unwind table, which no symbol names */
};

/* Addresses for which one answer holds. */
struct worker_range {
	uint64_t start;
	uint64_t size;        /* > 0; start + size does not wrap */
	uint32_t name;        /* offset in worker_answer.text, demangled; 0 unless FUNCTION */
	uint32_t system_name; /* as the symbol table has it; 0: the same as name */
	uint32_t kind;        /* enum worker_range_kind */
	uint32_t before;      /* UNNAMED: the entry begins so many bytes before start */
};

/* Where the names of a file's functions come from; the first that has some is taken. */
enum worker_source {
	WORKER_SYMTAB,
	WORKER_DEBUGDATA,  /* .gnu_debugdata, and what that leaves to .dynsym */
	WORKER_DEBUG_FILE, /* a separate one */
	WORKER_DYNSYM,
	WORKER_NO_SOURCE,
	WORKER_SOURCES,
};

/* How a debug file was found, which says what it is told by. */
enum worker_debug { WORKER_DEBUG_BY_BUILD_ID, WORKER_DEBUG_BY_LINK };

/* The index that a worker has written. */
struct worker_index {
	uint64_t bytes;
	enum worker_source source;
	bool debug_refused;           /* what was given as its debug file is none */
	bool has_tables;              /* there are unwind tables that tell functions apart */
	uint32_t lines_by;            /* the number of the runtime that has lines; RUNTIME_NONE */
	char link[WORKER_LINK_BYTES]; /* .gnu_debuglink: a plain file name, or "" */
};

/*
 * The unwind rules of one page of text, in rows (unwind/page.h): what takes a walk from each byte
 * of it to the caller. In the upper half of a row a number without UNWIND_PACKED_* bits
 * is UNWIND_RULE_UNKNOWN, UNWIND_RULE_END, or WORKER_FIRST_RULE + index into worker_answer.rules.
 */
struct worker_page {
	uint32_t number;       /* ELF address >> UNWIND_PAGE_SHIFT */
	uint32_t row_count;    /* PAGE_MAX_ROWS at most */
	const uint16_t *first; /* UNWIND_BLOCKS + 1, from 0 to row_count; each block has a row */
	const uint32_t *rows;  /* of each block ascending, the first at its byte 0 */
};

/* A language runtime that has recognised the file as its own. */
struct worker_runtime {
	const struct runtime *runtime;
	const void *layout; /* checked by it; runtime->layout_bytes */
};

/* What became of a frame's name. */
struct worker_named {
	uint32_t outcome;    /* enum runtime_outcome */
	uint32_t line_count; /* more than 0 if RUNTIME_NAMED, else 0 */
	uint32_t trace;      /* of enum runtime_trace; only of a file's lines */
};

/* A function that runs in a frame, the innermost first. */
struct worker_line {
	uint32_t function;                 /* offset in worker_answer.text, not 0 */
	uint32_t file, system_name;        /* the same; or 0 */
	uint32_t line, start_line, column; /* from 1 on; 0: not known */
	uint32_t is_gap;                   /* 1: it stands for frames that are not here */
};

enum worker_outcome {
	WORKER_ANSWERED,
	WORKER_UNREADABLE, /* the file cannot be mapped, or is too large */
	WORKER_CRASHED,    /* a worker died of the file */
	WORKER_TIMED_OUT,  /* a worker was ended after 5 s without an answer */
	WORKER_MISBEHAVED, /* the answer failed the checks; the worker was ended */
	WORKER_MISSING,    /* no worker could be had, or others had to have it: ask again later */
};

/*
 * Text is valid UTF-8 without control characters, NUL-terminated, shorter than
 * WORKER_MAX_NAME. Everything after `outcome` is zero unless ANSWERED, and lives
 * until the callback returns.
 */
struct worker_answer {
	uint32_t file; /* as asked */
	enum worker_outcome outcome;
	const char *build_id_gnu; /* lower-case hex, or "" */
	const char *build_id_go;  /* or "" */
	const char *htlhash;      /* 32 hex digits, also of files that are no ELF */
	const struct worker_segment *segments;
	size_t segment_count;
	const struct worker_range *ranges; /* by start, without overlap */
	size_t range_count;
	bool partial; /* there was no room for all: ask again for offsets that no range covers */
	const char *text;
	const uint64_t *offsets; /* as asked: file offsets, numbers of pages, or addresses */
	size_t offset_count;

	/* Of answers about pages only; they have no ranges. */
	bool has_tables; /* the file is of this machine and says something of its frames */
	uint32_t page_first, page_limit; /* page numbers of its code, limit exclusive */
	const struct worker_page *pages; /* ascending; only such as were asked for */
	size_t page_count;
	size_t pages_failed; /* asked for and not here: outside of the code, too many rows or rules
			      */
	const struct unwind_rule *rules; /* all different; no UNKNOWN and no END */
	size_t rule_count;               /* below UNWIND_RULES */
	struct worker_runtime runtimes[WORKER_MAX_RUNTIMES]; /* that recognise it, each once */
	size_t runtime_count;

	struct worker_index index; /* of answers about an index only, which have no ranges */
	/* Of answers about the memory of a process, and of lines, only; they have no facts. */
	struct runtime_found *found;      /* checked; or NULL: there is nothing (yet) */
	const struct worker_named *named; /* of each that was asked for, in that order */
	size_t named_count;
	const struct worker_line *lines; /* of all of these */
	size_t line_count;

	const void *body; /* the answer itself, which passes the same checks again */
	size_t body_bytes;
};

/*
 * Check an answer about pages that was kept (worker_answer.body, aligned to 8), as if a worker had
 * just given it to a request for @asked; @ret borrows from @body and @pages. Text is made printable
 * in place. False: it is none. Sets neither `file` nor `offsets`. Any thread.
 */
bool worker_read_answer(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
			struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret);

/* Of the files that have rules: e_machine in their ELF header. */
uint32_t worker_machine(void);

typedef void (*worker_answered_function)(void *context, const struct worker_answer *answer);

struct worker_pool;

/*
 * The user and group of workers, if they can be that: a number that nobody has been given, so that
 * nobody can signal them. It lies where no distribution hands out any, nor containers' maps reach.
 */
enum { WORKER_UID = 2111111111 };

/* @answered comes from inside worker_pool_run; @label, "purpose=symbols", tells the pool's metrics
 * from another one's. Workers are user @uid. @host is borrowed until destroy. NULL: no memory. */
struct worker_pool *worker_pool_create(const struct profcol_host *host, const char *label,
				       uint32_t uid, worker_answered_function answered,
				       void *context);

void worker_pool_destroy(struct worker_pool *pool); /* ends the workers; accepts NULL */

/* Start the first worker and wait until it is shut in (at most 30 s). */
PROFCOL_MUST_CHECK struct profcol_error *worker_pool_start(struct worker_pool *pool);

/* For one more request about bytes of @owner? If not, the pool is busy. */
bool worker_pool_has_room(const struct worker_pool *pool, struct owner owner);

/*
 * The functions that follow queue a request about bytes of @origin. Where workers hang
 * already, the answer is WORKER_MISSING.
 *
 * Queue one request for the functions at @offsets (sorted, 1 to WORKER_MAX_OFFSETS, copied) of
 * @file, by its index, open as @fd. Takes @fd, also when it returns false: the queue is full, or
 * memory is.
 */
bool worker_pool_ask(struct worker_pool *pool, uint32_t file, struct origin origin, int fd,
		     const uint64_t *offsets, size_t count);

/* What an index is made of. The descriptors are taken by who is asked. */
struct worker_index_files {
	int file;
	int index; /* of memory (memfd_create) that is WORKER_INDEX_BYTES long, and is written to */
	int debug; /* of what may be its debug file; -1: none */
	enum worker_debug debug_found_by;
};

/* Queue one request for the index of @file. Takes @files as above. */
bool worker_pool_ask_index(struct worker_pool *pool, uint32_t file, struct origin origin,
			   const struct worker_index_files *files);

/*
 * Queue one for the lines at ELF @addresses (1 to WORKER_MAX_PLACES, copied) of @file, open as @fd:
 * of each, which functions run there, as far as a runtime knows its files (runtime.lines).
 * @content tells versions of the file apart: a worker may answer from what it remembers of an
 * equal one. Takes @fd as above.
 */
bool worker_pool_ask_lines(struct worker_pool *pool, uint32_t file, struct origin origin,
			   uint64_t content, int fd, const uint64_t *addresses, size_t count);

/*
 * Queue one for unwind rules. @content tells versions of the file apart: a worker may answer from
 * what it remembers of an equal one. @pages are ELF addresses >> UNWIND_PAGE_SHIFT, ascending, each
 * once, at most WORKER_MAX_PAGES. With @count 0 it is about the facts, and about all pages when the
 * file's code spans at most WORKER_SMALL_PAGES. Takes @fd as above.
 */
bool worker_pool_ask_pages(struct worker_pool *pool, uint32_t file, struct origin origin,
			   uint64_t content, int fd, const uint32_t *pages, size_t count);

/*
 * What does the runtime of @process, whose data do not matter, find in that process, the memory of
 * which is @fd (/proc/PID/mem)? @tag comes back as worker_answer.file. Takes @fd, as above.
 */
bool worker_pool_ask_attach(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			    const struct runtime_process *process);

/* The same: what are these @frames called? 1 to WORKER_MAX_FRAMES. */
bool worker_pool_ask_names(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			   const struct runtime_process *process,
			   const struct runtime_frame *frames, size_t count);

/* The same: what does @fd, a perf map or a jitdump, call the code at the addresses (`object`) of
 * these @frames, which are ascending? */
bool worker_pool_ask_map(struct worker_pool *pool, uint32_t tag, struct origin origin, int fd,
			 const struct runtime_frame *frames, size_t count);

/*
 * Serve until at least one request has been answered, none is left, or
 * @deadline_ns (CLOCK_MONOTONIC) has come; what has arrived already is taken in
 * any case. Requests in work stay so. Returns the number answered.
 */
size_t worker_pool_run(struct worker_pool *pool, uint64_t deadline_ns);

/* What the processes of some pools use, for the whole of which it is added up. */
struct worker_use {
	uint64_t cpu_ns;       /* since their start; of those that run only */
	uint64_t memory_bytes; /* of their own: what they share with others is left out */
};

/*
 * Bytes of process @pid, 0 for our own: all that is in memory, and what of it is files' or shared.
 * False: it has ended. Any thread.
 */
bool worker_read_memory(pid_t pid, uint64_t *resident_ret, uint64_t *shared_ret);

/* Add those of @pool to *@use. Any thread. */
void worker_pool_use(const struct worker_pool *pool, struct worker_use *use);

bool worker_pool_is_busy(const struct worker_pool *pool); /* a request is not answered yet */

/*
 * Build ids of the vDSO, which the kernel maps into every 64-bit process. Read by the caller from
 * its own memory; no worker takes part. False on a kernel without one. Any thread.
 */
struct worker_vdso {
	char build_id_gnu[129]; /* lower-case hex, or "" */
	char htlhash[33];
};
bool worker_read_vdso(struct worker_vdso *ret);

/* The image itself, in the caller's own memory; its length in bytes. NULL where there is none. */
const void *worker_vdso_image(size_t *bytes_ret);
