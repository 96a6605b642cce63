/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver, a processor, an exporter or an extension provides to the host,
 * and what the host provides to it.
 *
 * A component is one `const struct profcol_component`. The host owns every
 * instance made from it and calls it in this order:
 *
 *   create -> start -> consume* -> shutdown -> destroy
 *
 * shutdown may come without start (another component failed to start), and
 * destroy always comes last. Downstream starts first and shuts down last, so
 * consume never meets a stopped neighbour.
 *
 * Threads: create, start, shutdown and destroy come from the host's main thread,
 * one at a time; but the shutdown of an exporter with `send` may come from another one. consume may
 * come from any thread, also from several at once, unless the descriptor sets PROFCOL_SERIAL. A
 * component owns the threads it starts, says so in its README, and has joined them when shutdown
 * returns.
 *
 * A component keeps no globals: two instances never meet.
 */
#pragma once

#include <profcol/errors.h>
#include <profcol/logging.h>
#include <profcol/metrics.h>
#include <profcol/options.h>
#include <profcol/status.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct profcol_batch;
struct profcol_http_answer;
struct profcol_http_call;
struct profcol_http_listener;
struct profcol_http_settings;
struct profcol_storage_operations;

/*
 * Bumped when a field changes its meaning or a structure its size, but for those that may grow at
 * their ends, each of which has a member `size`: struct profcol_component, profcol_host,
 * profcol_logger, profcol_http_settings, profcol_http_call, profcol_http_answer,
 * profcol_storage_operations.
 */
#define PROFCOL_ABI 1

enum profcol_kind {
	PROFCOL_RECEIVER,
	PROFCOL_PROCESSOR,
	PROFCOL_EXPORTER,
	PROFCOL_EXTENSION,
};

enum profcol_stability { PROFCOL_DEVELOPMENT, PROFCOL_ALPHA, PROFCOL_BETA, PROFCOL_STABLE };

enum profcol_capability {
	PROFCOL_MUTATES = 1 << 0, /* wants a batch that nobody else reads */
	PROFCOL_SERIAL = 1 << 1,  /* consume is never called concurrently */
};

/*
 * The host's services to one instance. Owned by the host, borrowed by the
 * instance until destroy. It has all that the component's headers know: a plugin
 * that was built with newer ones than the program is not loaded.
 */
struct profcol_host {
	size_t size;         /* sizeof on the host's side */
	const char *id;      /* "pprof/node" */
	const char *version; /* of the program, e.g. "0.1.0" */
	const struct profcol_logger *logger;

	/*
	 * Hand @batch to whatever follows this instance in the pipelines. Takes the
	 * caller's reference, whatever the result. An error means that at least one
	 * consumer refused; the host has booked the loss. Waits while a reload replaces what
	 * follows. NULL for an exporter.
	 */
	PROFCOL_MUST_CHECK struct profcol_error *(*consume_next)(const struct profcol_host *host,
								 struct profcol_batch *batch);

	/* Book @samples (see metrics.h). @cause is a short lower_snake_case literal; NULL for
	 * TAKEN, EXPORTED and STORED. Any thread. */
	void (*account)(const struct profcol_host *host, enum profcol_outcome outcome,
			const char *cause, uint64_t samples);

	/*
	 * Register a metric of this instance. @name without prefix, "" as @label when it has none,
	 * else "key=value" or "key=value,key=value", without commas in values. The same name and
	 * label again give the same metric. Never NULL.
	 */
	struct profcol_metric *(*metric)(const struct profcol_host *host,
					 enum profcol_metric_kind kind, const char *name,
					 const char *label, const char *doc);

	/*
	 * Say how this instance is, from start on: OK or one of the errors. Who has said nothing
	 * when start has returned is OK. A change is logged with @message; a RECOVERABLE_ERROR
	 * without one (NULL) is not: the caller has logged why. Nothing follows PERMANENT_ERROR;
	 * FATAL_ERROR ends the process. Any thread.
	 */
	void (*report_status)(const struct profcol_host *host, enum profcol_status status,
			      const char *message);

	/*
	 * Start this component's helper (see profcol_component.helper) as a process of its own:
	 * a fresh image of this program with nothing open but stdio and one end of a stream
	 * socket. The caller owns *@socket_ret and has to reap *@pid_ret. The kernel kills the
	 * helper with the host. It ignores SIGINT, SIGTERM and SIGHUP, which a terminal or a
	 * service manager sends to the whole group: close the socket or send SIGKILL. Any thread.
	 */
	PROFCOL_MUST_CHECK struct profcol_error *(*spawn_helper)(const struct profcol_host *host,
								 int *socket_ret, pid_t *pid_ret);

	/*
	 * How all components are at this moment, in one piece of memory for view_release; NULL
	 * without memory. Any thread, after start of this instance; does not block for long.
	 */
	struct profcol_service_view *(*view)(const struct profcol_host *host);
	void (*view_release)(struct profcol_service_view *view); /* accepts NULL */

	/*
	 * Serve pages (see http.h; @settings are copied but for what `context` points to). The
	 * address is bound when it returns; one that is in use is an error that says so.
	 * http_close returns when no handler of the listener runs any more; it accepts NULL.
	 * Between start and shutdown of this instance.
	 */
	PROFCOL_MUST_CHECK struct profcol_error *(*http_open)(
		const struct profcol_host *host, const struct profcol_http_settings *settings,
		struct profcol_http_listener **ret);
	void (*http_close)(struct profcol_http_listener *listener);

	/*
	 * Has every component that follows this instance in its pipelines said that it knows the
	 * resource with attribute @key (see profcol_component.knows)? True when none of them has
	 * such a function. False, without waiting, while a reload replaces what follows, and while
	 * one that has such a function does not run. NULL where consume_next is. Any thread.
	 */
	bool (*known)(const struct profcol_host *host, const char *key, const char *value);

	/*
	 * Readable once the process has been asked to end: a start that waits stops waiting then,
	 * and returns without an error, at the start of the program as in a reload, which is then
	 * cut short. Whoever has done so may still get batches before it is shut down. To be
	 * polled only: owned by the host; 0 = there is none.
	 */
	int end_fd;

	/*
	 * Answer a request of profcol_http_settings.take. Takes @call and the body of @answer,
	 * whether the client is still there or not. Any thread; does not wait.
	 */
	void (*http_answer)(struct profcol_http_call *call,
			    const struct profcol_http_answer *answer);

	/* Has the client of @call left, so that its answer is of no use? Any thread. */
	bool (*http_is_gone)(const struct profcol_http_call *call);

	/*
	 * What all components that run have booked so far (see account): calls @visit for each
	 * component, outcome and cause, those without samples left out. @kind is "receiver",
	 * "processor" or "exporter", @id as in the configuration, @cause NULL where there is none;
	 * texts are borrowed during the call. Any thread, after start of this instance; does not
	 * block for long, nor may @visit.
	 */
	void (*visit_accounts)(const struct profcol_host *host,
			       void (*visit)(void *context, const char *kind, const char *id,
					     enum profcol_outcome outcome, const char *cause,
					     uint64_t samples),
			       void *context);

	/*
	 * May this instance take @bytes more of memory, for a while, to make a batch? Asks all
	 * that follow it in its pipelines (see profcol_component.has_room): true when none of them
	 * says no. NULL where consume_next is. Any thread; does not block.
	 */
	bool (*has_room)(const struct profcol_host *host, size_t bytes);
};

/* One thing that a component asks of the machine; see profcol_component.diagnose. */
struct profcol_finding {
	const char *subject; /* what was looked at: "capability SYS_PTRACE", "kernel 5.10" */
	enum profcol_verdict {
		PROFCOL_FINE,
		PROFCOL_LACKING, /* it runs, but does less */
		PROFCOL_MISSING, /* it cannot do what its configuration asks for */
	} verdict;
	const char *detail; /* what was found; "" without */
	const char *effect; /* what is lost; "" when FINE */
	const char *remedy; /* the line to add, or the command; "" when FINE */
};

struct profcol_findings {
	void (*add)(struct profcol_findings *findings, const struct profcol_finding *finding);

	/* Could http_open serve these pages here? NULL if so. @settings need no handler. */
	PROFCOL_MUST_CHECK struct profcol_error *(*try_http)(
		struct profcol_findings *findings, const struct profcol_http_settings *settings);

	/*
	 * This component will use @what, "directory '/var/lib/queue'", and nobody else can then.
	 * Returns who of the same configuration has claimed it before, "extension file_storage",
	 * borrowed until diagnose returns; NULL without. May be NULL.
	 */
	const char *(*claim)(struct profcol_findings *findings, const char *what);

	/* Keep @fd, which it takes, until every component has been asked: a socket that is bound,
	 * so that another's attempt fails here as it would at the start. May be NULL. */
	void (*hold)(struct profcol_findings *findings, int fd);
};

/*
 * One request to a peer: an ExportProfilesServiceRequest (opentelemetry-proto 1.11,
 * profiles v1development) as protobuf. Borrowed during the call.
 */
struct profcol_request {
	const uint8_t *bytes;
	size_t length;
	uint64_t samples;     /* events in it, as the account counts them */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; UINT64_MAX = none */
	uint64_t profiles;    /* messages of type Profile in it */
};

/* What a peer said, beyond the error that send returns. Zeroed before the call. */
struct profcol_reply {
	const char *cause; /* of an error: a lower_snake_case literal that the loss is booked
			    * under, e.g. "invalid_argument"; NULL = the error code's name */
	bool too_large;    /* of an error: the peer may accept the same in smaller requests */
	/* Of a success: samples that the peer did not take, for good. OTLP counts profiles here:
	 * the exporter converts, by the request's figures. */
	uint64_t rejected;
	char *message; /* of a success: the peer's remark or NULL; free() by the host */
};

struct profcol_component {
	uint32_t abi;  /* PROFCOL_ABI */
	uint32_t size; /* sizeof(struct profcol_component) */
	enum profcol_kind kind;
	enum profcol_stability stability;
	unsigned int capabilities;  /* enum profcol_capability */
	const char *type;           /* key in the configuration: ^[a-zA-Z][0-9a-zA-Z_]{0,62}$ */
	const char *const *aliases; /* other accepted spellings, NULL-terminated; or NULL */
	const char *summary;        /* one line */
	const struct profcol_option *options;
	size_t config_size; /* of the struct that @options describes */

	/*
	 * What the table cannot say (two fields together). Optional. Touches nothing outside
	 * @config: `validate` runs it. The message starts with the key it is about.
	 */
	struct profcol_error *(*validate)(const void *config);

	/* @config and @host are borrowed until destroy. *@ret is written only on success. */
	struct profcol_error *(*create)(const struct profcol_host *host, const void *config,
					void **ret);

	/* Sockets, BPF, threads. Optional. On error the instance is still shut down and destroyed.
	 */
	struct profcol_error *(*start)(void *self);

	/* Takes @batch, whatever the result. NULL for a receiver, an extension, and an exporter
	 * that has `send`. */
	struct profcol_error *(*consume)(void *self, struct profcol_batch *batch);

	/*
	 * Stop accepting, push what is held downstream or out, join own threads. Returns by
	 * @deadline_ns (CLOCK_MONOTONIC) and books what had to be dropped. Optional. An error
	 * is reported; the shutdown goes on.
	 */
	struct profcol_error *(*shutdown)(void *self, uint64_t deadline_ns);

	/* @self may be half-built, or NULL. */
	void (*destroy)(void *self);

	/*
	 * Take over @config instead of the one given before (valid until destroy or the next
	 * reconfigure). Returns false for "restart me". No batch is inside meanwhile; the
	 * component's own threads run. Never called for one that has `send` or `storage`. Optional.
	 */
	bool (*reconfigure)(void *self, const void *config);

	/*
	 * Body of the helper process that spawn_helper starts: owns @socket, returns the exit
	 * code. Runs single-threaded and before the host has read any configuration, with an empty
	 * environment. Has to return when @socket is at its end: the host is done with it, or
	 * dead. Optional.
	 */
	int (*helper)(int socket);

	/*
	 * An exporter that talks to a peer has this instead of consume: deliver @request, once.
	 * The host queues, joins, splits, retries and books for it, and adds the Collector's keys
	 * (`sending_queue`, `retry_on_failure`, `timeout`, and our own) to its options. Called from
	 * several threads at once, between start and destroy: the last calls may come while
	 * shutdown runs, or just after. Beyond @request's deadline, and once shutdown has been
	 * called, it returns soon. UNAVAILABLE, THROTTLED: the host tries again.
	 */
	PROFCOL_MUST_CHECK struct profcol_error *(*send)(void *self,
							 const struct profcol_request *request,
							 struct profcol_reply *reply);

	/* An extension that can keep exporters' queues (see storage.h). Optional. */
	const struct profcol_storage_operations *storage;

	/*
	 * What @config asks of this machine, one finding for each, for `profcol doctor`: looks, and
	 * at most tries; leaves nothing behind. The texts are borrowed during the call of add.
	 * Optional.
	 */
	void (*diagnose)(const void *config, struct profcol_findings *findings);

	/*
	 * Can this component say by now all that it has to say about a resource whose attribute
	 * @key is @value, e.g. "container.id"? True also when it never will: of other keys, of what
	 * it has found out not to exist, after a failure for good. A receiver may hold back what is
	 * new for a while until it is (profcol_host.known). Cheap, does not block: called again and
	 * again, from any thread, between start and shutdown, also while consume runs. Optional.
	 */
	bool (*knows)(void *self, const char *key, const char *value);

	/* As diagnose, of process @pid alone: what can be seen of it. Optional. */
	void (*diagnose_process)(const void *config, uint32_t pid,
				 struct profcol_findings *findings);

	/*
	 * Is there memory for @bytes more, which somebody before this component in a pipeline is
	 * about to take (profcol_host.has_room)? Cheap, does not block: called from any thread,
	 * between start and shutdown, also while consume runs. Optional.
	 */
	bool (*has_room)(void *self, size_t bytes);
};
