// SPDX-License-Identifier: Apache-2.0
/*
 * What a file says of the labels of its goroutines: build information and code, found in a file
 * that is nothing but one segment; and labels of a record. Whatever the bytes are, what is said can
 * be used, and labels that add up lie within the record.
 */
#include "receiver/ebpf/runtimes/go/labels.h"
#include "receiver/ebpf/sample_labels.h"
#include "receiver/ebpf/unwind/source.h"

#include "bpf/sample.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS = 0x400000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t sum; /* so that text is read */

static void read_file(const uint8_t *bytes, size_t size)
{
	struct unwind_source source;
	struct elf_view view = { .file = bytes, .size = size, .machine = EM_X86_64 };
	const struct runtime_file file = { .view = &view, .source = &source };
	struct runtime_found found = { 0 };
	struct go_layout layout;

	view.segment_count = 1;
	view.segments[0] = (struct elf_view_segment){ .address = ADDRESS, .file_bytes = size };
	view.segments[0].writable = true;
	unwind_source_init_functions(&source, &view);
	go_labels_recognise(&file, &layout);
	if (!go_labels_check(&layout))
		abort();
	go_labels_foresee(&layout, ADDRESS, &found);
	if (!runtime_found_check(&found))
		abort();
}

static void read_labels(const uint8_t *bytes, size_t size)
{
	uint64_t record[SAMPLE_MAX_LABEL_BYTES / sizeof(uint64_t) + 1];
	struct label_reader reader;
	struct label_text text;
	size_t read = 0;

	if (size > sizeof(record))
		size = sizeof(record);
	memcpy(record, bytes, size);
	if (!sample_labels_check(record, size))
		return;
	for (reader = sample_labels_begin(record); sample_labels_next(&reader, &text); read++) {
		const char *end = text.value + text.value_bytes;

		if (text.key + text.key_bytes != text.value || read >= SAMPLE_LABELS ||
		    end > (const char *)record + size)
			abort();
		for (const char *at = text.key; at < end; at++)
			sum += (uint8_t)*at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 1)
		return 0;
	if (bytes[0] & 1)
		read_labels(bytes + 1, size - 1);
	else
		read_file(bytes + 1, size - 1);
	return 0;
}
