// SPDX-License-Identifier: Apache-2.0
/* file_storage: what a queue promises while all goes well, and when it is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include <profcol/options.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void records_come_in_their_order(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "otlp_grpc");
	storage_expect(&storage, queue, NULL);
	storage_append(&storage, queue, "one");
	storage_append(&storage, queue, "");
	storage_expect_finish(&storage, queue, "one");
	storage_append(&storage, queue, "three");
	storage_expect_finish(&storage, queue, "");
	storage_expect_finish(&storage, queue, "three");
	storage_expect(&storage, queue, NULL);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_record_that_is_put_back_is_the_next(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	uint64_t one, two;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "otlp_grpc");
	storage_append(&storage, queue, "one");
	storage_append(&storage, queue, "two");
	storage_append(&storage, queue, "three");
	one = storage_expect(&storage, queue, "one");
	two = storage_expect(&storage, queue, "two");
	storage.operations->put_back(queue, two);
	storage.operations->put_back(queue, one);
	storage.operations->put_back(queue, one); // does nothing, as for an id that never was
	storage.operations->put_back(queue, 12345);
	storage.operations->finish(queue, 12345);
	storage_expect_finish(&storage, queue, "one");
	storage.operations->put_back(queue, one);
	storage_expect_finish(&storage, queue, "two");
	storage_expect_finish(&storage, queue, "three");
	storage_expect(&storage, queue, NULL);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void the_next_process_gets_what_is_not_finished(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	uint64_t first;

	(void)state;
	storage_init(&storage, 0);
	queue = storage_open(&storage, "otlp_grpc");
	storage_append(&storage, queue, "first");
	storage_append(&storage, queue, "second");
	storage_append(&storage, queue, "third");
	first = storage_expect(&storage, queue, "first");
	storage_expect_finish(&storage, queue, "second");
	(void)first; // taken, never finished
	storage_close(&storage, queue);
	storage_restart(&storage);

	queue = storage_open(&storage, "otlp_grpc");
	assert_int_equal(fake_host_log_count(&storage.fake, "debug 2 records of 10 samples"), 1);
	assert_int_equal(storage_figures(&storage, queue).records, 2);
	storage_append(&storage, queue, "fourth");
	storage_expect_finish(&storage, queue, "first");
	storage_expect_finish(&storage, queue, "third");
	storage_expect(&storage, queue, "fourth");
	storage_close(&storage, queue);
	storage_restart(&storage);

	queue = storage_open(&storage, "otlp_grpc");
	storage_expect_finish(&storage, queue, "fourth");
	storage_close(&storage, queue);
	assert_int_equal(storage_count_segments(&storage, "otlp_grpc", NULL), 0);
	storage_deinit(&storage);
}

static void figures_are_of_what_is_not_finished(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	struct profcol_storage_figures figures;

	(void)state;
	storage_init(&storage, 2 << 20);
	queue = storage_open(&storage, "otlp_grpc");
	assert_no_error(storage.operations->append(queue, (const uint8_t *)"abc", 3, 700));
	assert_no_error(storage.operations->append(queue, (const uint8_t *)"de", 2, 11));
	figures = storage_figures(&storage, queue);
	assert_int_equal(figures.records, 2);
	assert_int_equal(figures.bytes, 5);
	assert_int_equal(figures.samples, 711);
	assert_int_equal(figures.capacity_bytes, 2 << 20);
	for (int i = 0; i < 2; i++) {
		struct profcol_record record;

		assert_int_equal(storage.operations->take(queue, &record), PROFCOL_TAKE_RECORD);
		free(record.bytes);
		storage.operations->finish(queue, record.id);
		storage.operations->finish(queue, record.id); // counts once
		assert_int_equal(storage_figures(&storage, queue).records, 1 - i);
	}
	figures = storage_figures(&storage, queue);
	assert_int_equal(figures.bytes, 0);
	assert_int_equal(figures.samples, 0);
	assert_int_equal(figures.damaged_records, 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void queues_do_not_meet(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *plain, *named, *twice = NULL;

	(void)state;
	storage_init(&storage, 0);
	plain = storage_open(&storage, "otlp_grpc");
	named = storage_open(&storage, "otlp_grpc/../x y");
	storage_append(&storage, plain, "plain");
	storage_append(&storage, named, "named");
	expect_storage_error(storage.operations->open(storage.fake.instance, "otlp_grpc", &twice),
			     PROFCOL_CONFIG,
			     "extension 'file_storage': queue 'otlp_grpc' is open already");
	storage_expect_finish(&storage, named, "named");
	storage_expect(&storage, named, NULL);
	storage_expect(&storage, plain, "plain");
	assert_int_equal(storage_count_segments(&storage, "otlp_grpc", NULL), 1);
	assert_int_equal(storage_count_segments(&storage, "otlp_grpc%2F..%2Fx%20y", NULL), 1);
	storage_close(&storage, plain);
	storage_close(&storage, named);
	plain = storage_open(&storage, "otlp_grpc"); // once closed it may be opened again
	storage_close(&storage, plain);
	storage_deinit(&storage);
}

/* ---- bounds ---- */

enum { MEBIBYTE = 1 << 20, PIECE = 40000 };

/* Append pieces until one is refused; how many were not. */
static unsigned int fill(struct storage *storage, struct profcol_storage_queue *queue)
{
	static const uint8_t piece[PIECE];

	for (unsigned int count = 0; count < 1000; count++) {
		struct profcol_error *error =
			storage->operations->append(queue, piece, PIECE - count, 1);

		if (!error)
			continue;
		expect_storage_error(error, PROFCOL_UNAVAILABLE, "queue on disk is full");
		return count;
	}
	fail_msg("the queue took more than it may");
	return 0;
}

static void drain(struct storage *storage, struct profcol_storage_queue *queue, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct profcol_record record;

		assert_int_equal(storage->operations->take(queue, &record), PROFCOL_TAKE_RECORD);
		free(record.bytes);
		storage->operations->finish(queue, record.id);
	}
}

static void a_full_queue_refuses_and_goes_on_when_there_is_room(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	unsigned int count;
	uint64_t bytes;

	(void)state;
	storage_init(&storage, MEBIBYTE);
	queue = storage_open(&storage, "otlp_grpc");
	count = fill(&storage, queue);
	assert_in_range(count, MEBIBYTE / PIECE - 2, MEBIBYTE / PIECE);
	assert_true(storage_count_segments(&storage, "otlp_grpc", &bytes) >= 4);
	assert_in_range(bytes, MEBIBYTE - PIECE - 1000, MEBIBYTE);
	assert_int_equal(bytes, fake_host_metric(&storage.fake, "file_storage_bytes"));
	drain(&storage, queue, count / 2);
	storage_count_segments(&storage, "otlp_grpc", &bytes);
	assert_in_range(bytes, MEBIBYTE / 4, MEBIBYTE * 3 / 4); // what is sent leaves the disk
	assert_in_range(fill(&storage, queue), count / 2 - 4, count / 2 + 1);
	drain(&storage, queue, (unsigned int)storage_figures(&storage, queue).records);
	assert_true(storage_count_segments(&storage, "otlp_grpc", &bytes) <= 1);
	// The last segment stays open when all of it is sent.
	assert_in_range(fill(&storage, queue), count - 3, count + 1);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_queue_that_is_larger_than_it_may_be_is_sent_first(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	unsigned int count;

	(void)state;
	storage_init(&storage, 4 * MEBIBYTE);
	queue = storage_open(&storage, "otlp_grpc");
	count = fill(&storage, queue);
	storage_close(&storage, queue);
	storage.max_size = MEBIBYTE;
	storage_restart(&storage);
	queue = storage_open(&storage, "otlp_grpc");
	assert_int_equal(storage_figures(&storage, queue).records, count);
	assert_int_equal(fill(&storage, queue), 0);
	drain(&storage, queue, count);
	assert_true(fill(&storage, queue) > 0);
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

static void a_record_that_can_never_fit_is_rejected_for_good(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;
	uint8_t *large = calloc(1, 65 << 20);
	uint64_t longest;

	(void)state;
	assert_non_null(large);
	storage_init(&storage, MEBIBYTE);
	queue = storage_open(&storage, "otlp_grpc");
	expect_storage_error(storage.operations->append(queue, large, MEBIBYTE, 1),
			     PROFCOL_REJECTED, "does not fit into the queue on disk");
	longest = storage_figures(&storage, queue).max_record_bytes;
	assert_in_range(longest, MEBIBYTE - 100, MEBIBYTE - 1);
	assert_no_error(storage.operations->append(queue, large, longest, 1));
	drain(&storage, queue, 1);
	storage_close(&storage, queue);
	storage.max_size = 256 * MEBIBYTE;
	storage_restart(&storage);
	queue = storage_open(&storage, "otlp_grpc");
	expect_storage_error(storage.operations->append(queue, large, (64 << 20) + 1, 1),
			     PROFCOL_REJECTED, "does not fit into the queue on disk");
	assert_no_error(storage.operations->append(queue, large, 64 << 20, 1)); // a segment alone
	storage_close(&storage, queue);
	storage_restart(&storage);
	queue = storage_open(&storage, "otlp_grpc");
	assert_int_equal(storage_figures(&storage, queue).bytes, 64 << 20);
	drain(&storage, queue, 1);
	storage_close(&storage, queue);
	storage_deinit(&storage);
	free(large);
}

/* ---- threads ---- */

enum { THREADS = 4, EACH = 300, ALL = THREADS * EACH };

struct traffic {
	struct storage *storage;
	struct profcol_storage_queue *queue;
	atomic_uint next_thread, sent;
	atomic_uchar seen[ALL]; /* how often a record was finished */
};

static void send_one(struct traffic *traffic, unsigned int *seed)
{
	const struct profcol_storage_operations *operations = traffic->storage->operations;
	struct profcol_record record;
	uint32_t number;

	if (operations->take(traffic->queue, &record) != PROFCOL_TAKE_RECORD)
		return;
	memcpy(&number, record.bytes, sizeof(number));
	assert_true(number < ALL);
	assert_int_equal(record.length, 4 + number * 7 % 5000);
	free(record.bytes);
	if (rand_r(seed) % 4 == 0) {
		operations->put_back(traffic->queue, record.id);
		return;
	}
	atomic_fetch_add(&traffic->seen[number], 1);
	atomic_fetch_add(&traffic->sent, 1);
	operations->finish(traffic->queue, record.id);
}

static void *run_traffic(void *argument)
{
	struct traffic *traffic = argument;
	unsigned int thread = atomic_fetch_add(&traffic->next_thread, 1), seed = thread;
	uint8_t body[5004] = { 0 };

	for (uint32_t i = 0; i < EACH; i++) {
		uint32_t number = thread * EACH + i;

		memcpy(body, &number, sizeof(number));
		assert_no_error(traffic->storage->operations->append(traffic->queue, body,
								     4 + number * 7 % 5000, 1));
		send_one(traffic, &seed);
	}
	while (atomic_load(&traffic->sent) < ALL)
		send_one(traffic, &seed);
	return NULL;
}

static void many_threads_send_each_record_once(void **state)
{
	struct traffic traffic = { 0 };
	struct storage storage;
	pthread_t threads[THREADS];

	(void)state;
	storage_init(&storage, 16 * MEBIBYTE);
	traffic.storage = &storage;
	traffic.queue = storage_open(&storage, "otlp_grpc");
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_traffic, &traffic), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ALL; i++)
		assert_int_equal(traffic.seen[i], 1);
	assert_int_equal(storage_figures(&storage, traffic.queue).records, 0);
	assert_int_equal(storage_figures(&storage, traffic.queue).damaged_records, 0);
	storage_close(&storage, traffic.queue);
	assert_int_equal(storage_count_segments(&storage, "otlp_grpc", NULL), 0);
	storage_deinit(&storage);
}

static void fsync_works_where_it_is_wanted(void **state)
{
	struct storage storage;
	struct profcol_storage_queue *queue;

	(void)state;
	storage_prepare(&storage, 0);
	fake_host_set_int(&storage.fake, "fsync", true);
	fake_host_start(&storage.fake);
	queue = storage_open(&storage, "otlp_grpc");
	storage_append(&storage, queue, "forced");
	storage_expect_finish(&storage, queue, "forced");
	storage_close(&storage, queue);
	storage_deinit(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_their_order),
		cmocka_unit_test(a_record_that_is_put_back_is_the_next),
		cmocka_unit_test(the_next_process_gets_what_is_not_finished),
		cmocka_unit_test(figures_are_of_what_is_not_finished),
		cmocka_unit_test(queues_do_not_meet),
		cmocka_unit_test(a_full_queue_refuses_and_goes_on_when_there_is_room),
		cmocka_unit_test(a_queue_that_is_larger_than_it_may_be_is_sent_first),
		cmocka_unit_test(a_record_that_can_never_fit_is_rejected_for_good),
		cmocka_unit_test(many_threads_send_each_record_once),
		cmocka_unit_test(fsync_works_where_it_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
