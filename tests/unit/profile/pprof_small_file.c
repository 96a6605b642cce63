// SPDX-License-Identifier: Apache-2.0
#include "pprof_small_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void file_tables(struct small_file *file)
{
	file->mapping = (Perftools__Mapping)PERFTOOLS__MAPPING__INIT;
	file->mapping.id = 900;
	file->mapping.memory_limit = 4096;
	file->mapping.filename = S_BIN;
	file->mapping.build_id = S_ID;
	file->mapping_list[0] = file->mapping_list[1] = &file->mapping;
	file->function = (Perftools__Function)PERFTOOLS__FUNCTION__INIT;
	file->function.id = 1ull << 63;
	file->function.name = S_MAIN;
	file->function_list[0] = file->function_list[1] = &file->function;
	file->line = (Perftools__Line)PERFTOOLS__LINE__INIT;
	file->line.function_id = file->function.id;
	file->line.line = 12;
	file->line.column = 3;
	file->line_list[0] = &file->line;
	file->location = (Perftools__Location)PERFTOOLS__LOCATION__INIT;
	file->location.id = 5;
	file->location.mapping_id = 900;
	file->location.address = 100;
	file->location.n_line = 1;
	file->location.line = file->line_list;
	file->location.is_folded = true;
	file->location_list[0] = file->location_list[1] = &file->location;
}

static void file_samples(struct small_file *file)
{
	for (int i = 0; i < 2; i++) {
		file->types[i] = (Perftools__ValueType)PERFTOOLS__VALUE_TYPE__INIT;
		file->type_list[i] = &file->types[i];
	}
	file->types[0].type = S_SAMPLES;
	file->types[0].unit = S_COUNT;
	file->types[1].type = S_CPU;
	file->types[1].unit = S_NS;
	file->period_type = file->types[1];
	for (int i = 0; i < 4; i++) {
		file->labels[i] = (Perftools__Label)PERFTOOLS__LABEL__INIT;
		file->labels[i].key = S_KEY;
		file->label_list[i] = &file->labels[i];
	}
	file->labels[0].str = S_VALUE;
	file->sample = (Perftools__Sample)PERFTOOLS__SAMPLE__INIT;
	file->location_ids[0] = file->location_ids[1] = 5;
	file->sample.n_location_id = 2;
	file->sample.location_id = file->location_ids;
	file->values[0] = 3;
	file->values[1] = 30;
	file->sample.n_value = 2;
	file->sample.value = file->values;
	file->sample.n_label = 1;
	file->sample.label = file->label_list;
	file->sample_list[0] = file->sample_list[1] = &file->sample;
}

void small_file_init(struct small_file *file)
{
	static const ProtobufCBinaryData strings[] = {
		BYTES(""),       BYTES("samples"),     BYTES("count"),
		BYTES("cpu"),    BYTES("nanoseconds"), BYTES("main"),
		BYTES("/bin/x"), BYTES("key"),         BYTES("value"),
		BYTES("bytes"),  BYTES("abcd"),
	};

	*file = (struct small_file){ .profile = PERFTOOLS__PROFILE__INIT };
	memcpy(file->strings, strings, sizeof(strings));
	file_tables(file);
	file_samples(file);
	file->comments[0] = S_MAIN;
	file->comments[1] = S_BIN;
	file->profile.n_sample_type = 2;
	file->profile.sample_type = file->type_list;
	file->profile.n_sample = 1;
	file->profile.sample = file->sample_list;
	file->profile.n_mapping = file->profile.n_function = file->profile.n_location = 1;
	file->profile.mapping = file->mapping_list;
	file->profile.function = file->function_list;
	file->profile.location = file->location_list;
	file->profile.n_string_table = sizeof(strings) / sizeof(strings[0]);
	file->profile.string_table = file->strings;
	file->profile.drop_frames = S_KEY;
	file->profile.keep_frames = S_VALUE;
	file->profile.doc_url = S_BYTES;
	file->profile.time_nanos = 1700000000000000000;
	file->profile.duration_nanos = 1000;
	file->profile.period_type = &file->period_type;
	file->profile.period = 10;
	file->profile.n_comment = 2;
	file->profile.comment = file->comments;
	file->profile.default_sample_type = S_SAMPLES;
}

uint8_t *small_file_pack(const struct small_file *file, size_t *length_ret)
{
	uint8_t *bytes = malloc(perftools__profile__get_packed_size(&file->profile) + 1);

	if (!bytes)
		abort();
	*length_ret = perftools__profile__pack(&file->profile, bytes);
	return bytes;
}
