// SPDX-License-Identifier: Apache-2.0
/* What the receiver `pprof` passes on, what it tells clients, what it counts, and what it bounds.
 */
#include "fake_host.h"
#include "pprof_small_file.h"
#include "tests/unit/free_port.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "../gzip_bytes.h"

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

extern const struct profcol_component profcol_receiver_pprof;

enum { PATIENCE_MS = 120000 };

struct fixture {
	struct fake_host fake;
	char directory[64], include[96];
	uint16_t port;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	unsigned int batches;
	struct profcol_batch *last;    /* owned */
	struct profcol_error *refusal; /* of the next batch; owned */
};

static struct fixture *fixture_of(const struct profcol_host *host)
{
	return (struct fixture *)((uintptr_t)host - offsetof(struct fixture, fake.host));
}

static struct profcol_error *next_consume(const struct profcol_host *host,
					  struct profcol_batch *batch)
{
	struct fixture *fixture = fixture_of(host);
	struct profcol_error *refusal;

	pthread_mutex_lock(&fixture->lock);
	profcol_batch_unref(fixture->last);
	fixture->last = batch;
	fixture->batches++;
	refusal = TAKE(fixture->refusal);
	pthread_cond_broadcast(&fixture->changed);
	pthread_mutex_unlock(&fixture->lock);
	return refusal;
}

static void wait_batches(struct fixture *fixture, unsigned int count)
{
	pthread_mutex_lock(&fixture->lock);
	while (fixture->batches < count)
		pthread_cond_wait(&fixture->changed, &fixture->lock);
	pthread_mutex_unlock(&fixture->lock);
}

static void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){ 0 };
	pthread_mutex_init(&fixture->lock, NULL);
	pthread_cond_init(&fixture->changed, NULL);
	strcpy(fixture->directory, "/tmp/profcol-pprof-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->include, sizeof(fixture->include), "%s/*", fixture->directory);
	fake_host_init(&fixture->fake, &profcol_receiver_pprof);
	fixture->fake.host.consume_next = next_consume;
	fake_host_set_texts(profcol_receiver_pprof.options, fixture->fake.config);
}

static void fixture_deinit(struct fixture *fixture)
{
	CLEANUP_FREE char *command = NULL;

	fake_host_shutdown(&fixture->fake);
	fake_host_deinit(&fixture->fake);
	profcol_batch_unref(fixture->last);
	profcol_error_destroy(fixture->refusal);
	for (unsigned int i = 0; i < 8; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%u", fixture->directory, i);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(fixture->directory), 0);
	pthread_cond_destroy(&fixture->changed);
	pthread_mutex_destroy(&fixture->lock);
}

/* ---- files ---- */

static void start_files(struct fixture *fixture)
{
	fixture_init(fixture);
	fake_host_set_int(&fixture->fake, "file", true);
	fake_host_set_text(&fixture->fake, "file.include", fixture->include);
	fake_host_set_int(&fixture->fake, "file.collection_interval", PROFCOL_MILLISECOND);
}

/* File @number, which nobody has written to for a minute. */
static void put_file(const struct fixture *fixture, unsigned int number, const void *bytes,
		     size_t length)
{
	char path[128], hidden[128];
	const struct timespec times[2] = { { .tv_sec = time(NULL) - 60 },
					   { .tv_sec = time(NULL) - 60 } };
	FILE *file;

	snprintf(hidden, sizeof(hidden), "%s.new", fixture->directory);
	snprintf(path, sizeof(path), "%s/%u", fixture->directory, number);
	file = fopen(hidden, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(AT_FDCWD, hidden, times, 0), 0);
	assert_int_equal(rename(hidden, path), 0);
}

static uint8_t *small(size_t *length)
{
	struct small_file file;

	small_file_init(&file);
	return small_file_pack(&file, length);
}

static void wait_unread(struct fixture *fixture, int64_t count)
{
	while (fake_host_metric(&fixture->fake, "pprof_unread") < count)
		poll(NULL, 0, 1);
}

static void a_file_is_read_once_whatever_it_is_called(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = small(&length);
	char from[128], to[128];

	(void)state;
	start_files(&fixture);
	put_file(&fixture, 0, bytes, length);
	fake_host_start(&fixture.fake);
	wait_batches(&fixture, 1);
	snprintf(from, sizeof(from), "%s/0", fixture.directory);
	snprintf(to, sizeof(to), "%s/1", fixture.directory);
	assert_int_equal(rename(from, to), 0);
	// Each of these has been looked at with all that was there before.
	put_file(&fixture, 2, bytes, length);
	wait_batches(&fixture, 2);
	put_file(&fixture, 3, "broken", 6);
	wait_unread(&fixture, 1);
	put_file(&fixture, 4, "again", 5);
	wait_unread(&fixture, 2);
	assert_int_equal(fixture.batches, 2);
	assert_int_equal(fake_host_metric(&fixture.fake, "pprof_unread"), 2);
	assert_int_equal(fake_host_log_count(&fixture.fake, "cannot take a profile of"), 1);
	assert_int_equal(fixture.fake.taken,
			 fake_host_metric(&fixture.fake, "receiver_accepted_profile_samples"));
}

static void a_file_that_is_refused_for_now_is_read_again(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = small(&length);

	(void)state;
	start_files(&fixture);
	fixture.refusal = profcol_error_create(PROFCOL_UNAVAILABLE, "the queue is full");
	put_file(&fixture, 0, bytes, length);
	fake_host_start(&fixture.fake);
	wait_batches(&fixture, 2);
	assert_int_equal(fake_host_log_count(&fixture.fake, "the queue is full"), 1);
}

static void what_is_no_file_is_left_alone(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	char path[128];

	(void)state;
	start_files(&fixture);
	snprintf(path, sizeof(path), "%s/0", fixture.directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	put_file(&fixture, 1, "broken", 6);
	fake_host_start(&fixture.fake);
	wait_unread(&fixture, 1);
}

static void a_link(const struct fixture *fixture, unsigned int number, const char *target)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", fixture->directory, number);
	assert_int_equal(symlink(target, path), 0);
}

static void a_file_that_cannot_be_opened_is_told_of(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	start_files(&fixture);
	a_link(&fixture, 0, "0");
	a_link(&fixture, 1, "nowhere");
	fake_host_start(&fixture.fake);
	wait_unread(&fixture, 2);
	assert_int_equal(fake_host_log_count(&fixture.fake, "/0: open it: Too many levels"), 1);
	assert_int_equal(fixture.batches, 0);
}

static void what_the_kernel_shows_is_not_read(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;

	(void)state;
	start_files(&fixture);
	a_link(&fixture, 0, "/proc/self/status");
	fake_host_start(&fixture.fake);
	wait_unread(&fixture, 1);
	// Counted first, then said.
	fake_host_shutdown(&fixture.fake);
	assert_int_equal(fake_host_log_count(&fixture.fake, "file system of the kernel's own"), 1);
}

/* Of an earlier run: as many files as can be remembered, of which none is there any more. */
static void remember_all(const char *directory)
{
	char path[128];
	FILE *file;

	assert_int_equal(mkdir(directory, 0700), 0);
	snprintf(path, sizeof(path), "%s/pprof.seen", directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("profcol pprof files 1\n", file);
	for (unsigned int i = 0; i < 65536; i++)
		fprintf(file, "9999 %u 1 1\n", i);
	assert_int_equal(fclose(file), 0);
}

static void room_is_made_for_new_files(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = small(&length);
	char directory[80], file[128];

	(void)state;
	start_files(&fixture);
	snprintf(directory, sizeof(directory), "%s.state", fixture.directory);
	snprintf(file, sizeof(file), "%s/pprof.seen", directory);
	remember_all(directory);
	fake_host_set_text(&fixture.fake, "file.state_directory", directory);
	put_file(&fixture, 0, bytes, length);
	// One that cannot be reached keeps nobody from it.
	a_link(&fixture, 1, "1");
	fake_host_start(&fixture.fake);
	wait_batches(&fixture, 1);
	fake_host_shutdown(&fixture.fake);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(directory), 0);
}

/* ---- clients ---- */

static void fixture_init_server(struct fixture *fixture)
{
	fixture_init(fixture);
	fixture->port = free_port();
	snprintf(fixture->include, sizeof(fixture->include), "127.0.0.1:%u", fixture->port);
	fake_host_set_int(&fixture->fake, "server", true);
	fake_host_set_text(&fixture->fake, "server.endpoint", fixture->include);
	fake_host_set_int(&fixture->fake, "server.max_request_body_size", 1 << 20);
	fake_host_set_int(&fixture->fake, "server.keep_alives_enabled", true);
}

static void start_server(struct fixture *fixture)
{
	fixture_init_server(fixture);
	fake_host_start(&fixture->fake);
}

/* The answer to a POST of @bytes with @header, a line or none; free(). */
static char *post(const struct fixture *fixture, const char *header, const void *bytes,
		  size_t length)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(fixture->port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char head[256], *heard = calloc(1, 65536);
	size_t at = 0;

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(head, sizeof(head),
		 "POST /v1/pprof HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		 "%sContent-Length: %zu\r\n\r\n",
		 header, length);
	assert_int_equal(send(fd, head, strlen(head), MSG_NOSIGNAL), strlen(head));
	(void)!send(fd, bytes, length, MSG_NOSIGNAL);
	while (at < 65535) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t part;

		assert_true(poll(&ready, 1, PATIENCE_MS) > 0);
		part = read(fd, heard + at, 65535 - at);
		if (part <= 0)
			break;
		at += (size_t)part;
	}
	return heard;
}

static void assert_answers(const struct fixture *fixture, const void *bytes, size_t length,
			   const char *status, const char *part)
{
	CLEANUP_FREE char *answer = post(fixture, "", bytes, length);

	if (strncmp(answer, status, strlen(status)) != 0 || !strstr(answer, part))
		fail_msg("not '%s', '%s': %s", status, part, answer);
}

static void clients_are_told_what_became_of_it(void **state)
{
	CLEANUP(fixture_deinit) struct fixture fixture;
	size_t length, packed_length;
	CLEANUP_FREE uint8_t *bytes = small(&length),
			     *packed = gzip_bytes(bytes, length, &packed_length);

	(void)state;
	start_server(&fixture);
	assert_answers(&fixture, bytes, length, "HTTP/1.1 204 ", "");
	assert_answers(&fixture, packed, packed_length, "HTTP/1.1 204 ", "");
	assert_answers(&fixture, "nonsense", 8, "HTTP/1.1 400 ", "not a pprof file");
	assert_answers(&fixture, "", 0, "HTTP/1.1 400 ", "empty");
	assert_answers(&fixture, packed, packed_length - 9, "HTTP/1.1 400 ", "cut short");
	fixture.refusal = profcol_error_create(PROFCOL_UNAVAILABLE, "the queue is full");
	assert_answers(&fixture, bytes, length, "HTTP/1.1 503 ", "retry-after: 1\r\n");
	fixture.refusal = profcol_error_create(PROFCOL_REJECTED, "never");
	assert_answers(&fixture, bytes, length, "HTTP/1.1 500 ", "never");
	assert_int_equal(fixture.batches, 4);
	assert_int_equal(fake_host_metric(&fixture.fake, "pprof_unread"), 3);
	assert_int_equal(fake_host_metric(&fixture.fake, "receiver_refused_profile_samples"),
			 fake_host_metric(&fixture.fake, "receiver_accepted_profile_samples"));
}

static void scripts_of_other_origins_may_not_send(void **state)
{
	const char *allowed[] = { "https://shop.example" };
	CLEANUP(fixture_deinit) struct fixture fixture;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = small(&length);
	CLEANUP_FREE char *refused = NULL, *taken = NULL;

	(void)state;
	fixture_init_server(&fixture);
	fake_host_set_int(&fixture.fake, "server.cors", true);
	fake_host_set_list(&fixture.fake, "server.cors.allowed_origins", allowed, 1);
	fake_host_start(&fixture.fake);
	refused = post(&fixture, "Origin: https://evil.test\r\n", bytes, length);
	taken = post(&fixture, "Origin: https://shop.example\r\n", bytes, length);
	assert_int_equal(strncmp(refused, "HTTP/1.1 403 ", 13), 0);
	assert_int_equal(strncmp(taken, "HTTP/1.1 204 ", 13), 0);
	assert_int_equal(fixture.batches, 1);
}

static void bombs_and_large_bodies_end_at_a_bound(void **state)
{
	enum { LENGTH = 32 << 20 };
	CLEANUP(fixture_deinit) struct fixture fixture;
	CLEANUP_FREE uint8_t *zeros = calloc(1, LENGTH), *packed = NULL;
	size_t packed_length;

	(void)state;
	packed = gzip_bytes(zeros, LENGTH, &packed_length);
	start_server(&fixture);
	assert_answers(&fixture, zeros, (1 << 20) + 1, "HTTP/1.1 413 ", "max_request_body_size");
	assert_answers(&fixture, packed, packed_length, "HTTP/1.1 400 ",
		       "gzip holds more than 16777216 bytes");
	assert_int_equal(fixture.batches, 0);
}

/* ---- configurations ---- */

static void assert_config_error(struct fixture *fixture, const char *text)
{
	struct profcol_error *error = profcol_receiver_pprof.validate(fixture->fake.config);

	if (!error || !strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in '%s'", text, error ? profcol_error_message(error) : "");
	profcol_error_destroy(error);
}

static void what_cannot_be_is_refused(void **state)
{
	struct fixture fixture;
	const char *const bad[] = { "heap", "../x" };
	const char *const urls[] = { "http://a", "" };
	const char *const sampled[] = { "profile" };

	(void)state;
	fixture_init(&fixture);
	assert_config_error(&fixture, "at least one of file, remote and server");
	fake_host_set_int(&fixture.fake, "file", true);
	assert_config_error(&fixture, "file.include: name the files");
	fake_host_set_text(&fixture.fake, "file.include", "/tmp/{a,b}");
	assert_config_error(&fixture, "file.include: profcol knows no alternatives");
	fake_host_set_text(&fixture.fake, "file.include", "/tmp/*");
	fake_host_set_int(&fixture.fake, "remote", true);
	assert_config_error(&fixture, "remote.endpoint: name a URL");
	fake_host_set_text(&fixture.fake, "remote.endpoint", "localhost:6060");
	assert_config_error(&fixture, "remote.endpoint: 'localhost:6060' is not a URL");
	fake_host_set_text(&fixture.fake, "remote.endpoint", "http://localhost:6060?x=1");
	fake_host_set_list(&fixture.fake, "remote.profiles", bad, 1);
	assert_config_error(&fixture, "leave the query out");
	fake_host_set_list(&fixture.fake, "remote.profiles", bad, 2);
	assert_config_error(&fixture, "remote.profiles: '../x' is no name");
	fake_host_set_list(&fixture.fake, "remote.profiles", bad, 0);
	fake_host_set_list(&fixture.fake, "remote.endpoints", urls, 2);
	assert_config_error(&fixture, "remote.endpoints: one of them is empty");
	fake_host_set_list(&fixture.fake, "remote.endpoints", urls, 1);
	fake_host_set_text(&fixture.fake, "remote.endpoint", "http://localhost:6060");
	fake_host_set_list(&fixture.fake, "remote.profiles", sampled, 1);
	fake_host_set_int(&fixture.fake, "remote.profile_duration", 5 * PROFCOL_SECOND);
	fake_host_set_int(&fixture.fake, "remote.timeout", 5 * PROFCOL_SECOND);
	assert_config_error(&fixture, "remote.timeout: a server samples");
	fake_host_set_int(&fixture.fake, "self", true);
	assert_config_error(&fixture, "self: profcol is no Go program");
	fake_host_deinit(&fixture.fake);
	assert_int_equal(rmdir(fixture.directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_once_whatever_it_is_called),
		cmocka_unit_test(a_file_that_is_refused_for_now_is_read_again),
		cmocka_unit_test(what_is_no_file_is_left_alone),
		cmocka_unit_test(a_file_that_cannot_be_opened_is_told_of),
		cmocka_unit_test(what_the_kernel_shows_is_not_read),
		cmocka_unit_test(room_is_made_for_new_files),
		cmocka_unit_test(clients_are_told_what_became_of_it),
		cmocka_unit_test(scripts_of_other_origins_may_not_send),
		cmocka_unit_test(bombs_and_large_bodies_end_at_a_bound),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
