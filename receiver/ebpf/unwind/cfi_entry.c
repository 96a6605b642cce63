// SPDX-License-Identifier: Apache-2.0
#include "cfi_entry.h"

#include "encoding.h"

#include <string.h>

enum {
	LONG_LENGTH = UINT32_MAX,
	EH_CIE = 0, /* id of a CIE in .eh_frame */
	/* A CIE is read with each of its FDEs, whose file may have it be as long as itself. */
	AUGMENTATION_BYTES = 64,
};

/* One entry, framed: what follows its id. */
struct frame {
	struct reader body;
	size_t id_offset; /* of the id in the section */
	uint64_t id;
	bool is_long;
};

static struct encoding_bases bases_of(const struct cfi_section *section, uint64_t function)
{
	return (struct encoding_bases){
		.bytes = section->piece.bytes,
		.address = section->piece.address,
		.data = section->data,
		.function = function,
	};
}

/* False at the end. */
static bool frame_read(const struct cfi_section *section, size_t offset, struct frame *ret,
		       size_t *next_ret)
{
	struct reader reader;
	uint64_t length;
	const void *body;

	if (offset >= section->piece.length)
		return false;
	reader = reader_over(section->piece.bytes + offset, section->piece.length - offset);
	length = reader_u32(&reader);
	ret->is_long = length == LONG_LENGTH;
	if (ret->is_long)
		length = reader_u64(&reader);
	// An entry of length 0 ends .eh_frame.
	if (reader.failed || !length)
		return false;
	ret->id_offset = (size_t)(reader.at - section->piece.bytes);
	body = reader_bytes(&reader, length);
	if (!body)
		return false;
	*next_ret = (size_t)(reader.at - section->piece.bytes);
	ret->body = reader_over(body, length);
	// In .eh_frame the id is of 4 bytes whatever the length is.
	ret->id = ret->is_long && section->debug ? reader_u64(&ret->body) : reader_u32(&ret->body);
	return !ret->body.failed;
}

static bool frame_is_cie(const struct cfi_section *section, const struct frame *frame)
{
	if (!section->debug)
		return frame->id == EH_CIE;
	return frame->id == (frame->is_long ? UINT64_MAX : UINT32_MAX);
}

/* Where the CIE of an FDE is; the section's length when it is nowhere. */
static size_t frame_cie_offset(const struct cfi_section *section, const struct frame *frame)
{
	uint64_t offset = section->debug ? frame->id : frame->id_offset - frame->id;

	return offset < section->piece.length ? (size_t)offset : section->piece.length;
}

static void take_rest(struct reader *reader, struct cfi_program_bytes *ret)
{
	ret->bytes = reader->at;
	ret->length = reader_left(reader);
}

/* The letters after 'z', each with its data. False when one is unknown that we have to know. */
static bool cie_read_augmentation(const struct cfi_section *section, const char *letters,
				  struct reader *data, struct cfi_cie *cie)
{
	const struct encoding_bases bases = bases_of(section, 0);

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = reader_u8(data);
			break;
		case 'P': {
			uint8_t encoding = reader_u8(data) & (uint8_t)~ENCODING_INDIRECT;

			// Of no interest to us, but for its length.
			encoding_read_pointer(data, encoding & ENCODING_FORMAT, &bases);
			break;
		}
		case 'L':
			reader_u8(data);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': // arm64: return addresses are signed with the B key; they are stripped
			  // all the same
		case 'G':
			break;
		default:
			// Its data may stand before that of letters we need: 'R' comes first in
			// what compilers write.
			return !data->failed;
		}
	}
	return !data->failed;
}

/* The letters, or NULL when they do not end soon. */
static const char *read_augmentation(struct reader *body)
{
	size_t left = reader_left(body);
	struct reader start =
		reader_over(body->at, left < AUGMENTATION_BYTES ? left : AUGMENTATION_BYTES);
	const char *letters = reader_cstring(&start);

	if (letters)
		reader_bytes(body, strlen(letters) + 1);
	return letters;
}

static bool cie_read(const struct cfi_section *section, size_t offset, struct cfi_cie *ret)
{
	struct frame frame;
	struct reader data;
	const char *letters;
	uint8_t version;
	size_t next;

	*ret = (struct cfi_cie){ .pointer_encoding = ENCODING_ABSPTR };
	if (!frame_read(section, offset, &frame, &next) || !frame_is_cie(section, &frame))
		return false;
	version = reader_u8(&frame.body);
	letters = read_augmentation(&frame.body);
	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		uint8_t address_bytes = reader_u8(&frame.body);
		uint8_t segment_bytes = reader_u8(&frame.body);

		if (address_bytes != sizeof(uint64_t) || segment_bytes)
			return false;
	}
	// GCC 2's "eh" has a pointer here.
	if (!strncmp(letters, "eh", 2)) {
		reader_u64(&frame.body);
		letters += 2;
	}
	ret->code_alignment = encoding_read_uleb128(&frame.body);
	ret->data_alignment = encoding_read_sleb128(&frame.body);
	ret->return_register =
		version == 1 ? reader_u8(&frame.body) : encoding_read_uleb128(&frame.body);
	if (*letters == 'z') {
		uint64_t length = encoding_read_uleb128(&frame.body);
		const void *bytes = reader_bytes(&frame.body, length);

		if (!bytes)
			return false;
		data = reader_over(bytes, length);
		ret->augmented = true;
		if (!cie_read_augmentation(section, letters + 1, &data, ret))
			return false;
	} else if (*letters) {
		return false; // without a length nobody can skip it
	}
	take_rest(&frame.body, &ret->program);
	return !frame.body.failed;
}

static bool fde_read(const struct cfi_section *section, struct frame *frame, struct cfi_fde *ret)
{
	const struct encoding_bases bases = bases_of(section, 0);
	uint8_t encoding;
	uint64_t length;

	if (!cie_read(section, frame_cie_offset(section, frame), &ret->cie))
		return false;
	encoding = ret->cie.pointer_encoding;
	ret->start = encoding_read_pointer(&frame->body, encoding, &bases);
	// The length has the format of the start, and is relative to nothing.
	length = encoding_read_pointer(&frame->body, encoding & ENCODING_FORMAT, &bases);
	if (ret->cie.augmented)
		reader_bytes(&frame->body, encoding_read_uleb128(&frame->body));
	if (frame->body.failed || !length || length > UINT64_MAX - ret->start)
		return false;
	ret->limit = ret->start + length;
	take_rest(&frame->body, &ret->program);
	return true;
}

enum cfi_entry cfi_entry_read(const struct cfi_section *section, size_t offset, struct cfi_fde *ret,
			      size_t *next_ret)
{
	struct frame frame;

	if (!frame_read(section, offset, &frame, next_ret))
		return CFI_ENTRY_END;
	if (frame_is_cie(section, &frame) || !fde_read(section, &frame, ret))
		return CFI_ENTRY_OTHER;
	return CFI_ENTRY_FDE;
}
