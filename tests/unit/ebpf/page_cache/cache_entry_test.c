// SPDX-License-Identifier: Apache-2.0
/* Entries, byte by byte: whatever is not as it was written is not read. */
#include "kept_file.h"

#include "receiver/ebpf/page_cache/cache_entry.h"
#include "receiver/ebpf/worker/protocol.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct entry {
	struct kept_file file;
	char *bytes;
	size_t size;
};

static char directory[] = "/tmp/cache_entry_test.XXXXXX";

static void entry_write(struct entry *entry)
{
	const struct kept_file *file = &entry->file;
	size_t asked_bytes = file->answer.offset_count * sizeof(uint64_t);
	struct cache_entry_head head = cache_entry_head_make(
		&file->request.key, &file->request.identity, file->answer.offsets,
		file->answer.offset_count, file->body, file->body_bytes);

	entry->size = sizeof(head) + asked_bytes + file->body_bytes;
	free(entry->bytes);
	entry->bytes = malloc(entry->size);
	assert_non_null(entry->bytes);
	memcpy(entry->bytes, &head, sizeof(head));
	if (asked_bytes)
		memcpy(entry->bytes + sizeof(head), file->answer.offsets, asked_bytes);
	memcpy(entry->bytes + sizeof(head) + asked_bytes, file->body, file->body_bytes);
}

static int set_up(void **state)
{
	static struct entry entry;
	char path[sizeof(directory) + 8];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	kept_file_copy(&entry.file, SMALL_FILE, path);
	entry_write(&entry);
	*state = &entry;
	return 0;
}

static int tear_down(void **state)
{
	struct entry *entry = *state;

	kept_file_deinit(&entry->file);
	free(entry->bytes);
	rmdir(directory);
	return 0;
}

/* Of a copy that is as long as it says: one byte more is a fault. */
static enum cache_entry_state read_copy(const struct entry *entry, size_t size,
					const struct cache_key *key)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	CLEANUP_FREE char *copy = malloc(size ? size : 1);
	struct cache_identity identity;
	struct worker_answer answer;

	assert_non_null(copy);
	memcpy(copy, entry->bytes, size);
	return cache_entry_read(copy, size, key, pages, &identity, &answer);
}

static enum cache_entry_state read_all(const struct entry *entry)
{
	return read_copy(entry, entry->size, &entry->file.request.key);
}

static void test_a_whole_one_is_read(void **state)
{
	struct entry *entry = *state;
	struct worker_page pages[WORKER_MAX_PAGES];
	struct cache_identity identity;
	struct worker_answer answer;
	CLEANUP_FREE char *copy = malloc(entry->size);

	assert_non_null(copy);
	memcpy(copy, entry->bytes, entry->size);
	assert_int_equal(cache_entry_read(copy, entry->size, &entry->file.request.key, pages,
					  &identity, &answer),
			 CACHE_ENTRY_SOUND);
	answer.file = entry->file.request.file;
	assert_true(answer.page_count > 0);
	assert_true(kept_file_agrees(&entry->file, &answer));
	assert_memory_equal(&identity, &entry->file.request.identity, sizeof(identity));
}

static void test_no_bit_may_differ(void **state)
{
	struct entry *entry = *state;

	for (size_t at = 0; at < entry->size; at += at < 1024 ? 1 : 37) {
		entry->bytes[at] ^= (char)(1 << at % 8);
		assert_int_not_equal(read_all(entry), CACHE_ENTRY_SOUND);
		entry->bytes[at] ^= (char)(1 << at % 8);
	}
	assert_int_equal(read_all(entry), CACHE_ENTRY_SOUND);
}

static void test_a_part_is_none(void **state)
{
	struct entry *entry = *state;

	for (size_t size = 0; size < entry->size; size += size < 256 ? 1 : 101)
		assert_int_equal(read_copy(entry, size, &entry->file.request.key),
				 CACHE_ENTRY_DAMAGED);
}

static void test_it_is_that_of_its_name(void **state)
{
	struct entry *entry = *state;
	struct cache_key other = entry->file.request.key;

	other.place++;
	assert_int_equal(read_copy(entry, entry->size, &other), CACHE_ENTRY_DAMAGED);
	other = entry->file.request.key;
	other.inode++;
	assert_int_equal(read_copy(entry, entry->size, &other), CACHE_ENTRY_DAMAGED);
	other = entry->file.request.key;
	other.part = 16;
	assert_int_equal(read_copy(entry, entry->size, &other), CACHE_ENTRY_DAMAGED);
	other = entry->file.request.key;
	other.htlhash[31] = other.htlhash[31] == '0' ? '1' : '0';
	assert_int_equal(read_copy(entry, entry->size, &other), CACHE_ENTRY_DAMAGED);
}

/* The answer in it is checked as one of a worker, even when whoever wrote it has summed it up. */
static void test_a_sum_does_not_make_it_sound(void **state)
{
	struct entry *entry = *state;
	struct protocol_facts *facts = entry->file.body;

	facts->segment_count++;
	entry_write(entry);
	assert_int_equal(read_all(entry), CACHE_ENTRY_DAMAGED);
	facts->segment_count--;
	facts->htlhash[0] ^= 1; // an answer about another file
	entry_write(entry);
	assert_int_equal(read_all(entry), CACHE_ENTRY_DAMAGED);
	facts->htlhash[0] ^= 1;
	entry_write(entry);
	assert_int_equal(read_all(entry), CACHE_ENTRY_SOUND);
}

static void test_that_of_another_version_is_passed_over(void **state)
{
	struct entry *entry = *state;
	struct cache_entry_head *head = (struct cache_entry_head *)entry->bytes;

	head->version++;
	assert_int_equal(read_all(entry), CACHE_ENTRY_OTHER);
	head->version--;
	head->rules++;
	assert_int_equal(read_all(entry), CACHE_ENTRY_OTHER);
	head->rules--;
	head->machine++;
	assert_int_equal(read_all(entry), CACHE_ENTRY_OTHER);
	head->machine--;
	assert_int_equal(read_all(entry), CACHE_ENTRY_SOUND);
}

static void test_names_are_told_from_others(void **state)
{
	struct entry *entry = *state;
	struct cache_key key = entry->file.request.key;
	char name[CACHE_ENTRY_NAME_BYTES], other[CACHE_ENTRY_NAME_BYTES];

	cache_entry_name(&key, name);
	assert_true(cache_entry_is_name(name));
	key.part = 0x10;
	cache_entry_name(&key, other);
	assert_true(cache_entry_is_name(other));
	assert_string_not_equal(name, other);
	assert_false(cache_entry_is_name("lost+found"));
	assert_false(cache_entry_is_name(".new-0123456789abcdef"));
	assert_false(cache_entry_is_name(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_one_is_read),
		cmocka_unit_test(test_no_bit_may_differ),
		cmocka_unit_test(test_a_part_is_none),
		cmocka_unit_test(test_it_is_that_of_its_name),
		cmocka_unit_test(test_a_sum_does_not_make_it_sound),
		cmocka_unit_test(test_that_of_another_version_is_passed_over),
		cmocka_unit_test(test_names_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
