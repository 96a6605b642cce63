// SPDX-License-Identifier: Apache-2.0
#include "unfinished.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The kernel's buffer of such a file; a record of OFF_CPU_PASS_RECORD_BYTES is far shorter. */
enum { READ_BYTES = 32768 };

/* A pass ends with so many: who has not been looked at by then loses nothing. */
enum { MOST_BYTES = 4 << 20 };

/* For millions of threads, and so that no sum overflows. */
static const uint64_t MOST_THRESHOLD = 1ull << 50;

/* The least that off_cpu_weigh_fixed() computes with: of 4 million threads, one thousand. */
enum { LEAST_SHARE = 1 << 20 };

uint64_t unfinished_threshold(const __u64 lengths[OFF_CPU_PASS_LENGTHS], uint64_t most)
{
	uint64_t threshold = OFF_CPU_PASS_LEAST_NS;

	while (threshold < MOST_THRESHOLD) {
		double kept = 0;

		for (int bits = 0; bits < OFF_CPU_PASS_LENGTHS; bits++) {
			double longest = (double)(1ull << bits);
			double share = longest / (double)threshold;

			kept += (double)lengths[bits] * (share < 1 ? share : 1);
		}
		if (kept <= (double)most)
			break;
		threshold *= 2;
	}
	return threshold;
}

uint32_t unfinished_share(const __u64 lengths[OFF_CPU_PASS_LENGTHS], uint64_t most, uint32_t share)
{
	double count = 0, fitting;

	for (int bits = 0; bits < OFF_CPU_PASS_LENGTHS; bits++)
		count += (double)lengths[bits];
	if (count <= (double)most || share < LEAST_SHARE)
		return share;
	fitting = (double)most / count * 4294967296.0;
	if (fitting < LEAST_SHARE)
		fitting = LEAST_SHARE;
	return fitting < share ? (uint32_t)fitting : share;
}

/* One reading of what the program says. Its length; 0: all has been looked at; a negative errno. */
static ssize_t read_once(int fd, struct event_records *records)
{
	ssize_t length;

	if (!VECTOR_RESERVE(&records->bytes, READ_BYTES))
		return -ENOMEM;
	do
		length = read(fd, records->bytes.items + records->bytes.count, READ_BYTES);
	while (length < 0 && (errno == EINTR || errno == EAGAIN));
	if (length < 0)
		return -errno;
	records->bytes.count += (size_t)length;
	return length;
}

/* Has the program look at all threads. 0 or a negative errno. */
static int look(struct unfinished *unfinished, struct event_records *records)
{
	CLEANUP_FD int fd = bpf_iter_create(bpf_link__fd(unfinished->link));
	ssize_t length;

	if (fd < 0)
		return -errno;
	do
		length = read_once(fd, records);
	while (length > 0 && records->bytes.count < MOST_BYTES);
	return length < 0 ? (int)length : 0;
}

void unfinished_init(struct unfinished *unfinished, const struct bpf_program *program,
		     struct off_cpu_pass *pass, uint32_t share)
{
	struct event_records none = { 0 };

	*unfinished = (struct unfinished){ .pass = pass, .share = share };
	unfinished->link = bpf_program__attach_iter(program, NULL);
	if (!unfinished->link) {
		unfinished->status = -errno;
		return;
	}
	pass->begins = 1;
	unfinished->status = look(unfinished, &none);
	pass->begins = 0;
	VECTOR_DEINIT(&none.bytes);
	if (unfinished->status)
		unfinished_deinit(unfinished);
}

void unfinished_deinit(struct unfinished *unfinished)
{
	bpf_link__destroy(TAKE(unfinished->link));
}

int unfinished_tell(struct unfinished *unfinished, uint64_t most, struct event_records *records)
{
	struct off_cpu_pass *pass = unfinished->pass;
	int status;

	if (!unfinished->link)
		return unfinished->status;
	pass->threshold = 0;
	memset(pass->lengths, 0, sizeof(pass->lengths));
	status = look(unfinished, records);
	pass->share = unfinished_share(pass->lengths, most, unfinished->share);
	pass->threshold = unfinished_threshold(pass->lengths, most);
	return status ? status : look(unfinished, records);
}
