// SPDX-License-Identifier: Apache-2.0
#include "profile_file.h"

#include "base/base.h"
#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FILE_MAX_BYTES = 1 << 30,
	MEMORY_MAX_BYTES = INT32_MAX, /* of a file that is being decoded */
	TEXT_LOOK_BYTES = 4096,
	NAME_MAX_BYTES = 100, /* of a function in a line */
	NODES_MAX = 1000000,  /* of a page in a file */
};

/* ---- reading ---- */

static bool is_text(const char *bytes, size_t length)
{
	length = length < TEXT_LOOK_BYTES ? length : TEXT_LOOK_BYTES;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)bytes[i] < ' ' && !strchr("\t\r\n", bytes[i]))
			return false;
	return length;
}

static size_t read_length(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Does all of it consist of pieces behind their lengths? */
static bool has_lengths(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (length - at >= 4 && read_length(bytes + at) <= length - at - 4)
		at += 4 + read_length(bytes + at);
	return length && at == length;
}

static struct profcol_error *add_otlp(const uint8_t *bytes, size_t length, struct flame *flame,
				      enum flame_side side)
{
	const struct otlp_decode_limits limits = { .max_memory = MEMORY_MAX_BYTES };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_error *error = otlp_decode(bytes, length, &limits, &batch);

	return error ? error : flame_add(flame, batch, side, UINT64_MAX);
}

static struct profcol_error *add_records(const uint8_t *bytes, size_t length, struct flame *flame,
					 enum flame_side side)
{
	struct profcol_error *error = NULL;

	for (size_t at = 0; at < length && !error; at += 4 + read_length(bytes + at))
		error = add_otlp(bytes + at + 4, read_length(bytes + at), flame, side);
	return error;
}

static struct profcol_error *add_folded(const uint8_t *bytes, size_t length, struct flame *flame,
					enum flame_side side)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_error *error = folded_decode(bytes, length, &batch);

	return error ? error : flame_add(flame, batch, side, UINT64_MAX);
}

static struct profcol_error *add_pprof(const uint8_t *bytes, size_t length, struct flame *flame,
				       enum flame_side side)
{
	const struct pprof_decode_limits limits = { FILE_MAX_BYTES, MEMORY_MAX_BYTES, NULL };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_error *error = pprof_decode(bytes, length, &limits, &batch);

	return error ? error : flame_add(flame, batch, side, UINT64_MAX);
}

static struct profcol_error *add_any(const uint8_t *bytes, size_t length, struct flame *flame,
				     enum flame_side side)
{
	struct profcol_error *pprof, *otlp;

	if (length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
		return add_pprof(bytes, length, flame, side);
	if (has_lengths(bytes, length))
		return add_records(bytes, length, flame, side);
	if (is_text((const char *)bytes, length))
		return add_folded(bytes, length, flame, side);
	pprof = add_pprof(bytes, length, flame, side);
	if (!pprof || profcol_error_code(pprof) == PROFCOL_NO_MEMORY)
		return pprof;
	otlp = add_otlp(bytes, length, flame, side);
	if (!otlp) {
		profcol_error_destroy(pprof);
		return NULL;
	}
	pprof = profcol_error_prefix(pprof, "as pprof");
	return profcol_error_join(pprof, profcol_error_prefix(otlp, "as OTLP"));
}

struct profcol_error *profile_file_add(const char *path, struct flame *flame, enum flame_side side)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t length;
	int status = file_read(AT_FDCWD, path, FILE_MAX_BYTES, &bytes, &length);

	if (status)
		return profcol_error_create(PROFCOL_SYSTEM, "cannot read '%s': %s", path,
					    strerrordesc_np(-status));
	return profcol_error_prefix(add_any((const uint8_t *)bytes, length, flame, side),
				    "'%s' is no profile that can be read", path);
}

/* ---- writing ---- */

bool profile_picture_form(const char *path, enum profile_picture *ret)
{
	const char *dot = strrchr(path, '.');

	if (!dot || dot == path || dot[-1] == '/')
		return false;
	*ret = !strcmp(dot, ".svg") ? PICTURE_SVG : PICTURE_HTML;
	return !strcmp(dot, ".svg") || !strcmp(dot, ".html");
}

/* Open @path for a picture: a new file or a regular one that is there; no link, nothing that would
 * wait. */
static struct profcol_error *open_picture(const char *path, FILE **ret)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
	CLEANUP_FD int fd = open(path, flags, 0600);
	struct stat status;

	if (fd < 0 && errno != ELOOP && errno != ENXIO && errno != EISDIR)
		return profcol_error_create(PROFCOL_SYSTEM, "cannot write to '%s': %s", path,
					    strerrordesc_np(errno));
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot write to '%s': it is there and no regular "
					    "file; choose another name",
					    path);
	*ret = ftruncate(fd, 0) ? NULL : fdopen(fd, "w");
	if (!*ret)
		return profcol_error_create(PROFCOL_SYSTEM, "cannot write to '%s': %s", path,
					    strerrordesc_np(errno));
	(void)TAKE_FD(fd);
	return NULL;
}

struct profcol_error *profile_picture_write(struct flame *flame, bool has_base, const char *title,
					    enum profile_picture form, const char *path)
{
	const struct flame_json_settings settings = { .nodes_max = NODES_MAX,
						      .has_base = has_base };
	struct profcol_error *error;
	int failure = 0;
	FILE *stream;

	error = open_picture(path, &stream);
	if (error)
		return error;
	error = form == PICTURE_SVG ? flame_write_svg(flame, title, stream)
				    : flame_write_html(flame, &settings, stream);
	failure = ferror(stream) ? EIO : 0;
	if (fclose(stream) && !failure)
		failure = errno;
	if (!error && failure)
		error = profcol_error_create(PROFCOL_SYSTEM, "cannot write to '%s': %s", path,
					     strerrordesc_np(failure));
	return error;
}

/* ---- in words ---- */

/* A name of anybody, for a terminal. */
static void print_name(FILE *stream, struct profcol_text name)
{
	bool is_utf8 = strings_is_utf8(name.bytes, name.length);
	size_t length = strings_cut_utf8(name.bytes, name.length, NAME_MAX_BYTES);

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name.bytes[i];

		// C1 controls are two bytes in UTF-8; marks that turn text around are three.
		if (is_utf8 && byte == 0xc2 && (unsigned char)name.bytes[i + 1] < 0xa0)
			putc('?', stream), i++;
		else if (is_utf8 && byte == 0xe2 &&
			 ((unsigned char)name.bytes[i + 1] == 0x80 ||
			  (unsigned char)name.bytes[i + 1] == 0x81))
			putc('?', stream), i += 2;
		else
			putc(byte < ' ' || byte == 0x7f || (byte > 0x7f && !is_utf8) ? '?' : byte,
			     stream);
	}
	if (length < name.length)
		fputs("...", stream);
}

static void print_function(FILE *stream, const struct flame_function *function)
{
	struct profcol_text file = function->file;
	const char *slash = file.length ? memrchr(file.bytes, '/', file.length) : NULL;

	if (slash) {
		file.length -= (size_t)(slash + 1 - file.bytes);
		file.bytes = slash + 1;
	}
	if (function->name.length)
		print_name(stream, function->name);
	else
		fputs("[unknown]", stream);
	if (file.length) {
		fputs(" (", stream);
		print_name(stream, file);
		putc(')', stream);
	}
	putc('\n', stream);
}

struct profcol_error *profile_print_hottest(struct flame *flame, size_t count, FILE *stream)
{
	CLEANUP_FREE struct flame_function *functions = NULL;
	int64_t whole = flame_total(flame, FLAME_NOW);
	double percent = whole > 0 ? 100.0 / (double)whole : 0;
	struct profcol_error *error;

	error = flame_top(flame, FLAME_NOW, count, &functions, &count);
	if (error || !count)
		return error;
	fprintf(stream, "%12s %7s %12s %7s  function, by ", "self", "self%", "total", "total%");
	print_name(stream, (struct profcol_text){ flame_type(flame), strlen(flame_type(flame)) });
	fputs(" (", stream);
	print_name(stream, (struct profcol_text){ flame_unit(flame), strlen(flame_unit(flame)) });
	fputs(")\n", stream);
	for (size_t i = 0; i < count; i++) {
		fprintf(stream, "%12" PRId64 " %6.2f%% %12" PRId64 " %6.2f%%  ", functions[i].self,
			(double)functions[i].self * percent, functions[i].total,
			(double)functions[i].total * percent);
		print_function(stream, &functions[i]);
	}
	return NULL;
}
