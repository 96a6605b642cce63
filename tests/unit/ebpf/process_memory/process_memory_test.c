// SPDX-License-Identifier: Apache-2.0
/* Looks that fail are told of by what made them fail; workers do what the test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_memory/process_memory.h"
#include "worker/protocol.h"

#include "../symbols/fake_host.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- what is known of processes ---- */

static int played_open_status; /* of the next; 0: there is memory */
static int opens;              /* of memory, so far */

int processes_open_memory(struct processes *processes, uint32_t pid)
{
	(void)processes;
	(void)pid;
	opens++;
	return played_open_status ? played_open_status : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

struct origin processes_memory_origin(struct processes *processes, uint32_t pid)
{
	(void)processes;
	(void)pid;
	return (struct origin){ .owner = { 1000, 0 } };
}

void processes_account(struct processes *processes, int64_t bytes)
{
	(void)processes;
	(void)bytes;
}

bool processes_ran(struct processes *processes, const struct process_key *key, uint64_t until_ns)
{
	(void)processes;
	(void)key;
	(void)until_ns;
	return true;
}

int processes_open_code_map(struct processes *processes, const struct process_key *key,
			    struct code_map_state *ret)
{
	(void)processes;
	(void)key;
	(void)ret;
	return -ENOENT;
}

/* ---- workers ---- */

static int *faults; /* shared with workers: so many requests end the one that gets them */

static int answer_one(int socket)
{
	struct runtime_found found = { .progress = 5, .complete = 1 };
	struct protocol_header header = { .magic = PROTOCOL_MAGIC, .body_bytes = sizeof(found) };
	struct protocol_request request;
	uint64_t asked;

	if (recv(socket, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
		return 0;
	for (uint32_t i = 0; i < request.asked_count; i++)
		if (recv(socket, &asked, sizeof(asked), MSG_WAITALL) != sizeof(asked))
			return 0;
	if ((*faults)-- > 0)
		return 0;
	header.id = request.id;
	return write(socket, &header, sizeof(header)) == sizeof(header) &&
	       write(socket, &found, sizeof(found)) == sizeof(found);
}

static int worker_body(int socket)
{
	const struct protocol_header ready = { .magic = PROTOCOL_MAGIC };
	struct protocol_hello hello;

	(void)!recv(socket, &hello, sizeof(hello), MSG_WAITALL);
	(void)!write(socket, &ready, sizeof(ready));
	while (answer_one(socket))
		;
	return 0;
}

/* ---- who asks ---- */

struct fixture {
	struct fake_host fake;
	struct process_memory *memory;
	pthread_mutex_t lock; /* over the next */
	pthread_cond_t ended;
	bool has_ended;
	struct process_looked looked;
	struct runtime_found found; /* of that */
};

static bool find(void *context, const struct process_key *key, uint32_t runtime,
		 struct runtime_process *ret)
{
	(void)context;
	(void)key;
	(void)runtime;
	(void)ret;
	return false;
}

static void learn(void *context, const struct process_look *look,
		  const struct process_looked *looked)
{
	struct fixture *fixture = context;

	(void)look;
	pthread_mutex_lock(&fixture->lock);
	fixture->looked = *looked;
	if (looked->found)
		fixture->found = *looked->found;
	fixture->has_ended = true;
	pthread_cond_signal(&fixture->ended);
	pthread_mutex_unlock(&fixture->lock);
}

static struct process_looked look(struct fixture *fixture)
{
	const struct process_look asked = {
		.key = { .pid = 7, .exec_id = 1, .start_boottime_ns = 5 },
		.process = { .runtime = all_runtimes[RUNTIME_HOTSPOT] },
	};
	struct process_looked looked;

	fixture->has_ended = false;
	assert_true(process_memory_look(fixture->memory, &asked));
	pthread_mutex_lock(&fixture->lock);
	while (!fixture->has_ended)
		pthread_cond_wait(&fixture->ended, &fixture->lock);
	looked = fixture->looked;
	pthread_mutex_unlock(&fixture->lock);
	return looked;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct process_memory_tables tables = { find, learn, fixture };

	assert_non_null(fixture);
	played_open_status = 0;
	opens = 0;
	faults = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(faults != MAP_FAILED);
	fake_host_init(&fixture->fake);
	fixture->fake.body = worker_body;
	fixture->fake.shares_memory = true;
	pthread_mutex_init(&fixture->lock, NULL);
	pthread_cond_init(&fixture->ended, NULL);
	fixture->memory = process_memory_create(&fixture->fake.host, NULL, WORKER_UID, 1 << 20);
	assert_non_null(fixture->memory);
	assert_null(process_memory_start(fixture->memory, &tables));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_memory_destroy(fixture->memory);
	pthread_cond_destroy(&fixture->ended);
	pthread_mutex_destroy(&fixture->lock);
	munmap(faults, sizeof(*faults));
	free(fixture);
	return 0;
}

/* A worker that has ended says nothing of the process: the next one may. */
static void test_a_worker_that_ends_refuses_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct process_looked looked;

	*faults = 1;
	looked = look(fixture);
	assert_null(looked.found);
	assert_int_equal(looked.refused, RUNTIME_ACCEPTED);
	assert_true(looked.unanswered);
	looked = look(fixture);
	assert_non_null(looked.found);
	assert_int_equal(fixture->found.progress, 5);
	assert_int_equal(looked.refused, RUNTIME_ACCEPTED);
	assert_false(looked.unanswered);
}

/* Whoever holds a lock of its memory lets go of it, maybe. */
static void test_memory_that_cannot_be_opened_in_time_refuses_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct process_looked looked;

	played_open_status = -ETIMEDOUT;
	looked = look(fixture);
	assert_int_equal(looked.refused, RUNTIME_ACCEPTED);
	assert_true(looked.unanswered);
}

static void test_what_may_not_be_opened_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct process_looked looked;

	played_open_status = -EACCES;
	looked = look(fixture);
	assert_int_equal(looked.refused, RUNTIME_REFUSED_MEMORY);
	assert_false(looked.unanswered);
	assert_int_equal(fake_host_metric(&fixture->fake, "process_memory_denied", ""), 1);
}

/* That is no fault of the process: it is neither counted against it nor forgotten. */
static void test_what_there_is_no_room_for_is_put_off(void **state)
{
	static const int statuses[] = { -ENOMEM, -EMFILE, -ENFILE };
	const uint64_t second = 1000000000;
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		uint64_t before = clock_monotonic_ns();
		struct process_looked looked;

		played_open_status = statuses[i];
		looked = look(fixture);
		assert_false(looked.unanswered);
		assert_int_equal(looked.refused, RUNTIME_ACCEPTED);
		assert_in_range(looked.again_ns, before + second, clock_monotonic_ns() + second);
	}
}

/* It is no process any more, which others find out. */
static void test_what_has_ended_is_not_refused(void **state)
{
	struct fixture *fixture = *state;
	struct process_looked looked;

	played_open_status = -ENOENT;
	looked = look(fixture);
	assert_int_equal(looked.refused, RUNTIME_ACCEPTED);
	assert_false(looked.unanswered);
}

/* To open it may wait: it stays open, until a worker that reads it gives no answer. */
static void test_memory_is_opened_once(void **state)
{
	struct fixture *fixture = *state;

	assert_non_null(look(fixture).found);
	assert_non_null(look(fixture).found);
	assert_int_equal(opens, 1);
	*faults = 1;
	assert_null(look(fixture).found);
	assert_int_equal(opens, 1);
	assert_non_null(look(fixture).found);
	assert_int_equal(opens, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_worker_that_ends_refuses_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_memory_that_cannot_be_opened_in_time_refuses_nothing, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_what_may_not_be_opened_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_there_is_no_room_for_is_put_off, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_has_ended_is_not_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_memory_is_opened_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
