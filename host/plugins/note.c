// SPDX-License-Identifier: Apache-2.0
#include "note.h"

#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __x86_64__
enum { OUR_MACHINE = EM_X86_64 };
#else
enum { OUR_MACHINE = EM_AARCH64 };
#endif

enum {
	SEGMENTS_MAX = 256,
	NOTES_MAX_BYTES = 64 << 10, /* of a segment; a build id and its kin take some hundred */
	DYNAMIC_MAX = 4096,         /* entries; some twenty are usual */
	/* Up to diagnose, descriptors were there before there were plugins. */
	COMPONENT_SIZE_MIN = offsetof(struct profcol_component, diagnose),
	HOST_SIZE_MIN = offsetof(struct profcol_host, view),
};

/* ---- reading ---- */

static struct profcol_error *cut_short(void)
{
	return profcol_error_create(PROFCOL_UNSUPPORTED, "it is no shared object, or cut short");
}

static struct profcol_error *read_at(int fd, uint64_t offset, void *to, size_t size)
{
	char *bytes = to;

	for (size_t done = 0; done < size;) {
		ssize_t length = offset > INT64_MAX - size
					 ? 0
					 : pread(fd, bytes + done, size - done, offset + done);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return profcol_error_errno(errno, "cannot read it");
		if (length == 0)
			return cut_short();
		done += length;
	}
	return NULL;
}

static struct profcol_error *check_header(const Elf64_Ehdr *header)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_type != ET_DYN || header->e_phentsize != sizeof(Elf64_Phdr))
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it is not a 64-bit shared object");
	if (header->e_machine != OUR_MACHINE)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it is for another machine: expected ELF machine %d, "
					    "found %u",
					    OUR_MACHINE, header->e_machine);
	if (header->e_phnum > SEGMENTS_MAX)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it has %u segments; %d are the most", header->e_phnum,
					    SEGMENTS_MAX);
	return NULL;
}

/* @length, a sum of 32-bit numbers, rounded up to a multiple of @align, a power of two. */
static uint64_t padded(uint64_t length, uint64_t align)
{
	return (length + align - 1) & ~(align - 1);
}

/* Look for our note among the @size bytes of notes at @bytes. */
static bool find_note(const uint8_t *bytes, size_t size, uint64_t align,
		      struct profcol_plugin_abi *ret)
{
	static const char name[] = "profcol";
	uint64_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name_at = at + sizeof(Elf64_Nhdr), description_at;
		Elf64_Nhdr note;

		memcpy(&note, bytes + at, sizeof(note));
		description_at = at + padded(sizeof(note) + note.n_namesz, align);
		if (description_at > size || note.n_descsz > size - description_at)
			return false;
		if (note.n_type == PROFCOL_PLUGIN_NOTE && note.n_namesz == sizeof(name) &&
		    memcmp(bytes + name_at, name, sizeof(name)) == 0) {
			// Of another ABI it may be of another size; the version comes first.
			memset(ret, 0, sizeof(*ret));
			memcpy(ret, bytes + description_at,
			       note.n_descsz < sizeof(*ret) ? note.n_descsz : sizeof(*ret));
			return true;
		}
		at = description_at + padded(note.n_descsz, align);
		if (at > size)
			return false;
	}
	return false;
}

/* What all segments together say. */
struct image {
	int fd;
	uint64_t size; /* of the file */
	bool has_note, has_stack;
	const char *run_path; /* the tag's name; NULL = none */
	struct profcol_plugin_abi abi;
};

static struct profcol_error *read_notes(struct image *image, const Elf64_Phdr *segment)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct profcol_error *error;

	if (segment->p_filesz > NOTES_MAX_BYTES)
		return NULL;
	bytes = malloc(segment->p_filesz + 1); // never of no bytes
	if (!bytes)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	error = read_at(image->fd, segment->p_offset, bytes, segment->p_filesz);
	if (!error)
		image->has_note = find_note(bytes, segment->p_filesz, segment->p_align == 8 ? 8 : 4,
					    &image->abi);
	return error;
}

static struct profcol_error *read_dynamic(struct image *image, const Elf64_Phdr *segment)
{
	size_t count = segment->p_filesz / sizeof(Elf64_Dyn);

	if (count > DYNAMIC_MAX)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "its dynamic section has %zu entries; %d are the most",
					    count, DYNAMIC_MAX);
	for (size_t i = 0; i < count; i++) {
		Elf64_Dyn entry = { 0 };
		struct profcol_error *error;

		error = read_at(image->fd, segment->p_offset + i * sizeof(entry), &entry,
				sizeof(entry));
		if (error || entry.d_tag == DT_NULL)
			return error;
		if (entry.d_tag == DT_RPATH)
			image->run_path = "DT_RPATH";
		else if (entry.d_tag == DT_RUNPATH)
			image->run_path = "DT_RUNPATH";
	}
	return NULL;
}

static struct profcol_error *read_segment(struct image *image, const Elf64_Phdr *segment)
{
	switch (segment->p_type) {
	case PT_LOAD:
		// What is mapped beyond the end of the file ends the program by a signal.
		if (segment->p_filesz <= image->size &&
		    segment->p_offset <= image->size - segment->p_filesz)
			return NULL;
		return cut_short();
	case PT_NOTE:
		return image->has_note ? NULL : read_notes(image, segment);
	case PT_DYNAMIC:
		return read_dynamic(image, segment);
	case PT_GNU_STACK:
		image->has_stack = !(segment->p_flags & PF_X);
		return NULL;
	default:
		return NULL;
	}
}

static struct profcol_error *check_image(const struct image *image)
{
	if (!image->has_note)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it is not a plugin of profcol's: it lacks the note "
					    "that PROFCOL_PLUGIN() of <profcol/plugin.h> writes");
	// A file that says nothing of stacks gets an executable one.
	if (!image->has_stack)
		return profcol_error_create(PROFCOL_REJECTED,
					    "it asks for an executable stack, which the whole "
					    "program would get; link it with -Wl,-z,noexecstack");
	if (image->run_path)
		return profcol_error_create(PROFCOL_REJECTED,
					    "it has a run path (%s), where libraries would be "
					    "found that nobody has checked; link it without -rpath",
					    image->run_path);
	return NULL;
}

struct profcol_error *note_read(int fd, struct profcol_plugin_abi *ret)
{
	struct image image = { .fd = fd };
	struct profcol_error *error;
	Elf64_Ehdr header = { 0 };
	struct stat status;

	if (fstat(fd, &status) != 0)
		return profcol_error_errno(errno, "cannot look at it");
	image.size = (uint64_t)status.st_size;
	error = read_at(fd, 0, &header, sizeof(header));
	if (!error)
		error = check_header(&header);
	for (size_t i = 0; !error && i < header.e_phnum; i++) {
		Elf64_Phdr segment = { 0 };

		error = read_at(fd, header.e_phoff + i * sizeof(segment), &segment,
				sizeof(segment));
		if (!error)
			error = read_segment(&image, &segment);
	}
	if (!error)
		error = check_image(&image);
	if (!error)
		*ret = image.abi;
	return error;
}

/* ---- checking ---- */

static struct profcol_error *unfit(const char *what, size_t expected, size_t found)
{
	return profcol_error_create(PROFCOL_UNSUPPORTED,
				    "it does not fit this program: %s: expected %zu, found %zu; "
				    "build it with the headers of this profcol",
				    what, expected, found);
}

static struct profcol_error *check_size(const char *what, size_t least, size_t most, size_t found)
{
	if (found > most)
		return unfit(what, most, found);
	return found < least ? unfit(what, least, found) : NULL;
}

struct profcol_error *note_check(const struct profcol_plugin_abi *abi, const char *build)
{
	struct profcol_error *error = NULL;

	if (abi->abi != PROFCOL_ABI)
		return unfit("ABI version", PROFCOL_ABI, abi->abi);
	if (abi->size != sizeof(struct profcol_plugin))
		error = unfit("size of struct profcol_plugin", sizeof(struct profcol_plugin),
			      abi->size);
	if (!error)
		error = check_size("size of struct profcol_component", COMPONENT_SIZE_MIN,
				   sizeof(struct profcol_component), abi->component_size);
	if (!error)
		error = check_size("size of struct profcol_host", HOST_SIZE_MIN,
				   sizeof(struct profcol_host), abi->host_size);
	if (!error && abi->option_size != sizeof(struct profcol_option))
		error = unfit("size of struct profcol_option", sizeof(struct profcol_option),
			      abi->option_size);
	if (!error && !memchr(abi->build, '\0', sizeof(abi->build)))
		error = profcol_error_create(PROFCOL_UNSUPPORTED, "its build id is not terminated");
	if (error || !abi->build[0] || strcmp(abi->build, build) == 0)
		return error;
	return profcol_error_create(PROFCOL_UNSUPPORTED,
				    "it was built together with another profcol: expected build "
				    "%s, found %s; install the plugins of this program",
				    build, abi->build);
}
