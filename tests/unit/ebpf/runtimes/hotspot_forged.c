// SPDX-License-Identifier: Apache-2.0
#include "hotspot_forged.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_BYTES = 16,
	CONST_BYTES = 48,
	POOL_BYTES = 72,
	POOL_ENTRIES = 64,
	PLACE_BYTES = 16,
	HAS_LINES = 1,
	LAST_PLACE = 0x7fffff00, /* behind all code */
};

/* Offsets: mostly those of JDK 17. */
static const uint16_t offsets[HOTSPOT_WORDS] = {
	[HOTSPOT_BLOB_NAME] = 96,           [HOTSPOT_BLOB_CODE] = 32,
	[HOTSPOT_BLOB_COMPLETE] = 20,       [HOTSPOT_BLOB_FRAME_WORDS] = 28,
	[HOTSPOT_METHOD_CONST] = 8,         [HOTSPOT_CONST_POOL] = 8,
	[HOTSPOT_CONST_FLAGS] = 28,         [HOTSPOT_CONST_CODE_BYTES] = 32,
	[HOTSPOT_CONST_NAME] = 34,          [HOTSPOT_CONST_SIGNATURE] = 36,
	[HOTSPOT_POOL_HOLDER] = 24,         [HOTSPOT_POOL_LENGTH] = 60,
	[HOTSPOT_POOL_SOURCE] = 54,         [HOTSPOT_KLASS_SOURCE] = 300,
	[HOTSPOT_KLASS_NAME] = 24,          [HOTSPOT_SYMBOL_LENGTH] = 4,
	[HOTSPOT_SYMBOL_BODY] = 6,          [HOTSPOT_BLOB_BYTES] = 12,
	[HOTSPOT_NMETHOD_METHOD] = 112,     [HOTSPOT_NMETHOD_ID] = 304,
	[HOTSPOT_NMETHOD_ORIGINAL] = 300,   [HOTSPOT_NMETHOD_DEOPT] = 128,
	[HOTSPOT_NMETHOD_DEOPT_MH] = 136,   [HOTSPOT_NMETHOD_PCS] = 268,
	[HOTSPOT_NMETHOD_PCS_LIMIT] = 272,  [HOTSPOT_NMETHOD_SCOPES] = 120,
	[HOTSPOT_NMETHOD_METADATA] = 260,   [HOTSPOT_NMETHOD_DATA] = 160,
	[HOTSPOT_NMETHOD_DATA_BYTES] = 168, [HOTSPOT_BLOB_DATA] = 24,
	[HOTSPOT_BLOB_MUTABLE] = 144,       [HOTSPOT_BLOB_MUTABLE_BYTES] = 152,
	[HOTSPOT_BLOB_RELOCATIONS] = 156,
};

static bool read_forged(void *context, uint64_t address, void *to, size_t bytes)
{
	struct forged *forged = context;

	forged->reads++;
	forged->read_bytes += bytes;
	if (forged->before)
		forged->before(forged, forged->reads);
	if (forged->reads > forged->most_reads || address < forged->start || bytes > forged->used ||
	    address - forged->start > forged->used - bytes)
		return false;
	memcpy(to, forged->bytes + (address - forged->start), bytes);
	return true;
}

static void renew_forged(void *context)
{
	struct forged *forged = context;

	forged->renewed++;
}

struct runtime_memory forged_memory(struct forged *forged)
{
	return (struct runtime_memory){ read_forged, renew_forged, forged, forged->number };
}

static struct hotspot_layout *layout_of(struct forged *forged)
{
	return (void *)forged->process.layout;
}

static struct hotspot_offsets *offsets_of(struct forged *forged)
{
	return (void *)forged->process.data;
}

void forged_init(struct forged *forged, enum hotspot_form form, uint16_t version)
{
	struct hotspot_layout *layout = layout_of(forged);
	struct hotspot_offsets *told = offsets_of(forged);

	// The rest of its bytes is 0 still.
	memset(forged->bytes, 0, forged->used);
	memset(forged, 0, offsetof(struct forged, bytes));
	forged->start = 0x7f5500001000;
	forged->most_reads = SIZE_MAX;
	*layout = (struct hotspot_layout){
		.block_bytes = BLOCK_BYTES,
		.code_bytes = 8,
		.complete_bytes = 4,
		.form = (uint8_t)form,
		.const_bytes = CONST_BYTES,
		.pool_bytes = POOL_BYTES,
		.place_bytes = PLACE_BYTES,
	};
	// Up to JDK 14 the class has the number of its file's name.
	layout->words[version < 15 ? HOTSPOT_KLASS_SOURCE : HOTSPOT_POOL_SOURCE] = 8;
	memcpy(told->of, offsets, sizeof(offsets));
	told->version = version;
	told->told = (struct hotspot_data){
		.compile_id = BLOCK_BYTES + offsets[HOTSPOT_NMETHOD_ID],
		.const_identity = offsets[HOTSPOT_CONST_CODE_BYTES],
		.pool_version = offsets[HOTSPOT_POOL_LENGTH],
		.klass_name = offsets[HOTSPOT_KLASS_NAME],
	};
	forged->process.data_bytes = sizeof(*told);
}

uint64_t forged_room(struct forged *forged, size_t bytes)
{
	size_t at = forged->used;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > FORGED_BYTES - at)
		abort();
	forged->used += bytes;
	return forged->start + at;
}

static uint8_t *forged_at(struct forged *forged, uint64_t address)
{
	if (address < forged->start || address - forged->start >= forged->used)
		abort();
	return forged->bytes + (address - forged->start);
}

void forged_put(struct forged *forged, uint64_t address, uint64_t word, size_t bytes)
{
	memcpy(forged_at(forged, address), &word, bytes);
}

uint64_t forged_field(const struct forged *forged, uint64_t address, enum hotspot_word word)
{
	(void)forged;
	return address + offsets[word];
}

static void put_field(struct forged *forged, uint64_t address, enum hotspot_word word,
		      uint64_t value, size_t bytes)
{
	forged_put(forged, forged_field(forged, address, word), value, bytes);
}

/* ---- packed numbers ---- */

struct packed {
	size_t count;
	uint8_t bytes[4096];
};

/* As HotSpot packs it: from JDK 20 on without bytes of 0. */
static void pack(struct packed *to, uint32_t number, uint16_t version)
{
	const uint32_t least = version >= 20, limit = 192 - least;

	for (int i = 0; i < 5; i++) {
		if (number < limit || i == 4) {
			to->bytes[to->count++] = (uint8_t)(number + least);
			return;
		}
		number -= limit;
		to->bytes[to->count++] = (uint8_t)(192 + number % 64);
		number /= 64;
	}
}

static void pack_signed(struct packed *to, int32_t number, uint16_t version)
{
	pack(to, (uint32_t)number << 1 ^ (uint32_t)(number >> 31), version);
}

static void pack_rows(struct packed *to, const struct forged_row *rows, size_t count,
		      uint16_t version)
{
	struct forged_row last = { 0 };

	for (size_t i = 0; i < count; i++) {
		int32_t bci = rows[i].bci - last.bci, line = rows[i].line - last.line;

		if (bci >= 0 && bci < 31 && line >= 0 && line < 8 && (bci || line)) {
			to->bytes[to->count++] = (uint8_t)(bci << 3 | line);
		} else {
			to->bytes[to->count++] = 0xff;
			pack_signed(to, bci, version);
			pack_signed(to, line, version);
		}
		last = rows[i];
	}
	to->bytes[to->count++] = 0;
}

/* ---- classes and methods ---- */

uint64_t forged_symbol(struct forged *forged, const void *bytes, size_t length)
{
	uint64_t symbol = forged_room(forged, offsets[HOTSPOT_SYMBOL_BODY] + length + 1);

	put_field(forged, symbol, HOTSPOT_SYMBOL_LENGTH, length, 2);
	if (length)
		memcpy(forged_at(forged, symbol + offsets[HOTSPOT_SYMBOL_BODY]), bytes, length);
	return symbol;
}

/* The number of a new entry of the pool. */
static uint32_t add_entry(struct forged *forged, struct forged_class *of, const char *text)
{
	uint64_t symbol = forged_symbol(forged, text, strlen(text));

	if (of->entries == POOL_ENTRIES)
		abort();
	forged_put(forged, of->pool + POOL_BYTES + 8ull * of->entries, symbol, 8);
	put_field(forged, of->pool, HOTSPOT_POOL_LENGTH, of->entries + 1, 4);
	return of->entries++;
}

struct forged_class forged_class(struct forged *forged, const char *name, const char *file)
{
	struct forged_class made = {
		.klass = forged_room(forged, 512),
		.pool = forged_room(forged, POOL_BYTES + 8 * POOL_ENTRIES),
		.entries = 1,
	};

	put_field(forged, made.klass, HOTSPOT_KLASS_NAME, forged_symbol(forged, name, strlen(name)),
		  8);
	put_field(forged, made.pool, HOTSPOT_POOL_HOLDER, made.klass, 8);
	put_field(forged, made.pool, HOTSPOT_POOL_LENGTH, 1, 4);
	if (!file)
		return made;
	if (layout_of(forged)->words[HOTSPOT_POOL_SOURCE])
		put_field(forged, made.pool, HOTSPOT_POOL_SOURCE, add_entry(forged, &made, file),
			  2);
	else
		put_field(forged, made.klass, HOTSPOT_KLASS_SOURCE, add_entry(forged, &made, file),
			  2);
	return made;
}

uint64_t forged_method(struct forged *forged, struct forged_class *of, const char *name,
		       const char *signature, uint16_t code_bytes, const struct forged_row *rows,
		       size_t row_count)
{
	struct packed packed = { 0 };
	uint64_t method = forged_room(forged, 96), constant;

	pack_rows(&packed, rows, row_count, offsets_of(forged)->version);
	constant = forged_room(forged, CONST_BYTES + code_bytes + packed.count);
	put_field(forged, method, HOTSPOT_METHOD_CONST, constant, 8);
	put_field(forged, constant, HOTSPOT_CONST_POOL, of->pool, 8);
	put_field(forged, constant, HOTSPOT_CONST_FLAGS, row_count ? HAS_LINES : 0, 2);
	put_field(forged, constant, HOTSPOT_CONST_CODE_BYTES, code_bytes, 2);
	put_field(forged, constant, HOTSPOT_CONST_NAME, add_entry(forged, of, name), 2);
	put_field(forged, constant, HOTSPOT_CONST_SIGNATURE, add_entry(forged, of, signature), 2);
	memcpy(forged_at(forged, constant + CONST_BYTES) + code_bytes, packed.bytes, packed.count);
	return method;
}

/* ---- code ---- */

/* The scopes, packed, and where each of them is. */
static void pack_scopes(struct packed *to, const struct forged_code *code, uint16_t version,
			uint32_t *at)
{
	// At 0 there is none.
	pack(to, 0, version);
	for (size_t i = 0; i < code->scope_count; i++) {
		const struct forged_scope *scope = &code->scopes[i];

		at[i + 1] = (uint32_t)to->count;
		pack(to, at[scope->sender], version);
		pack(to, scope->method, version);
		pack(to, (uint32_t)(scope->bci + 1), version);
	}
}

static uint64_t put_bytes(struct forged *forged, const void *bytes, size_t count)
{
	uint64_t at = forged_room(forged, count + 1);

	if (count)
		memcpy(forged_at(forged, at), bytes, count);
	return at;
}

/* Rows of numbers that lie before and behind those of the code. */
static uint64_t put_places(struct forged *forged, const struct forged_code *code,
			   const uint32_t *scopes)
{
	size_t count = code->place_count + 2;
	uint64_t at = forged_room(forged, count * PLACE_BYTES);

	forged_put(forged, at, UINT32_MAX, 4);
	for (size_t i = 0; i < code->place_count; i++) {
		uint64_t place = at + (i + 1) * PLACE_BYTES;

		forged_put(forged, place, (uint32_t)code->places[i].offset, 4);
		forged_put(forged, place + 4, scopes[code->places[i].scope], 4);
	}
	forged_put(forged, at + (count - 1) * PLACE_BYTES, LAST_PLACE, 4);
	return at;
}

static void put_tables(struct forged *forged, uint64_t blob, uint64_t metadata, uint64_t scopes,
		       uint64_t places, uint64_t limit)
{
	enum hotspot_form form = layout_of(forged)->form;

	if (form == HOTSPOT_OFFSETS_8 || form == HOTSPOT_POINTED) {
		put_field(forged, blob, HOTSPOT_NMETHOD_METADATA, metadata - blob, 4);
		put_field(forged, blob, HOTSPOT_NMETHOD_SCOPES,
			  form == HOTSPOT_POINTED ? scopes : scopes - blob,
			  form == HOTSPOT_POINTED ? 8 : 4);
		put_field(forged, blob, HOTSPOT_NMETHOD_PCS, places - blob, 4);
		put_field(forged, blob, HOTSPOT_NMETHOD_PCS_LIMIT, limit - blob, 4);
		return;
	}
	// There the scopes come last, and others first.
	put_field(forged, blob, HOTSPOT_NMETHOD_DATA, places - 32, 8);
	put_field(forged, blob, HOTSPOT_NMETHOD_PCS, 32, 4);
	put_field(forged, blob, HOTSPOT_NMETHOD_SCOPES, scopes - (places - 32), 4);
	put_field(forged, blob, HOTSPOT_NMETHOD_DATA_BYTES, limit - (places - 32), 4);
	if (form == HOTSPOT_SPLIT) {
		put_field(forged, blob, HOTSPOT_BLOB_DATA, 64, 4);
		put_field(forged, blob, HOTSPOT_NMETHOD_METADATA, metadata - blob - 64, 2);
		put_field(forged, blob, HOTSPOT_BLOB_BYTES, places - 32 - blob, 4);
		return;
	}
	put_field(forged, blob, HOTSPOT_BLOB_MUTABLE, metadata - 16, 8);
	put_field(forged, blob, HOTSPOT_BLOB_RELOCATIONS, 16, 4);
	put_field(forged, blob, HOTSPOT_BLOB_MUTABLE_BYTES, places - 32 - (metadata - 16), 4);
}

uint64_t forged_block(struct forged *forged, const struct forged_code *code)
{
	const char *name = code->name ? code->name : "nmethod";
	uint64_t text = put_bytes(forged, name, strlen(name));
	uint64_t block = forged_room(forged, FORGED_CODE_AT + FORGED_CODE_BYTES);
	uint64_t blob = block + BLOCK_BYTES, metadata, scopes, places;
	enum hotspot_form form = layout_of(forged)->form;
	struct packed packed = { 0 };
	uint32_t at[64] = { 0 };

	pack_scopes(&packed, code, offsets_of(forged)->version, at);
	metadata = put_bytes(forged, code->metadata, code->metadata_count * sizeof(uint64_t));
	if (form == HOTSPOT_SPLIT || form == HOTSPOT_MUTABLE) {
		forged_room(forged, 32);
		places = put_places(forged, code, at);
		scopes = put_bytes(forged, packed.bytes, packed.count);
	} else {
		scopes = put_bytes(forged, packed.bytes, packed.count);
		places = put_places(forged, code, at);
	}
	put_field(forged, blob, HOTSPOT_BLOB_NAME, text, 8);
	put_field(forged, blob, HOTSPOT_BLOB_CODE, block + FORGED_CODE_AT, 8);
	put_field(forged, blob, HOTSPOT_BLOB_COMPLETE, FORGED_COMPLETE, 4);
	put_field(forged, blob, HOTSPOT_BLOB_BYTES, FORGED_CODE_AT + FORGED_CODE_BYTES, 4);
	put_field(forged, blob, HOTSPOT_NMETHOD_METHOD, code->method, 8);
	put_field(forged, blob, HOTSPOT_NMETHOD_ID, code->id, 4);
	put_tables(forged, blob, metadata, scopes, places, forged->start + forged->used);
	return block;
}

/* ---- frames ---- */

static uint64_t read_word(struct forged *forged, uint64_t address)
{
	uint64_t word;

	memcpy(&word, forged_at(forged, address), sizeof(word));
	return word;
}

struct runtime_frame forged_interpreted(struct forged *forged, uint64_t method, uint32_t bci)
{
	uint64_t constant = read_word(forged, forged_field(forged, method, HOTSPOT_METHOD_CONST));
	uint64_t pool = read_word(forged, forged_field(forged, constant, HOTSPOT_CONST_POOL));
	uint64_t klass = read_word(forged, forged_field(forged, pool, HOTSPOT_POOL_HOLDER));

	const struct hotspot_identity identity = {
		.const_method = constant,
		.pool = pool,
		.class_name = read_word(forged, forged_field(forged, klass, HOTSPOT_KLASS_NAME)),
		.numbers =
			read_word(forged, forged_field(forged, constant, HOTSPOT_CONST_CODE_BYTES)),
		.version = read_word(forged, forged_field(forged, pool, HOTSPOT_POOL_LENGTH)),
	};

	return (struct runtime_frame){
		.object = method,
		.position = (uint32_t)(constant + CONST_BYTES + bci),
		.check = hotspot_mix_method(&identity),
		.kind = HOTSPOT_INTERPRETS,
	};
}

struct runtime_frame forged_called(struct forged *forged, uint64_t block, uint32_t offset)
{
	return (struct runtime_frame){
		.object = block,
		.position = FORGED_CODE_AT + offset,
		.check = (uint32_t)read_word(
			forged, forged_field(forged, block + BLOCK_BYTES, HOTSPOT_NMETHOD_ID)),
		.kind = HOTSPOT_CALLS,
	};
}

struct runtime_frame forged_leaf(struct forged *forged, uint64_t block, uint32_t offset)
{
	struct runtime_frame frame = forged_called(forged, block, offset);

	frame.kind = HOTSPOT_RUNS;
	return frame;
}
