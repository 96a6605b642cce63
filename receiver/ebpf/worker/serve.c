// SPDX-License-Identifier: Apache-2.0
/*
 * The worker process. Who asks for pages asks for a big program in small portions: the last few
 * files stay mapped, with what was built of them. Of functions nothing is kept here: the profiler
 * has the index, and hands it over with each request.
 */
#include "worker.h"

#include "answer.h"
#include "base/base.h"
#include "foreign_file.h"
#include "memory_answer.h"
#include "sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
	HELPER_IMAGES = 8,
	HELPER_MAX_HEAP = 64 << 20, /* of what is kept next to what is new */
};

static const size_t HELPER_MAX_MAPPED = 2ull << 30;

/*
 * Silence is noticed in steps of this. After the first of them what is needed for the next answer
 * only goes. A file goes when nobody has asked for it for unasked_ns: as long as it is mapped its
 * file system cannot be unmounted.
 */
static const struct timeval silent_step = { .tv_sec = 2 };
static const uint64_t unasked_ns = 10000000000;

enum { SILENT_LIMIT = 6 }; /* steps: longer than unasked_ns, when all files have gone */

struct kept_image {
	uint64_t content;
	uint64_t last_used; /* request number; 0: free */
	uint64_t used_ns;   /* CLOCK_MONOTONIC, at that request */
	struct foreign_file file;
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
	image_deinit(&kept->image);
	foreign_file_close(&kept->file);
	*kept = (struct kept_image){ 0 };
}

static void serve_drop_all(struct helper *helper)
{
	for (size_t i = 0; i < HELPER_IMAGES; i++)
		kept_image_drop(&helper->kept[i]);
}

static void serve_drop_unasked(struct helper *helper)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < HELPER_IMAGES; i++) {
		struct kept_image *kept = &helper->kept[i];

		if (kept->last_used && now_ns >= kept->used_ns + unasked_ns)
			kept_image_drop(kept);
	}
}

/* Nobody has asked for another silent_step. */
static void serve_rest(struct helper *helper)
{
	serve_drop_unasked(helper);
	if (helper->silent_steps == SILENT_LIMIT)
		return;
	helper->silent_steps++;
	if (helper->silent_steps == 1 || helper->silent_steps == SILENT_LIMIT)
		residency_trim();
}

/* The descriptors that came with a request. */
struct received {
	int fds[PROTOCOL_MAX_FILES]; /* owned; -1: none */
};

static void received_cleanup(struct received *received)
{
	for (size_t i = 0; i < PROTOCOL_MAX_FILES; i++)
		if (received->fds[i] >= 0)
			close(TAKE_FD(received->fds[i]));
}

static void received_take(struct received *received, const struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    received->fds[0] >= 0 || count > PROTOCOL_MAX_FILES)
		return;
	memcpy(received->fds, CMSG_DATA(header), count * sizeof(int));
}

/* All of @bytes, with the descriptors that came along in *@received. False at the end. */
static bool receive_all(struct helper *helper, void *to, size_t bytes, struct received *received)
{
	for (size_t done = 0; done < bytes;) {
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(PROTOCOL_MAX_FILES * sizeof(int))];
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
		if (header)
			received_take(received, header);
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

/* *@fd is taken if it is needed any longer. */
static int serve_map(struct helper *helper, int *fd, uint64_t content, struct kept_image **ret)
{
	off_t bytes = lseek(*fd, 0, SEEK_END);
	struct kept_image *kept;
	int result;

	if (bytes < 0)
		return -errno;
	if ((uint64_t)bytes > HELPER_MAX_MAPPED)
		return -EFBIG;
	kept = serve_make_room(helper, (size_t)bytes, NULL);
	if (!kept)
		return -ENOMEM;
	result = foreign_file_open(&kept->file, fd, (size_t)bytes);
	if (result)
		return result;
	image_init(&kept->image, kept->file.bytes, kept->file.size);
	kept->content = content;
	*ret = kept;
	return 0;
}

static int serve_find(struct helper *helper, int *fd, uint64_t content, struct kept_image **ret)
{
	int result = 0;

	*ret = NULL;
	for (size_t i = 0; i < HELPER_IMAGES && !*ret; i++)
		if (helper->kept[i].last_used && helper->kept[i].content == content)
			*ret = &helper->kept[i];
	if (!*ret)
		result = serve_map(helper, fd, content, ret);
	if (!result) {
		(*ret)->last_used = ++helper->requests;
		(*ret)->used_ns = clock_monotonic_ns();
	}
	return result;
}

/* Memory that the profiler has made for an index, mapped for one request. */
struct mapping {
	void *bytes; /* "" for an empty one */
	size_t size;
};

static void mapping_cleanup(struct mapping *mapping)
{
	if (mapping->size)
		munmap(mapping->bytes, mapping->size);
}

static int mapping_init(struct mapping *mapping, int fd, int protection, int flags)
{
	off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *mapped;

	if (bytes < 0)
		return fd < 0 ? -EBADF : -errno;
	if (bytes > WORKER_INDEX_BYTES)
		return -EFBIG;
	mapping->bytes = "";
	if (!bytes)
		return 0;
	mapped = mmap(NULL, (size_t)bytes, protection, flags, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	*mapping = (struct mapping){ mapped, (size_t)bytes };
	return 0;
}

static int serve_functions(struct helper *helper, const struct received *received,
			   size_t asked_count, void **body_ret, size_t *bytes_ret)
{
	static struct function_index index; // 20 KiB
	CLEANUP(mapping_cleanup) struct mapping mapping = { 0 };
	int result = mapping_init(&mapping, received->fds[0], PROT_READ, MAP_PRIVATE);

	if (result)
		return result;
	if (!function_index_open(&index, mapping.bytes, mapping.size))
		return -EBADMSG;
	return answer_write(&index, helper->asked, asked_count, body_ret, bytes_ret);
}

struct made_from {
	struct foreign_file file, debug;
	struct mapping index;
};

static void made_from_cleanup(struct made_from *from)
{
	foreign_file_close(&from->file);
	foreign_file_close(&from->debug);
	mapping_cleanup(&from->index);
}

/* What has been read of both files can be read again. */
static void made_from_release(const void *context)
{
	const struct made_from *from = context;

	foreign_file_release(&from->file);
	foreign_file_release(&from->debug);
}

static int serve_index(struct helper *helper, struct received *received, size_t asked_count,
		       void **body_ret, size_t *bytes_ret)
{
	CLEANUP(made_from_cleanup) struct made_from from = { 0 };
	struct functions_files files = { .release = { made_from_release, &from } };
	struct functions_made made;
	int result;

	// Room for what it takes to make one.
	serve_drop_all(helper);
	result = foreign_file_open(&from.file, &received->fds[0], HELPER_MAX_MAPPED);
	if (!result)
		result = mapping_init(&from.index, received->fds[1], PROT_READ | PROT_WRITE,
				      MAP_SHARED);
	// A debug file that cannot be mapped costs the file's own names nothing.
	if (!result && asked_count && received->fds[2] >= 0 &&
	    !foreign_file_open(&from.debug, &received->fds[2], HELPER_MAX_MAPPED)) {
		files.debug = from.debug.bytes;
		files.debug_bytes = from.debug.size;
		files.debug_found_by =
			helper->asked[0] ? WORKER_DEBUG_BY_LINK : WORKER_DEBUG_BY_BUILD_ID;
	}
	if (result)
		return result;
	files.file = from.file.bytes;
	files.file_bytes = from.file.size;
	result = functions_make(&files, from.index.bytes, from.index.size, &made);
	if (!result && (from.file.torn || from.debug.torn))
		result = -EIO;
	if (result)
		return result;
	made.index.debug_refused |= asked_count && !from.debug.size;
	return answer_write_index(&made, body_ret, bytes_ret);
}

/* What was read of @kept's file is let go: what is asked for next lies elsewhere in it. If it was
 * torn, nothing that was read of it holds. */
static int serve_release(struct kept_image *kept, int result)
{
	bool torn = kept->file.torn;

	if (torn)
		kept_image_drop(kept);
	else
		foreign_file_release(&kept->file);
	return torn ? -EIO : result;
}

static int serve_pages(struct helper *helper, struct received *received, uint64_t content,
		       size_t asked_count, void **body_ret, size_t *bytes_ret)
{
	struct kept_image *kept;
	int result = received->fds[0] < 0 ? -EBADF
					  : serve_find(helper, &received->fds[0], content, &kept);

	if (result)
		return result;
	if (!kept->image.has_source)
		serve_make_room(helper, 0, kept);
	result = image_read_source(&kept->image);
	if (!result)
		result = answer_write_pages(&kept->image, helper->asked, asked_count, body_ret,
					    bytes_ret);
	return serve_release(kept, result);
}

static int serve_lines(struct helper *helper, struct received *received, uint64_t content,
		       size_t asked_count, void **body_ret, size_t *bytes_ret)
{
	struct kept_image *kept;
	int result = received->fds[0] < 0 ? -EBADF
					  : serve_find(helper, &received->fds[0], content, &kept);

	if (result)
		return result;
	image_read_lines(&kept->image);
	result = answer_write_lines(&kept->image, helper->asked, asked_count, body_ret, bytes_ret);
	return serve_release(kept, result);
}

/* About the memory of a process, or what it names its code in: nothing is kept. */
static int serve_memory(const struct helper *helper, const struct protocol_request *request, int fd,
			void **body_ret, size_t *bytes_ret)
{
	struct memory_asked asked;

	enum protocol_kind kind = (enum protocol_kind)request->kind;

	if (!memory_asked_read(kind, helper->asked, request->asked_count, &asked))
		return -EINVAL;
	return memory_answer_write(kind, &asked, fd, body_ret, bytes_ret);
}

static bool serve_receive(struct helper *helper, struct protocol_request *request,
			  struct received *received)
{
	static const size_t most[] = {
		[PROTOCOL_FUNCTIONS] = PROTOCOL_MAX_ASKED,
		[PROTOCOL_PAGES] = WORKER_MAX_PAGES,
		[PROTOCOL_INDEX] = 1,
		[PROTOCOL_LINES] = WORKER_MAX_PLACES,
		[PROTOCOL_ATTACH] = PROTOCOL_MAX_ASKED,
		[PROTOCOL_NAMES] = PROTOCOL_MAX_ASKED,
		[PROTOCOL_MAP] = PROTOCOL_MAX_ASKED,
	};

	return receive_all(helper, request, sizeof(*request), received) &&
	       request->magic == PROTOCOL_MAGIC && request->kind < PROTOCOL_KINDS &&
	       request->asked_count <= most[request->kind] &&
	       receive_all(helper, helper->asked, request->asked_count * sizeof(*helper->asked),
			   received);
}

static int serve_request(struct helper *helper, const struct protocol_request *request,
			 struct received *received, void **body_ret, size_t *bytes_ret)
{
	switch (request->kind) {
	case PROTOCOL_PAGES:
		return serve_pages(helper, received, request->content, request->asked_count,
				   body_ret, bytes_ret);
	case PROTOCOL_INDEX:
		return serve_index(helper, received, request->asked_count, body_ret, bytes_ret);
	case PROTOCOL_LINES:
		return serve_lines(helper, received, request->content, request->asked_count,
				   body_ret, bytes_ret);
	case PROTOCOL_ATTACH:
	case PROTOCOL_NAMES:
	case PROTOCOL_MAP:
		return serve_memory(helper, request, received->fds[0], body_ret, bytes_ret);
	default:
		return serve_functions(helper, received, request->asked_count, body_ret, bytes_ret);
	}
}

/* One request. False: the profiler has gone. */
static bool serve_serve(struct helper *helper)
{
	CLEANUP(received_cleanup) struct received received = { { -1, -1, -1 } };
	struct protocol_request request;
	CLEANUP_FREE void *body = NULL;
	size_t bytes = 0;
	int result;

	if (!serve_receive(helper, &request, &received))
		return false;
	helper->silent_steps = 0;
	result = serve_request(helper, &request, &received, &body, &bytes);
	serve_drop_unasked(helper);
	// A file system that does not answer this is not to hold up the next file's answer.
	received_cleanup(&received);
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
	struct protocol_hello hello;

	if (socket <= STDERR_FILENO)
		return 1;
	if (recv(socket, &hello, sizeof(hello), MSG_WAITALL) != sizeof(hello) ||
	    hello.magic != PROTOCOL_MAGIC)
		return 1;
	if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &silent_step, sizeof(silent_step)))
		return 1;
	if (foreign_files_init())
		return 1;
	error = sandbox_enter(socket, hello.uid);
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
