// SPDX-License-Identifier: Apache-2.0
/*
 * file_storage under kill -9: what append had returned for is there afterwards, unless
 * finish was called for it; what finish had returned for is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ROUNDS = 200,
	RECORDS_MAX = 1 << 20,
	BODY_MAX = 20000,
	MAX_SIZE = 1 << 20, /* small, so that segments come and go */
};

/* What the killed process knew of each record, in memory that outlives it. */
enum fate { NEVER, APPENDED, FINISHING, FINISHED };

struct ledger {
	atomic_uint next;  /* the record that is being appended, or will be */
	atomic_uint moves; /* anything that was done */
	atomic_uchar fates[RECORDS_MAX];
};

static size_t body_length(uint32_t number)
{
	return sizeof(number) + number * 2654435761u % BODY_MAX;
}

static void make_body(uint32_t number, uint8_t *body)
{
	memset(body, (int)(number % 251), body_length(number));
	memcpy(body, &number, sizeof(number));
}

static uint32_t check_body(const struct profcol_record *record)
{
	uint8_t expected[BODY_MAX + sizeof(uint32_t)];
	uint32_t number;

	assert_true(record->length >= sizeof(number));
	memcpy(&number, record->bytes, sizeof(number));
	assert_int_equal(record->length, body_length(number));
	make_body(number, expected);
	assert_memory_equal(record->bytes, expected, record->length);
	assert_int_equal(record->samples, number);
	return number;
}

/* ---- the process that is killed ---- */

static void append_one(struct storage *storage, struct profcol_storage_queue *queue,
		       struct ledger *ledger)
{
	uint32_t number = atomic_load(&ledger->next);
	uint8_t body[BODY_MAX + sizeof(uint32_t)];
	struct profcol_error *error;

	make_body(number, body);
	error = storage->operations->append(queue, body, body_length(number), number);
	if (error) {
		profcol_error_destroy(error); // full
		return;
	}
	atomic_store(&ledger->fates[number], APPENDED);
	atomic_store(&ledger->next, number + 1);
}

static void finish_one(struct storage *storage, struct profcol_storage_queue *queue,
		       struct ledger *ledger)
{
	struct profcol_record record;
	uint32_t number;

	if (storage->operations->take(queue, &record) != PROFCOL_TAKE_RECORD)
		return;
	number = check_body(&record);
	free(record.bytes);
	if (number % 13 == 0 && rand() % 4) {
		storage->operations->put_back(queue, record.id);
		return;
	}
	atomic_store(&ledger->fates[number], FINISHING);
	storage->operations->finish(queue, record.id);
	atomic_store(&ledger->fates[number], FINISHED);
}

static _Noreturn void work_until_killed(struct storage *storage, struct ledger *ledger)
{
	struct profcol_storage_queue *queue;

	srand((unsigned int)getpid());
	storage_again(storage);
	queue = storage_open(storage, "q");
	while (atomic_load(&ledger->next) < RECORDS_MAX) {
		if (rand() % 2)
			append_one(storage, queue, ledger);
		else
			finish_one(storage, queue, ledger);
		atomic_fetch_add(&ledger->moves, 1);
	}
	_exit(1);
}

static void kill_at_some_point(struct storage *storage, struct ledger *ledger)
{
	unsigned int moves = atomic_load(&ledger->moves);
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		work_until_killed(storage, ledger);
	moves += (unsigned int)(rand() % 60);
	while (atomic_load(&ledger->moves) < moves && !waitpid(pid, &status, WNOHANG))
		usleep((useconds_t)(rand() % 200));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status))
		fail_msg("the process failed by itself");
}

/* ---- what is left of it ---- */

static void check_round(struct storage *storage, struct ledger *ledger)
{
	static bool came[RECORDS_MAX];
	uint32_t next = atomic_load(&ledger->next), last = 0;
	struct profcol_storage_queue *queue;
	struct profcol_storage_figures figures;
	struct profcol_record record;
	bool first = true;

	memset(came, 0, next + 1);
	storage_again(storage);
	queue = storage_open(storage, "q");
	while (storage->operations->take(queue, &record) == PROFCOL_TAKE_RECORD) {
		uint32_t number = check_body(&record);

		free(record.bytes);
		// The one that was being appended may have made it.
		assert_true(number <= next);
		assert_true(first || number > last);
		first = false;
		last = number;
		came[number] = true;
	}
	figures = storage_figures(storage, queue);
	// Nothing but the one that was being appended, which may be there in part.
	if (figures.damaged_records) {
		assert_int_equal(figures.damaged_records, 1);
		assert_true(figures.damaged_samples == next || !figures.damaged_samples);
	}
	for (uint32_t number = 0; number < next; number++) {
		unsigned char fate = atomic_load(&ledger->fates[number]);

		if (came[number] ? fate == FINISHED : fate == APPENDED)
			fail_msg("record %u, of fate %u, %s", number, fate,
				 came[number] ? "came again" : "is lost");
		if (!came[number])
			atomic_store(&ledger->fates[number], FINISHED);
		else
			atomic_store(&ledger->fates[number], APPENDED);
	}
	if (came[next]) {
		atomic_store(&ledger->fates[next], APPENDED);
		atomic_store(&ledger->next, next + 1);
	}
	storage_close(storage, queue);
	storage_stop(storage);
}

static void nothing_is_lost_by_kill_9(void **state)
{
	struct storage storage;
	struct ledger *ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(ledger, MAP_FAILED);
	storage_init(&storage, MAX_SIZE);
	storage_stop(&storage);
	for (int round = 0; round < ROUNDS; round++) {
		kill_at_some_point(&storage, ledger);
		check_round(&storage, ledger);
	}
	assert_true(atomic_load(&ledger->next) > ROUNDS);
	remove_tree(storage.path);
	munmap(ledger, sizeof(*ledger));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_by_kill_9),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
