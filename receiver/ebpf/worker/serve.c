// SPDX-License-Identifier: Apache-2.0
/*
 * The worker process. It maps a file, answers, and keeps the last few files with
 * their indexes: the profiler asks for a big program in small portions. An index is built when
 * it is first needed: who asks for pages never pays for symbols.
 */
#include "worker.h"

#include "answer.h"
#include "base/base.h"
#include "sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	HELPER_IMAGES = 8,
	HELPER_MAX_HEAP = 64 << 20, /* of indexes kept next to a new one: 4 M functions */
};

static const size_t HELPER_MAX_MAPPED = 2ull << 30;

/*
 * Silence is noticed in steps of this. After the first of them what is needed for the next answer
 * only goes, after SILENT_LIMIT all files do: a file system cannot be unmounted while a file of it
 * is mapped.
 */
static const struct timeval silent_step = { .tv_sec = 2 };

enum { SILENT_LIMIT = 15 };

struct kept_image {
	uint64_t content;
	uint64_t last_used; /* request number; 0: free */
	struct image image;
};

struct helper {
	int socket;
	unsigned int silent_steps; /* since the last request, up to SILENT_LIMIT */
	uint64_t requests;
	uint64_t asked[PROTOCOL_MAX_ASKED];
	struct kept_image kept[HELPER_IMAGES];
};

static void kept_image_drop(struct kept_image *kept)
{
	const struct image *image = &kept->image;

	if (image->file_bytes)
		munmap((void *)(uintptr_t)image->file, image->file_bytes);
	image_deinit(&kept->image);
	*kept = (struct kept_image){ 0 };
}

static void serve_drop_all(struct helper *helper)
{
	for (size_t i = 0; i < HELPER_IMAGES; i++)
		kept_image_drop(&helper->kept[i]);
}

/* Nobody has asked for another silent_step. */
static void serve_rest(struct helper *helper)
{
	if (helper->silent_steps == SILENT_LIMIT)
		return;
	helper->silent_steps++;
	if (helper->silent_steps == SILENT_LIMIT)
		serve_drop_all(helper);
	if (helper->silent_steps == 1 || helper->silent_steps == SILENT_LIMIT)
		residency_trim();
}

/* All of @bytes, with the descriptor that came along (or -1) in *@fd. False at the end. */
static bool receive_all(struct helper *helper, void *to, size_t bytes, int *fd)
{
	for (size_t done = 0; done < bytes;) {
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		struct iovec part = { (char *)to + done, bytes - done };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control,
					  .msg_controllen = sizeof(control) };
		ssize_t got = recvmsg(helper->socket, &message, MSG_CMSG_CLOEXEC);
		struct cmsghdr *header;

		if (got < 0 && errno == EAGAIN)
			serve_rest(helper);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return false;
		header = CMSG_FIRSTHDR(&message);
		if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
		    *fd < 0)
			memcpy(fd, CMSG_DATA(header), sizeof(*fd));
		done += (size_t)got;
	}
	return true;
}

static bool send_all(int socket, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		struct iovec part = { (char *)(uintptr_t)from + done, bytes - done };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		done += (size_t)sent;
	}
	return true;
}

static bool send_message(int socket, uint32_t id, int status, const void *body, size_t bytes)
{
	const struct protocol_header header = {
		.magic = PROTOCOL_MAGIC,
		.id = id,
		.status = (uint32_t)status,
		.body_bytes = (uint32_t)bytes,
	};

	return send_all(socket, &header, sizeof(header)) && send_all(socket, body, bytes);
}

/*
 * A free place, with room for @file_bytes and an index more: what was used longest ago goes. With
 * @wanted, only room for its index.
 */
static struct kept_image *serve_make_room(struct helper *helper, size_t file_bytes,
					  const struct kept_image *wanted)
{
	for (;;) {
		struct kept_image *oldest = NULL, *free_place = NULL;
		size_t mapped = file_bytes, heap = 0;

		for (size_t i = 0; i < HELPER_IMAGES; i++) {
			struct kept_image *kept = &helper->kept[i];

			if (!kept->last_used) {
				free_place = kept;
				continue;
			}
			mapped += kept->image.file_bytes;
			heap += image_memory(&kept->image);
			if (kept != wanted && (!oldest || kept->last_used < oldest->last_used))
				oldest = kept;
		}
		if ((free_place || wanted) && mapped <= HELPER_MAX_MAPPED &&
		    heap <= HELPER_MAX_HEAP)
			return free_place;
		if (!oldest)
			return NULL;
		kept_image_drop(oldest);
	}
}

static int serve_map(struct helper *helper, int fd, uint64_t content, struct kept_image **ret)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	struct kept_image *kept;
	void *file = NULL;

	if (bytes < 0)
		return -errno;
	if ((uint64_t)bytes > HELPER_MAX_MAPPED)
		return -EFBIG;
	kept = serve_make_room(helper, (size_t)bytes, NULL);
	if (!kept)
		return -ENOMEM;
	if (bytes) {
		file = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file == MAP_FAILED)
			return -errno;
	}
	image_init(&kept->image, file ? file : "", (size_t)bytes);
	kept->image.mapped = file;
	kept->content = content;
	*ret = kept;
	return 0;
}

static int serve_find(struct helper *helper, int fd, uint64_t content, struct kept_image **ret)
{
	int result = 0;

	*ret = NULL;
	for (size_t i = 0; i < HELPER_IMAGES && !*ret; i++)
		if (helper->kept[i].last_used && helper->kept[i].content == content)
			*ret = &helper->kept[i];
	if (!*ret)
		result = serve_map(helper, fd, content, ret);
	if (!result)
		(*ret)->last_used = ++helper->requests;
	return result;
}

static int serve_functions(struct helper *helper, struct kept_image *kept, size_t asked_count,
			   void **body_ret, size_t *bytes_ret)
{
	struct image *image = &kept->image;
	int result;

	if (!image->has_symbols) {
		serve_make_room(helper, 0, kept);
		result = image_read_symbols(image);
		if (result)
			return result;
	}
	return answer_write(image, helper->asked, asked_count, body_ret, bytes_ret);
}

static int serve_pages(struct helper *helper, struct kept_image *kept, size_t asked_count,
		       void **body_ret, size_t *bytes_ret)
{
	struct image *image = &kept->image;
	int result;

	if (!image->has_source)
		serve_make_room(helper, 0, kept);
	result = image_read_source(image);
	if (!result)
		result = answer_write_pages(image, helper->asked, asked_count, body_ret, bytes_ret);
	return result;
}

static bool serve_receive(struct helper *helper, struct protocol_request *request, int *fd)
{
	size_t most = PROTOCOL_MAX_ASKED;

	if (!receive_all(helper, request, sizeof(*request), fd) || request->magic != PROTOCOL_MAGIC)
		return false;
	if (request->kind == PROTOCOL_PAGES)
		most = WORKER_MAX_PAGES;
	return request->asked_count <= most &&
	       receive_all(helper, helper->asked, request->asked_count * sizeof(*helper->asked),
			   fd);
}

/* One request. False: the profiler has gone. */
static bool serve_serve(struct helper *helper)
{
	struct protocol_request request;
	CLEANUP_FREE void *body = NULL;
	CLEANUP_FD int fd = -1;
	struct kept_image *kept;
	size_t bytes = 0;
	int result;

	if (!serve_receive(helper, &request, &fd))
		return false;
	helper->silent_steps = 0;
	result = serve_find(helper, fd, request.content, &kept);
	if (!result && request.kind == PROTOCOL_PAGES)
		result = serve_pages(helper, kept, request.asked_count, &body, &bytes);
	else if (!result)
		result = serve_functions(helper, kept, request.asked_count, &body, &bytes);
	// What is asked for next lies elsewhere in the file.
	if (kept)
		image_release(&kept->image);
	// A file system that does not answer this is not to hold up the next file's answer.
	if (fd >= 0)
		close(TAKE_FD(fd));
	return send_message(helper->socket, request.id, -result, body, bytes);
}

static int serve_complain(int socket, const struct profcol_error *error)
{
	const char *text = profcol_error_message(error);

	send_message(socket, 0, EPERM, text, strnlen(text, PROTOCOL_MAX_COMPLAINT));
	return 1;
}

int worker_helper(int socket)
{
	static struct helper helper; // 40 KiB; one per process
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (socket <= STDERR_FILENO)
		return 1;
	if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &silent_step, sizeof(silent_step)))
		return 1;
	error = sandbox_enter(socket);
	if (error)
		return serve_complain(socket, error);
	helper.socket = socket;
	residency_trim();
	if (send_message(socket, 0, 0, NULL, 0))
		while (serve_serve(&helper))
			;
	// Nothing that runs at a regular exit would pass the filter.
	_exit(0);
}
