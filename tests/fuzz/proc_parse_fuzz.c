// SPDX-License-Identifier: Apache-2.0
/*
 * What processes can put into /proc and into side-band records. The first byte says
 * which parser the rest goes to; records are also taken in by the table, which must
 * keep within its budget and answer whatever it was told.
 */
#include "perf/cpu_list.h"
#include "processes/learn.h"
#include "processes/ring.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static char *copy_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void fuzz_maps(const uint8_t *data, size_t size)
{
	char *text = copy_text(data, size), *at = text;
	struct proc_mapping mapping;

	while (proc_maps_next(&at, text + size, &mapping)) {
		check(mapping.start < mapping.limit);
		check(strlen(mapping.path) <= mapping.path_length);
		check(proc_path_length(mapping.path, mapping.path_length) <= mapping.path_length);
	}
	free(text);
}

static void fuzz_stat(const uint8_t *data, size_t size)
{
	struct proc_stat stat;

	if (proc_stat_parse((const char *)data, size, &stat))
		check(memchr(stat.comm, '\0', sizeof(stat.comm)) != NULL);
}

static void fuzz_cgroup(const uint8_t *data, size_t size)
{
	char id[CONTAINER_ID_SIZE];
	bool found = container_id_parse((const char *)data, size, id);

	check(memchr(id, '\0', sizeof(id)) != NULL);
	check(found == (id[0] != '\0'));
}

static void fuzz_environment(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "REGION", "A" };
	static const struct profcol_list variables = { .items = names, .count = 2 };
	struct environment_attributes attributes;
	struct process_attributes rest;
	const char *key, *value;

	environment_parse((const char *)data, size, &variables, &attributes);
	check(attributes.length <= sizeof(attributes.bytes));
	rest = (struct process_attributes){ attributes.bytes, attributes.length };
	while (process_attributes_next(&rest, &key, &value)) {
		check(strings_is_utf8(key, strlen(key)) && strings_is_utf8(value, strlen(value)));
		check(strlen(value) <= ENVIRONMENT_MAX_VALUE && rest.length < attributes.length);
		check(strcmp(key, "process.pid") != 0 && strcmp(key, "container.id") != 0);
	}
}

static void fuzz_cpu_list(const uint8_t *data, size_t size)
{
	char *text = copy_text(data, size);
	struct cpu_list list = { 0 };

	if (!cpu_list_parse(&list, text))
		for (size_t i = 1; i < list.cpus.count; i++)
			check(list.cpus.items[i - 1] < list.cpus.items[i]);
	cpu_list_deinit(&list);
	free(text);
}

static void ask(const struct table *table, const struct record *record)
{
	struct process_key key = { .pid = record->pid };
	const struct process *process = table_find(table, &key, record->time_ns);
	const struct mapping *mapping;

	if (!process)
		return;
	mapping = space_find(table_space_at(process, record->time_ns), record->time_ns,
			     record->start);
	if (mapping)
		check(mapping->start <= record->start && record->start < mapping->limit &&
		      mapping->begin_ns <= record->time_ns);
}

/* The bytes as a ring the kernel has filled. */
static void fuzz_ring(const uint8_t *data, size_t size)
{
	enum { RING_BYTES = 4096, TABLE_BYTES = 1 << 20 };
	static uint64_t ring_data[RING_BYTES / 8], scratch[RING_RECORD_MAX / 8];
	struct perf_event_mmap_page page = { .data_tail = size / 3 / 8 * 8 };
	struct table table;
	struct ring ring;
	uint64_t time_ns = 0;
	bool broken = false;

	memset(ring_data, 0, sizeof(ring_data));
	memcpy(ring_data, data, size < RING_BYTES ? size : RING_BYTES);
	page.data_head = page.data_tail + (size < RING_BYTES ? size / 8 * 8 : RING_BYTES);
	check(table_init(&table, TABLE_BYTES, TABLE_BYTES));
	ring_init(&ring, &page, ring_data, RING_BYTES);
	ring_refresh(&ring);
	while (ring_peek(&ring, &time_ns, &broken)) {
		struct record record;
		size_t length;
		const void *bytes = ring_record(&ring, scratch, &length);

		if (record_decode(bytes, length, &record)) {
			learn_record(&table, &record);
			ask(&table, &record);
		}
		ring_pass(&ring);
	}
	table_evict(&table);
	check(table_memory(&table) <= TABLE_BYTES);
	table_forget(&table, time_ns);
	table_deinit(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const uint8_t *data, size_t size) = {
		fuzz_maps, fuzz_stat, fuzz_cgroup, fuzz_cpu_list, fuzz_ring, fuzz_environment,
	};

	if (size)
		parsers[data[0] % (sizeof(parsers) / sizeof(parsers[0]))](data + 1, size - 1);
	return 0;
}
