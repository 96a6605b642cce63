// SPDX-License-Identifier: Apache-2.0
#include "toy.h"

#include "runtimes/toy.h"

#include "unwind/unwind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LOOP_MOST = 1 << 20, /* bytes of code */
};

static const uint64_t ADDRESS_LIMIT = 1ull << 47;

/* ---- files ---- */

bool toy_recognise(const struct runtime_file *file, void *layout_ret)
{
	struct elf_piece about = elf_view_section(file->view, ".toy.about");
	struct elf_piece loop;
	struct toy_layout layout;

	if (about.length < sizeof(struct toy_about) ||
	    memcmp(about.bytes, TOY_MAGIC, sizeof(((struct toy_about *)0)->magic)) != 0)
		return false;
	loop = elf_view_section(file->view, ".toy.loop");
	if (!loop.length)
		return false;
	layout = (struct toy_layout){
		.about = about.address,
		.loop_start = loop.address,
		.loop_limit = loop.address + loop.length,
	};
	if (!toy_check(&layout))
		return false;
	memcpy(layout_ret, &layout, sizeof(layout));
	return true;
}

bool toy_check(const void *layout)
{
	const struct toy_layout *toy = layout;

	return toy->about && !(toy->about & 7) && toy->about < ADDRESS_LIMIT && toy->loop_start &&
	       toy->loop_start < toy->loop_limit && toy->loop_limit < ADDRESS_LIMIT &&
	       toy->loop_limit - toy->loop_start <= LOOP_MOST;
}

size_t toy_loops(const void *layout, struct runtime_loop ret[RUNTIME_LOOPS])
{
	const struct toy_layout *toy = layout;

	ret[0] = (struct runtime_loop){ .start = toy->loop_start, .limit = toy->loop_limit };
	return 1;
}

/* ---- processes ---- */

bool toy_attach(const void *layout, uint64_t base, const struct runtime_memory *memory,
		struct runtime_found *ret)
{
	const struct toy_layout *toy = layout;
	struct toy_about about;
	struct toy_data *data = (struct toy_data *)ret->data;

	*ret = (struct runtime_found){ 0 };
	if (!memory->read(memory->context, base + toy->about, &about, sizeof(about)))
		return false;
	if (memcmp(about.magic, TOY_MAGIC, sizeof(about.magic)) != 0) {
		ret->refused = RUNTIME_REFUSED_LAYOUT;
		return true;
	}
	if (about.version != TOY_VERSION) {
		ret->refused = RUNTIME_REFUSED_VERSION;
		return true;
	}
	// Before its first thread it runs nothing.
	if (!about.threads)
		return false;
	snprintf(ret->version, sizeof(ret->version), "%" PRIu64, about.version);
	data->threads = base + toy->about + offsetof(struct toy_about, threads);
	ret->data_bytes = sizeof(*data);
	ret->progress = 1;
	ret->complete = 1;
	return true;
}
