// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WIDTH = 1200, /* user units of the picture, as the next */
	MARGIN = 10,
	ROW = 17,
	HEAD = 46,
	DEPTH_MAX = 300, /* rows; deeper frames are left out */
	NAME_MAX_BYTES = 512,
};

static const double character_width = 6.6, least_width = 0.33;

struct svg {
	const struct flame *flame; /* borrowed, as the next two */
	FILE *stream;
	const int64_t *totals;
	double *left;    /* owned; of each node, where the next callee begins */
	uint32_t *depth; /* owned; of each node, 0 at the root */
	double scale;    /* user units for one of what is counted */
};

/* Text of anybody: what XML does not allow is '?'. */
static void write_text(FILE *stream, const char *bytes, size_t length)
{
	bool is_utf8 = strings_is_utf8(bytes, length);

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '<')
			fputs("&lt;", stream);
		else if (byte == '>')
			fputs("&gt;", stream);
		else if (byte == '&')
			fputs("&amp;", stream);
		else if (byte == '"')
			fputs("&quot;", stream);
		else if (byte < ' ' || byte == 0x7f || (byte > 0x7f && !is_utf8))
			putc('?', stream);
		// U+FFFE and U+FFFF are UTF-8, but no characters of XML.
		else if (byte == 0xef && i + 2 < length && (unsigned char)bytes[i + 1] == 0xbf &&
			 (unsigned char)bytes[i + 2] >= 0xbe)
			(void)(fputs("?", stream), i += 2);
		else
			putc(byte, stream);
	}
}

static struct profcol_text base_name(struct profcol_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.length);
	size_t skipped = slash ? (size_t)(slash - path.bytes) + 1 : 0;

	// A path that ends so has no last part.
	if (skipped == path.length)
		return path;
	return (struct profcol_text){ path.bytes + skipped, path.length - skipped };
}

/* Of a function without a name the file. */
static struct profcol_text frame_name(const struct flame *flame, uint32_t node)
{
	const struct flame_frame *frame = &flame->frames.items[flame->nodes.items[node].frame];
	struct profcol_text name = flame->strings.items[frame->name];
	struct profcol_text file = flame->strings.items[frame->file];

	if (!node)
		return (struct profcol_text){ "all", 3 };
	if (!name.length && !file.length)
		name = (struct profcol_text){ "[unknown]", 9 };
	else if (!name.length)
		name = base_name(file);
	name.length = strings_cut_utf8(name.bytes, name.length, NAME_MAX_BYTES);
	return name;
}

/* A number of what is counted: "3 samples", "20 nanoseconds". */
static void write_value(const struct flame *flame, int64_t value, FILE *stream)
{
	const char *unit = flame_unit(flame);
	const char *what = strcmp(unit, "count") ? unit : flame_type(flame);

	fprintf(stream, "%" PRId64 " ", value);
	write_text(stream, what, strlen(what));
}

/* As much of @name as fits into @width; with "…" where there is more. */
static void write_name(struct profcol_text name, double width, double x, double y, FILE *stream)
{
	double room = (width - 4) / character_width;
	size_t letters = room < 1 ? 0 : room < NAME_MAX_BYTES ? (size_t)room : NAME_MAX_BYTES;
	bool is_cut = name.length > letters;

	if (is_cut)
		name.length =
			letters > 1 ? strings_cut_utf8(name.bytes, name.length, letters - 1) : 0;
	if (!name.length)
		return;
	fprintf(stream, "<text x=\"%.2f\" y=\"%.0f\">", x + 2, y + ROW - 5);
	write_text(stream, name.bytes, name.length);
	fputs(is_cut ? "\u2026</text>" : "</text>", stream);
}

/* The class of a kind of frame, which says its colour. */
static const char *frame_class(const struct flame *flame, uint32_t node)
{
	const struct flame_frame *frame = &flame->frames.items[flame->nodes.items[node].frame];
	const char *kind = flame->strings.items[frame->kind].bytes;

	if (!node || !strcmp(kind, FLAME_KIND_GROUP) || !strcmp(kind, FLAME_KIND_CUT))
		return "g";
	if (!strcmp(kind, "kernel"))
		return "k";
	if (frame->inlined)
		return "i";
	return !kind[0] || !strcmp(kind, "native") ? "n" : "s";
}

/* One of some shades, the same for equal frames. */
static unsigned int shade(const struct flame *flame, uint32_t node)
{
	struct profcol_text name = frame_name(flame, node);

	return intern_hash(name.bytes, name.length) % 4;
}

static void write_box(const struct svg *svg, uint32_t node, double x, double width)
{
	const struct flame *flame = svg->flame;
	struct profcol_text name = frame_name(flame, node);
	double y = HEAD + (double)svg->depth[node] * ROW;
	int64_t total = svg->totals[node];

	fprintf(svg->stream, "<g class=\"%s\"><title>", frame_class(flame, node));
	write_text(svg->stream, name.bytes, name.length);
	fputs(": ", svg->stream);
	write_value(flame, total, svg->stream);
	fprintf(svg->stream,
		", %.2f %%</title><rect class=\"s%u\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
		"height=\"%d\"/>",
		100.0 * (double)total / (double)svg->totals[0], shade(flame, node), x, y, width,
		ROW - 1);
	write_name(name, width, x, y, svg->stream);
	fputs("</g>\n", svg->stream);
}

static void write_boxes(struct svg *svg)
{
	const struct flame *flame = svg->flame;

	svg->left[0] = MARGIN;
	for (uint32_t i = 0; i < flame->nodes.count; i++) {
		uint32_t parent = flame->nodes.items[i].parent;
		double width = svg->totals[i] > 0 ? (double)svg->totals[i] * svg->scale : 0;
		double x = svg->left[parent];

		// Where its caller has no room nothing is drawn.
		if (i && svg->left[parent] < 0)
			width = 0;
		if (i && width > 0)
			svg->left[parent] += width;
		svg->depth[i] = i ? svg->depth[parent] + 1 : 0;
		svg->left[i] = x;
		if (width < least_width || svg->depth[i] > DEPTH_MAX)
			svg->left[i] = -1;
		else
			write_box(svg, i, x, width);
	}
}

static uint32_t find_height(const struct svg *svg)
{
	const struct flame *flame = svg->flame;
	uint32_t deepest = 0;

	for (uint32_t i = 1; i < flame->nodes.count; i++) {
		svg->depth[i] = svg->depth[flame->nodes.items[i].parent] + 1;
		if ((double)svg->totals[i] * svg->scale >= least_width && svg->depth[i] > deepest &&
		    svg->depth[i] <= DEPTH_MAX)
			deepest = svg->depth[i];
	}
	return HEAD + (deepest + 1) * ROW + MARGIN;
}

static void write_head(const struct svg *svg, const char *title, uint32_t height)
{
	static const char style[] =
		"text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#111}"
		".h{font-size:14px}rect{stroke:#fff;stroke-width:.4}.b{fill:#fff;stroke:none}"
		".n .s0{fill:#f4a259}.n .s1{fill:#f2b36d}.n .s2{fill:#ee9a4d}.n .s3{fill:#f6b97e}"
		".k .s0{fill:#e76f6f}.k .s1{fill:#ea8080}.k .s2{fill:#e25f5f}.k .s3{fill:#ed8f8f}"
		".s .s0{fill:#8cb369}.s .s1{fill:#9cc07b}.s .s2{fill:#7ea75a}.s .s3{fill:#a8c98b}"
		".i .s0{fill:#f4d06f}.i .s1{fill:#f6d884}.i .s2{fill:#efc95c}.i .s3{fill:#f8df9a}"
		".g rect{fill:#c9d1d9}";
	const struct flame *flame = svg->flame;

	fprintf(svg->stream,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\"><style>%s</style>\n<rect class=\"b\" width=\"%d\" "
		"height=\"%u\"/>\n<text class=\"h\" x=\"%d\" y=\"22\">",
		WIDTH, height, WIDTH, height, style, WIDTH, height, MARGIN);
	write_text(svg->stream, title, strlen(title));
	fprintf(svg->stream, "</text>\n<text x=\"%d\" y=\"38\">", MARGIN);
	write_value(flame, svg->totals[0], svg->stream);
	fputs("</text>\n", svg->stream);
}

struct profcol_error *flame_write_svg(struct flame *flame, const char *title, FILE *stream)
{
	CLEANUP_FREE int64_t *totals = flame_totals(flame, FLAME_NOW);
	CLEANUP_FREE double *left = calloc(flame->nodes.count, sizeof(*left));
	CLEANUP_FREE uint32_t *depth = calloc(flame->nodes.count, sizeof(*depth));
	struct svg svg = {
		.flame = flame,
		.stream = stream,
		.totals = totals,
		.left = left,
		.depth = depth,
	};

	if (!totals || !left || !depth)
		return profcol_error_errno(ENOMEM, "draw a picture");
	if (totals[0] > 0)
		svg.scale = (WIDTH - 2.0 * MARGIN) / (double)totals[0];
	write_head(&svg, title, find_height(&svg));
	if (totals[0] > 0)
		write_boxes(&svg);
	fputs("</svg>\n", stream);
	return NULL;
}
