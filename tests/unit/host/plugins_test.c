// SPDX-License-Identifier: Apache-2.0
/* Loads the plugins of tests/plugin, which are built beside this test, from places of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/plugins/note.h"
#include "host/plugins/object.h"
#include "host/plugins/place.h"
#include "host/plugins/plugins.h"
#include "host/registry.h"
#include "host/spawner.h"

#include "base/base.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct profcol_option no_options[] = { PROFCOL_OPTION_END };

static const struct profcol_component debug = {
	.abi = PROFCOL_ABI,
	.size = sizeof(debug),
	.kind = PROFCOL_EXPORTER,
	.type = "debug",
	.options = no_options,
};

static const struct profcol_component *const components[] = { &debug };
static const struct component_registry builtin = { components, 1 };

/* ---- a directory of plugins, /tmp/.../plugins ---- */

struct folder {
	char root[64], plugins[96];
};

static void folder_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void folder_run(const char *format, ...)
{
	char command[PATH_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static int folder_setup(void **state)
{
	static struct folder folder;

	if (geteuid() != 0)
		skip(); // plugins are root's
	strcpy(folder.root, "/tmp/profcol-plugins-XXXXXX");
	if (!mkdtemp(folder.root))
		return -1;
	snprintf(folder.plugins, sizeof(folder.plugins), "%s/plugins", folder.root);
	*state = &folder;
	return mkdir(folder.plugins, 0755);
}

static int folder_teardown(void **state)
{
	const struct folder *folder = *state;

	folder_run("rm -rf '%s'", folder->root);
	return 0;
}

static void folder_add(const struct folder *folder, const char *plugin)
{
	folder_run("install -m 0644 '%s/%s.so' '%s/'", TEST_PLUGINS, plugin, folder->plugins);
}

/* Load @path; the message of the error, or "" and the plugins. */
static const char *load(const char *path, struct plugins **ret)
{
	static char message[4096];
	const struct profcol_list directories = { .items = &path, .count = 1 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	error = plugins_load(&directories, &builtin, ret);
	snprintf(message, sizeof(message), "%s", error ? profcol_error_message(error) : "");
	return message;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_refused(const struct folder *folder, const char *reason)
{
	struct plugins *plugins = NULL;
	const char *message = load(folder->plugins, &plugins);

	assert_contains(message, reason);
	assert_null(plugins);
}

/* ---- what is loaded ---- */

static void plugins_join_what_is_built_in(void **state)
{
	const struct folder *folder = *state;
	const struct component_registry *registry;
	const struct profcol_component *marker;
	struct plugins *plugins = NULL;

	folder_add(folder, "marker");
	folder_add(folder, "start_fails");
	folder_run("touch '%s/README' '%s/.hidden.so'", folder->plugins, folder->plugins);
	assert_string_equal(load(folder->plugins, &plugins), "");
	registry = plugins_registry(plugins);
	assert_int_equal(registry->count, 3);
	assert_string_equal(registry->components[0]->type, "marker");
	assert_ptr_equal(registry->components[1], &debug);
	assert_string_equal(registry->components[2]->type, "start_fails");
	marker = registry_find(registry, PROFCOL_PROCESSOR, "marker");
	assert_non_null(marker->consume);
	assert_true(plugins_descriptor(plugins, PROFCOL_PROCESSOR, "marker") >= 0);
	assert_int_equal(plugins_descriptor(plugins, PROFCOL_EXPORTER, "debug"), -1);
	plugins_destroy(plugins);
}

static void no_directories_leave_what_is_built_in(void **state)
{
	const struct profcol_list none = { 0 };
	struct plugins *plugins = NULL;
	struct profcol_error *error = plugins_load(&none, &builtin, &plugins);

	(void)state;
	assert_null(error);
	assert_int_equal(plugins_registry(plugins)->count, 1);
	assert_int_equal(plugins_descriptor(NULL, PROFCOL_EXPORTER, "debug"), -1);
	plugins_destroy(plugins);
}

static void a_descriptor_of_older_headers_ends_where_it_did(void **state)
{
	const struct folder *folder = *state;
	const struct profcol_component *older;
	struct plugins *plugins = NULL;

	folder_add(folder, "older");
	assert_string_equal(load(folder->plugins, &plugins), "");
	older = registry_find(plugins_registry(plugins), PROFCOL_EXTENSION, "older");
	assert_non_null(older->create);
	assert_null(older->diagnose);
	plugins_destroy(plugins);
}

/* A helper process gets the file, not its path, and looks at it once more. */
static void a_helper_finds_its_component_in_the_file(void **state)
{
	const struct folder *folder = *state;
	struct profcol_component component;
	struct plugins *plugins = NULL;
	struct profcol_error *error;
	int fd;

	folder_add(folder, "marker");
	assert_string_equal(load(folder->plugins, &plugins), "");
	fd = plugins_descriptor(plugins, PROFCOL_PROCESSOR, "marker");
	error = plugins_inherit(dup(fd), PROFCOL_PROCESSOR, "marker", &component);
	assert_null(error);
	assert_string_equal(component.type, "marker");
	error = plugins_inherit(dup(fd), PROFCOL_EXPORTER, "marker", &component);
	assert_string_equal(profcol_error_message(error), "the plugin has no exporter 'marker'");
	profcol_error_destroy(error);
	folder_run("chmod o+w '%s/marker.so'", folder->plugins);
	error = plugins_inherit(dup(fd), PROFCOL_PROCESSOR, "marker", &component);
	assert_contains(profcol_error_message(error), "/plugins/marker.so' is writable by others");
	profcol_error_destroy(error);
	plugins_destroy(plugins);
}

/* ... and leaves it what it has opened when it was loaded, but nothing else. */
static void a_helper_keeps_what_its_plugin_has_opened(void **state)
{
	const struct folder *folder = *state;
	struct spawner *spawner = NULL;
	struct plugins *plugins = NULL;
	int socket_fd, status = -1;
	struct profcol_error *error;
	pid_t pid;

	folder_add(folder, "keeper");
	assert_string_equal(load(folder->plugins, &plugins), "");
	error = spawner_create(&spawner);
	assert_null(error);
	spawner_set_plugins(spawner, plugins);
	error = spawner_spawn(spawner, PROFCOL_EXTENSION, "keeper", &socket_fd, &pid);
	assert_null(error);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(socket_fd);
	spawner_destroy(spawner);
	plugins_destroy(plugins);
}

/* ---- what is refused ---- */

static void what_does_not_fit_is_refused_before_it_runs(void **state)
{
	static const struct {
		const char *plugin, *reason;
	} cases[] = {
		{ "wrong_abi", "it does not fit this program: ABI version: expected 1, found 99; "
			       "build it with the headers of this profcol" },
		{ "newer", "it does not fit this program: size of struct profcol_component: "
			   "expected " },
		{ "other_build", "found 0123456789abcdef0123456789abcdef; install the plugins of "
				 "this program" },
		{ "not_a_plugin", "it is not a plugin of profcol's: it lacks the note that "
				  "PROFCOL_PLUGIN() of <profcol/plugin.h> writes" },
		{ "undefined_symbol", "it cannot be loaded: undefined symbol: arena_create" },
		{ "executable_stack", "it asks for an executable stack, which the whole program "
				      "would get; link it with -Wl,-z,noexecstack" },
		{ "run_path", "it has a run path (DT_RUNPATH), where libraries would be found that "
			      "nobody has checked; link it without -rpath" },
		{ "old_run_path", "it has a run path (DT_RPATH), where libraries" },
	};
	const struct folder *folder = *state;
	char prefix[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		folder_add(folder, cases[i].plugin);
		snprintf(prefix, sizeof(prefix), "cannot load plugin '%s/%s.so': ", folder->plugins,
			 cases[i].plugin);
		assert_refused(folder, prefix);
		assert_refused(folder, cases[i].reason);
		folder_run("rm '%s/%s.so'", folder->plugins, cases[i].plugin);
	}
	assert_null(getenv("REFUSED_PLUGIN_HAS_RUN"));
}

/* What the note does not tell shows when the file is loaded. */
static void what_the_descriptors_say_is_checked(void **state)
{
	static const struct {
		const char *plugin, *reason;
	} cases[] = {
		{ "same_type", "exporter 'debug' is there already, built in; remove one of them" },
		{ "unknown_type", "extensions::unknown::number: is of a type that this program "
				  "does not know" },
	};
	const struct folder *folder = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		folder_add(folder, cases[i].plugin);
		assert_refused(folder, cases[i].reason);
		folder_run("rm '%s/%s.so'", folder->plugins, cases[i].plugin);
	}
	unsetenv("REFUSED_PLUGIN_HAS_RUN");
}

static void all_refusals_are_said_at_once(void **state)
{
	const struct folder *folder = *state;

	folder_add(folder, "wrong_abi");
	folder_add(folder, "newer");
	folder_add(folder, "marker");
	folder_run("cp '%s/marker.so' '%s/zebra.so'", folder->plugins, folder->plugins);
	assert_refused(folder, "newer.so': it does not fit");
	assert_refused(folder, "wrong_abi.so': it does not fit");
	assert_refused(folder, "zebra.so': processor 'marker' is there already, from ");
}

static void files_that_are_no_shared_objects_are_refused(void **state)
{
	const struct folder *folder = *state;
	const char *path = folder->plugins;

	folder_run("echo text > '%s/a.so'; : > '%s/b.so'; head -c 200 '%s/marker.so' > '%s/c.so'",
		   path, path, TEST_PLUGINS, path);
	folder_run("mkfifo '%s/d.so'; mkdir '%s/e.so'; ln -s /etc/passwd '%s/f.so'", path, path,
		   path);
	folder_run("chmod 0644 '%s'/*.so", path);
	assert_refused(folder, "a.so': it is no shared object, or cut short");
	assert_refused(folder, "b.so': it is no shared object, or cut short");
	assert_refused(folder, "c.so': it is no shared object, or cut short");
	assert_refused(folder, "d.so' is not a regular file");
	assert_refused(folder, "e.so' is not a regular file");
	assert_refused(folder, "'f.so' is a symbolic link; put the file itself there");
}

/* Its headers and its note are whole; the loader would map what is not there. */
static void a_file_that_is_cut_short_is_refused(void **state)
{
	const struct folder *folder = *state;

	folder_run("head -c 5000 '%s/marker.so' > '%s/cut.so'; chmod 0644 '%s/cut.so'",
		   TEST_PLUGINS, folder->plugins, folder->plugins);
	assert_refused(folder, "cut.so': it is no shared object, or cut short");
}

/* ---- places ---- */

static void assert_place(const char *path, const char *reason)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FD int fd = -1;

	error = place_open_directory(path, &fd);
	if (reason)
		assert_contains(error ? profcol_error_message(error) : "no error", reason);
	else if (error)
		fail_msg("%s", profcol_error_message(error));
	assert_int_equal(fd >= 0, !reason);
}

static void only_root_may_write_on_the_way(void **state)
{
	const struct folder *folder = *state;
	const char *root = folder->root, *path = folder->plugins;

	assert_place(path, NULL);
	folder_run("chmod 0775 '%s'", path);
	assert_place(path, "is writable by others than root (mode 0775); chmod go-w '");
	folder_run("chmod 1777 '%s'", path); // sticky is not enough where the plugins lie
	assert_place(path, "is writable by others than root (mode 1777)");
	folder_run("chmod 0755 '%s'; chmod 0777 '%s'", path, root);
	assert_place(path, "is writable by others than root (mode 0777)");
	folder_run("chmod 1777 '%s'", root);
	assert_place(path, NULL);
	folder_run("chown 65534 '%s'", path);
	assert_place(path, "belongs to user 65534, not to root; chown root '");
	folder_run("chown 0 '%s'; chown 65534 '%s'", path, root);
	assert_place(path, "belongs to user 65534, not to root");
	folder_run("chown 0 '%s'", root);
}

static void links_are_followed_where_root_made_them(void **state)
{
	const struct folder *folder = *state;
	const char *root = folder->root;
	char link[128];

	snprintf(link, sizeof(link), "%s/link", root);
	folder_run("ln -s plugins '%s'", link);
	assert_place(link, NULL);
	folder_run("ln -sfn '%s//./plugins/../plugins/' '%s'", root, link);
	assert_place(link, NULL);
	folder_run("chown -h 65534 '%s'", link);
	assert_place(link, "symbolic link '");
	folder_run("rm '%s'; mkdir '%s/open'; chmod 0777 '%s/open'; ln -s open/../plugins '%s'",
		   link, root, root, link);
	assert_place(link, "/open' is writable by others than root (mode 0777)");
	folder_run("ln -sfn link '%s'", link);
	assert_place(link, "Too many levels of symbolic links");
	folder_run("ln -sfn / '%s'", link);
	assert_place(link, NULL);
}

static void places_that_are_none_are_refused(void **state)
{
	const struct folder *folder = *state;
	char path[128], reason[128];

	assert_place("plugins", "path 'plugins' is not absolute; begin it with '/'");
	assert_place("/etc/passwd", "'/etc/passwd' is not a directory");
	snprintf(path, sizeof(path), "%s/none", folder->root);
	snprintf(reason, sizeof(reason), "cannot open 'none' in '%s': No such file", folder->root);
	assert_place(path, reason);
	assert_place("/", NULL);
}

/* ---- notes ---- */

static bool is_same_abi(const struct profcol_plugin_abi *left,
			const struct profcol_plugin_abi *right)
{
	return left->abi == right->abi && left->size == right->size &&
	       left->component_size == right->component_size &&
	       left->host_size == right->host_size && left->option_size == right->option_size &&
	       strcmp(left->build, right->build) == 0;
}

static void notes_are_read_within_their_file(void **state)
{
	const struct profcol_plugin_abi ours = PROFCOL_PLUGIN_ABI;
	struct profcol_plugin_abi abi;
	char file[] = "/tmp/profcol-note-XXXXXX";
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FD int fd = mkstemp(file);
	size_t length, accepted = 0;

	(void)state;
	unlink(file);
	assert_int_equal(file_read(AT_FDCWD, TEST_PLUGINS "/marker.so", 16 << 20, &bytes, &length),
			 0);
	assert_int_equal(pwrite(fd, bytes, length, 0), length);
	// Spoil every byte of the headers in turn, and of the notes: what is accepted is the truth.
	for (size_t i = 0; i < length && i < 4096; i++) {
		struct profcol_error *error;

		assert_int_equal(pwrite(fd, "\xff", 1, (off_t)i), 1);
		error = note_read(fd, &abi);
		if (!error)
			error = note_check(&abi, object_build());
		if (!error) {
			assert_true(is_same_abi(&abi, &ours));
			accepted++;
		}
		profcol_error_destroy(error);
		assert_int_equal(pwrite(fd, bytes + i, 1, (off_t)i), 1);
	}
	assert_in_range(accepted, 1, 4096 - sizeof(struct profcol_plugin_note));
}

static void numbers_have_to_fit(void **state)
{
	const struct profcol_plugin_abi ours = PROFCOL_PLUGIN_ABI;
	struct profcol_plugin_abi abi = ours;
	struct profcol_error *error = note_check(&abi, object_build());

	(void)state;
	assert_null(error);
	memset(abi.build, 'a', sizeof(abi.build));
	error = note_check(&abi, object_build());
	assert_string_equal(profcol_error_message(error), "its build id is not terminated");
	profcol_error_destroy(error);
	abi = ours;
	strcpy(abi.build, object_build());
	error = note_check(&abi, object_build());
	assert_null(error);
	abi.option_size--;
	error = note_check(&abi, object_build());
	assert_contains(profcol_error_message(error), "size of struct profcol_option: expected ");
	profcol_error_destroy(error);
	abi = ours;
	abi.component_size = 16;
	error = note_check(&abi, object_build());
	assert_contains(profcol_error_message(error), "size of struct profcol_component: ");
	profcol_error_destroy(error);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(plugins_join_what_is_built_in),
		cmocka_unit_test(no_directories_leave_what_is_built_in),
		IN_FOLDER(a_descriptor_of_older_headers_ends_where_it_did),
		IN_FOLDER(a_helper_finds_its_component_in_the_file),
		IN_FOLDER(a_helper_keeps_what_its_plugin_has_opened),
		IN_FOLDER(what_does_not_fit_is_refused_before_it_runs),
		IN_FOLDER(what_the_descriptors_say_is_checked),
		IN_FOLDER(all_refusals_are_said_at_once),
		IN_FOLDER(files_that_are_no_shared_objects_are_refused),
		IN_FOLDER(a_file_that_is_cut_short_is_refused),
		IN_FOLDER(only_root_may_write_on_the_way),
		IN_FOLDER(links_are_followed_where_root_made_them),
		IN_FOLDER(places_that_are_none_are_refused),
		cmocka_unit_test(notes_are_read_within_their_file),
		cmocka_unit_test(numbers_have_to_fit),
	};

	// As the host starts itself.
	if (argc > 1 && strcmp(argv[1], "helper") == 0)
		return spawner_run_helper(argc, argv, &builtin);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
