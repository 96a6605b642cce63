// SPDX-License-Identifier: Apache-2.0
#include "nameless.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	FILES_MOST = 1024, /* that are counted each for itself */
	FILES_SHOWN = 4,
	SHARE = 5,          /* a fifth is worth a line */
	LEAST_SAMPLES = 50, /* fewer say nothing */
	SHOWN_SHARE = 20,   /* of the samples without a name; files with less are not shown */
	LINE_BYTES = 1024,
	NAME_BYTES = 64,  /* of a file, as shown, */
	PATH_BYTES = 256, /* and of its path */
};

static const uint64_t first_ns = 60000000000, interval_ns = 3600000000000;

struct nameless_file {
	uint32_t file; /* id; PROCESS_NO_FILE: code outside of files, or the kernel's */
	bool kernel;
	uint64_t samples;
};

struct nameless {
	const struct profcol_host *host;
	struct processes *processes;
	struct symbols *symbols;
	uint64_t due_ns, lap;
	bool told;
	uint64_t samples, without; /* since the last line */
	VECTOR(struct nameless_file) files;
	VECTOR(uint32_t) leaves; /* scratch: frame of each stack */
};

struct nameless *nameless_create(const struct profcol_host *host, struct processes *processes,
				 struct symbols *symbols)
{
	struct nameless *nameless = calloc(1, sizeof(*nameless));

	if (!nameless)
		return NULL;
	nameless->host = host;
	nameless->processes = processes;
	nameless->symbols = symbols;
	nameless->due_ns = clock_monotonic_ns() + first_ns;
	return nameless;
}

void nameless_destroy(struct nameless *nameless)
{
	if (!nameless)
		return;
	VECTOR_DEINIT(&nameless->files);
	VECTOR_DEINIT(&nameless->leaves);
	free(nameless);
}

/* ---- counting ---- */

static void count_file(struct nameless *nameless, uint32_t file, bool kernel)
{
	for (size_t i = 0; i < nameless->files.count; i++) {
		struct nameless_file *known = &nameless->files.items[i];

		if (known->file != file || known->kernel != kernel)
			continue;
		known->samples++;
		return;
	}
	if (nameless->files.count < FILES_MOST)
		(void)VECTOR_PUSH(&nameless->files, ((struct nameless_file){ file, kernel, 1 }));
}

void nameless_count(struct nameless *nameless, const struct capture *capture,
		    const struct locations *locations)
{
	uint64_t lap = processes_files(nameless->processes).lap;

	// Ids of files may be others' by now.
	if (lap != nameless->lap)
		nameless->files.count = 0;
	nameless->lap = lap;
	for (size_t i = 0; i < capture->samples.count; i++) {
		uint32_t stack = capture->samples.items[i].stack;
		uint32_t begin = capture_stack_begin(capture, stack);
		const struct located_frame *located;
		uint32_t frame;

		nameless->samples++;
		if (begin >= capture->stacks.items[stack].limit)
			continue; // it says why there is nothing
		frame = capture->stack_frames.items[begin];
		located = &locations->frames.items[frame];
		if (!located->uses || located->has_name || located->file == SYMBOLS_VDSO)
			continue;
		nameless->without++;
		count_file(nameless, located->file,
			   capture->frames.items[frame].process == CAPTURE_KERNEL);
	}
}

/* ---- telling ---- */

struct line {
	char text[LINE_BYTES];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void line_add(struct line *line, const char *format,
							   ...)
{
	va_list arguments;
	int added;

	va_start(arguments, format);
	added = vsnprintf(line->text + line->length, sizeof(line->text) - line->length, format,
			  arguments);
	va_end(arguments);
	if (added > 0)
		line->length += (size_t)added;
	if (line->length >= sizeof(line->text))
		line->length = sizeof(line->text) - 1;
}

/* What to do about @file, of which @package may be the package. */
static void add_remedy(struct line *line, const struct nameless *nameless, uint32_t file,
		       const char *path)
{
	struct process_package package;
	struct symbol_file facts;

	if (!symbols_file(nameless->symbols, file, &facts)) {
		line_add(line, " (not read)");
		return;
	}
	if (processes_find_package(nameless->processes, file, &package))
		package = (struct process_package){ 0 };
	if (package.manager == PACKAGES_DPKG && !strcmp(package.name, "libc6"))
		line_add(line, " (install libc6-dbg)");
	else if (package.manager == PACKAGES_DPKG && package.name[0])
		line_add(line, " (install %s-dbgsym)", package.name);
	else if (package.manager == PACKAGES_RPM)
		line_add(line, " (install the debuginfo of its package: rpm -qf %s)", path);
	else if (facts.build_id_gnu[0])
		line_add(line, " (stripped, build id %s)", facts.build_id_gnu);
	else
		line_add(line, " (stripped)");
}

/* @text, which was chosen by whoever runs the program, for a terminal; @to has room for @most bytes
 * and a NUL. */
static void make_printable(char *to, const char *text, size_t most)
{
	strings_sanitize_utf8(to, text, strnlen(text, most));
	for (; *to; to++) {
		bool control = (unsigned char)to[0] == 0xc2 && (unsigned char)to[1] < 0xa0;

		if ((unsigned char)to[0] < ' ' || to[0] == 0x7f || control)
			*to = '?';
		if (control)
			*++to = '?';
	}
}

static void add_file(struct line *line, const struct nameless *nameless,
		     const struct nameless_file *file)
{
	CLEANUP_FREE char *path = processes_file_path(nameless->processes, file->file);
	char name[NAME_BYTES + 1], whole[PATH_BYTES + 1];
	const char *slash;

	if (file->kernel) {
		line_add(line, "the kernel (grant CAP_SYSLOG, set kernel.kptr_restrict to 0 or 1)");
		return;
	}
	if (file->file == PROCESS_NO_FILE) {
		line_add(line, "code that programs have compiled for themselves");
		return;
	}
	slash = path ? strrchr(path, '/') : NULL;
	make_printable(name, slash ? slash + 1 : "?", NAME_BYTES);
	make_printable(whole, path ? path : "?", PATH_BYTES);
	line_add(line, "%s", name);
	add_remedy(line, nameless, file->file, whole);
}

/* Most samples first. */
static int compare_files(const void *left, const void *right)
{
	const struct nameless_file *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->file < b->file ? -1 : a->file > b->file;
}

static void tell(struct nameless *nameless)
{
	struct line line = { 0 };
	size_t shown = 0;

	qsort(nameless->files.items, nameless->files.count, sizeof(*nameless->files.items),
	      compare_files);
	line_add(&line, "%" PRIu64 " %% of samples have no name: ",
		 nameless->without * 100 / nameless->samples);
	for (; shown < nameless->files.count && shown < FILES_SHOWN; shown++) {
		const struct nameless_file *file = &nameless->files.items[shown];

		if (shown && file->samples < nameless->without / SHOWN_SHARE)
			break;
		if (shown)
			line_add(&line, ", ");
		add_file(&line, nameless, file);
	}
	if (shown < nameless->files.count)
		line_add(&line, ", and %zu more", nameless->files.count - shown);
	profcol_log_warn(nameless->host->logger, "%s", line.text);
}

void nameless_tell(struct nameless *nameless, uint64_t now_ns, bool last)
{
	bool many = nameless->samples >= LEAST_SAMPLES && nameless->files.count &&
		    nameless->without > nameless->samples / SHARE;

	if (last ? nameless->told : now_ns < nameless->due_ns)
		return;
	if (many)
		tell(nameless);
	nameless->told |= many;
	nameless->due_ns = now_ns + interval_ns;
	nameless->samples = nameless->without = 0;
	nameless->files.count = 0;
}
