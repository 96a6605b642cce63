/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be done with whole batches, beyond reading and building one
 * (include/profcol/batch.h): merge, split, compact, compare; and the wire
 * formats. The only header of lib/profile that other folders include.
 *
 * All functions borrow the batches they are given and are pure: any thread.
 */
#pragma once

#include <profcol/batch.h>

#include <stdio.h>

struct otlp_encode_options;

/* ---- whole batches (merge.c, split.c, compact.c, select.c) ---- */

/*
 * One batch with the contents of @batches in order. Dictionaries are re-indexed;
 * equal resources become one, and equal scopes inside them; profiles stay apart,
 * each with its own window.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_merge(struct profcol_batch *const *batches,
						       size_t count, struct profcol_batch **ret);

/*
 * Cut the front off @batch: *@head_ret is compact and at most @max_bytes in OTLP
 * encoding with @options (NULL: the defaults), *@tail_ret the rest, or NULL when all fitted. Cuts
 * between samples, and inside a sample's observations when one sample alone is too large. A head
 * always holds at least one observation, so a bound smaller than that is exceeded rather than
 * looped on. Shares tables with @batch where it can.
 */
PROFCOL_MUST_CHECK struct profcol_error *
profile_split(const struct profcol_batch *batch, const struct otlp_encode_options *options,
	      size_t max_bytes, struct profcol_batch **head_ret, struct profcol_batch **tail_ret);

/* The same contents without unreferenced dictionary entries, text included. */
PROFCOL_MUST_CHECK struct profcol_error *profile_compact(const struct profcol_batch *batch,
							 struct profcol_batch **ret);

/* What is kept of a batch: a byte for each row of profiles and of samples, 0 = it goes. */
struct profile_kept {
	const uint8_t *profiles;
	const uint8_t *samples; /* of a profile that goes, without effect */
};

/*
 * What is kept of @batch, compact: of the rest, not even text is left. Scopes without profiles
 * and resources without scopes go too, those that were empty before included; profiles stay that
 * have no samples. A profile that loses samples loses its original payload, which has them all.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_select(const struct profcol_batch *batch,
							const struct profile_kept *kept,
							struct profcol_batch **ret);

/*
 * As profile_compact(), and several times as fast, for a batch in which no two entries of a table
 * are equal; the order of the entries stays.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_drop_unused(const struct profcol_batch *batch,
							     struct profcol_batch **ret);

/*
 * Lists of attributes have been taken from rows of the tree, and what they said is to leave no text
 * behind. That is done when the batch is written: the encoders leave out what no list needs, and
 * profile_tidy() is for whoever reads the dictionary as it is.
 */
void profile_mark_unused(struct profcol_builder *builder);

/* *@ret is a reference to @batch, or where that has something to be left out, what
 * profile_drop_unused() makes of it. */
PROFCOL_MUST_CHECK struct profcol_error *profile_tidy(struct profcol_batch *batch,
						      struct profcol_batch **ret);

/*
 * Rows of @builder, changed in place (rows.c). Ids in what is given are the builder's. Rows of the
 * dictionary may so become equal: compact the batch afterwards. A row that is not there makes the
 * seal fail.
 */
void profile_set_resource(struct profcol_builder *builder, uint32_t row,
			  const struct profcol_resource *resource);
void profile_set_scope(struct profcol_builder *builder, uint32_t row,
		       const struct profcol_scope *scope);
void profile_set_profile(struct profcol_builder *builder, uint32_t row,
			 const struct profcol_profile *profile);
/* The file name (string id) of @mapping; that of mapping 0 stays. */
void profile_set_mapping_filename(struct profcol_builder *builder, uint32_t mapping,
				  uint32_t filename);
/* The function (id) of line @index of @location. */
void profile_set_line_function(struct profcol_builder *builder, uint32_t location, uint32_t index,
			       uint32_t function);

/* Take the original payloads of all profiles away: of a batch that they no longer agree with. */
void profile_clear_payloads(struct profcol_builder *builder);

/* Do the values of the profile in row @profile count samples? */
bool profile_counts_samples(const struct profcol_batch *batch, uint32_t profile);

/* Events in one sample, of which profcol_batch_events() is the sum. */
uint64_t profile_sample_events(const struct profcol_sample *sample, bool counts_samples);

/* Bytes of memory that @batch keeps alive, shared tables counted in full. */
size_t profile_memory(const struct profcol_batch *batch);

/* The string id of what @location says in place of a function (PROFCOL_FRAME_LABEL); 0: it has one,
 * or says nothing. */
uint32_t profile_location_label(const struct profcol_batch *batch,
				const struct profcol_location *location);

/* The same of a builder: its rows, and the indexes by which it finds them. */
size_t profile_builder_memory(const struct profcol_builder *builder);

/* Could @builder add all that it was given so far? Once it could not, its seal fails. */
bool profile_builder_is_whole(const struct profcol_builder *builder);

/*
 * Carries entries of the dictionary of @from over into @to, with all that they refer to, each once.
 * For whoever keeps the tree in tables of his own. Both are borrowed until the destroy; one thread.
 */
struct profile_carrier;

struct profile_carrier *
profile_carrier_create(const struct profcol_batch *from,
		       struct profcol_builder *to);            /* NULL without memory */
void profile_carrier_destroy(struct profile_carrier *carrier); /* accepts NULL */

/* The id in `to` of row @id of @table, a table of the dictionary. What does not fit makes
 * profile_builder_is_whole() false. */
uint32_t profile_carry(struct profile_carrier *carrier, enum profcol_table table, uint32_t id);

/*
 * Canonical text of @batch for comparison and debugging: one line per
 * observation (resource, scope, profile, stack as text, attributes, link, value,
 * time), ids resolved, in the batch's order.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_print(const struct profcol_batch *batch,
						       FILE *stream);

/* ---- folded stacks (folded.c, folded_decode.c) ---- */

/*
 * Folded stacks, as flamegraph.pl and speedscope read them: a line for each distinct stack, frames
 * from the root on, the process in front, then how much was counted.
 *
 *   shop;main;serve;vfs_read_[k] 12
 *
 * Kernel frames end in "_[k]". A frame without a name is its file in brackets, "[libc.so.6]", or
 * "[unknown]". Where a batch counts several things, such as samples and nanoseconds, the first
 * frame of each line says what. In names ';' is written as ':' and what is no printable text as
 * '?'; the blank before a number at the end of a name as '_', or flamegraph.pl would take it for a
 * count. Lines are sorted. *@bytes_ret is the caller's to free().
 */
PROFCOL_MUST_CHECK struct profcol_error *folded_encode(const struct profcol_batch *batch,
						       uint8_t **bytes_ret, size_t *length_ret);

/*
 * Folded stacks, whoever wrote them, as a batch with one profile of samples/count; frames that end
 * in
 * "_[k]" are the kernel's. Input is hostile: BAD_DATA names the line.
 */
PROFCOL_MUST_CHECK struct profcol_error *folded_decode(const uint8_t *bytes, size_t length,
						       struct profcol_batch **ret);

/* ---- OTLP (otlp/): ExportProfilesServiceRequest, opentelemetry-proto 1.11 ---- */

/* Everywhere, NULL stands for the defaults: false. */
struct otlp_encode_options {
	/*
	 * Keys and string values of resource and scope attributes as indices in the string
	 * table (key_strindex, string_value_strindex), as Collectors from 0.164 on write them.
	 * Older ones do not resolve them. Strings inside arrays and lists of pairs stay inline.
	 */
	bool attribute_references;
};

/*
 * Encoded size in bytes, exact; without memory to number what is used, an upper bound.
 */
size_t otlp_encoded_size(const struct profcol_batch *batch,
			 const struct otlp_encode_options *options);

/* *@bytes_ret is the caller's to free(). REJECTED when it would pass 2^31 - 1 bytes. */
PROFCOL_MUST_CHECK struct profcol_error *otlp_encode(const struct profcol_batch *batch,
						     const struct otlp_encode_options *options,
						     uint8_t **bytes_ret, size_t *length_ret);

/*
 * Messages of type Profile in an encoded request. Looks at the lengths of messages only; of
 * bytes that are not Protocol Buffers counts what stands before the fault.
 */
uint64_t otlp_count_profiles(const uint8_t *bytes, size_t length);

/*
 * An encoded request as one line of OTLP/JSON, without a line break at its end: ids as hexadecimal
 * digits, 64-bit integers as strings, names in lowerCamelCase; fields that OTLP does not know are
 * left out. *@text_ret is the caller's to free() and ends with a NUL that *@length_ret does not
 * count. BAD_DATA for what is not Protocol Buffers.
 */
PROFCOL_MUST_CHECK struct profcol_error *otlp_to_json(const uint8_t *bytes, size_t length,
						      char **text_ret, size_t *length_ret);

struct memory_share;

/*
 * The other way round: OTLP/JSON as the same request on the wire. Names in lowerCamelCase; 64-bit
 * integers as strings or numbers; ids in hexadecimal digits or base64; unknown fields and nulls are
 * skipped. *@bytes_ret is the caller's to free(); its memory, mostly less than @length, is taken of
 * @share (NULL = no bound). BAD_DATA names the field; NO_MEMORY passes.
 */
PROFCOL_MUST_CHECK struct profcol_error *otlp_from_json(const char *text, size_t length,
							struct memory_share *share,
							uint8_t **bytes_ret, size_t *length_ret);

/*
 * Turn an OTLP service's answer in JSON into protobuf: an ExportProfilesServiceResponse, and the
 * google.rpc.Status of a failure without its details.
 * *@bytes_ret is the caller's to free(). As otlp_from_json() otherwise, without a bound but
 * @length.
 */
PROFCOL_MUST_CHECK struct profcol_error *
otlp_response_from_json(const char *text, size_t length, uint8_t **bytes_ret, size_t *length_ret);
PROFCOL_MUST_CHECK struct profcol_error *
otlp_status_from_json(const char *text, size_t length, uint8_t **bytes_ret, size_t *length_ret);

struct otlp_decode_limits {
	size_t max_memory; /* bytes, of the batch being built and what decoding needs beside it */
	/* The same bytes are taken from it as well, if not NULL: of a budget that others share. */
	struct memory_share *share;
};

/*
 * A request as a batch: whatever it says that a batch can hold. Input is hostile; every index,
 * length and count is checked. Inline strings and references are taken alike, packed and unpacked
 * numbers, fields in any order, a message in several pieces (they are merged); unknown
 * fields are skipped. What otlp_encode() wrote comes back as the same bytes when encoded
 * again. Takes linear time.
 *
 * BAD_DATA names the place and is said of:
 * - bytes that are not Protocol Buffers, or a field of another wire type than OTLP gives it;
 * - an index outside its table, also in entries that nothing refers to;
 * - a first entry of a table that is not empty, since 0 stands for "none" (a link of
 *   zeros is empty);
 * - a sample with neither timestamps nor a value, or with numbers of both that do not fit;
 * - trace, span and profile ids of a length other than 16, 8 and 16 bytes, or 0;
 * - an attribute with both a key and a key_strindex;
 * - values nested deeper than 64;
 * - more memory than the limit: a usual request takes some 8 times its length;
 * - requests numbered as in opentelemetry-proto 1.9 and before, whose samples say something else
 *   with the same fields (otlp/version.h has the criterion).
 *
 * Tolerated: all else, in particular timestamps outside of the profile's window, keys
 * that come twice, equal and unused entries of tables (equal ones become one), missing tables
 * that nothing refers to, a payload without a format, functions without a name, mappings
 * without a build id. Text that is not UTF-8 is repaired: each bad byte becomes '?'.
 *
 * NO_MEMORY, which passes, when the share's budget is used up.
 *
 * *@ret is written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *otlp_decode(const uint8_t *bytes, size_t length,
						     const struct otlp_decode_limits *limits,
						     struct profcol_batch **ret);

/* ---- pprof (pprof/): profile.proto of github.com/google/pprof ---- */

struct pprof_encode_options {
	int compression_level; /* gzip 1 to 9 (libdeflate's up to 12); 0 = not compressed */
	/* Say of all mappings that names were looked up. Else `go tool pprof` asks a server that a
	 * profile came from for the rest, and fails where the server has no more names. */
	bool names_are_final;
};

/*
 * All of @batch as one pprof file: a column per kind of sample (type and unit),
 * plus the usual cpu/nanoseconds column next to samples/count when the period
 * says what a sample is worth. Samples equal in stack and labels become one.
 * Labels: sample and resource attributes, `process.pid`, `thread.id` and
 * `thread.name` under the short names pid, tid and comm; links as trace_id
 * and span_id; PROFCOL_PROFILE_NAME as profile. Of profiles with that name that tell how things
 * stand only the newest of each resource is written. Timestamps have no place in pprof. Mappings,
 * locations and functions are written whole: compact first what was filtered.
 * *@bytes_ret is the caller's to free(). REJECTED past 256 kinds or 2^31 - 1 bytes.
 */
PROFCOL_MUST_CHECK struct profcol_error *pprof_encode(const struct profcol_batch *batch,
						      const struct pprof_encode_options *options,
						      uint8_t **bytes_ret, size_t *length_ret);

struct pprof_decode_limits {
	size_t max_bytes;  /* after decompression */
	size_t max_memory; /* of the decoded tree and the batch being built */
	/* What both take in bytes is taken from it as well, if not NULL: of a budget that others
	 * share. */
	struct memory_share *share;
};

/*
 * A pprof file, gzip or bare, as a batch with one resource and one profile per
 * sample type. Input is hostile: BAD_DATA says what is wrong with it. NO_MEMORY, which passes,
 * when the share's budget is used up.
 */
PROFCOL_MUST_CHECK struct profcol_error *pprof_decode(const uint8_t *bytes, size_t length,
						      const struct pprof_decode_limits *limits,
						      struct profcol_batch **ret);
