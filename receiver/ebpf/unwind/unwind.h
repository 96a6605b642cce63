/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver/ebpf/unwind: from an ELF file to the rules by which stacks are walked, and to the pages
 * that the kernel side reads. The one header that other folders include; each part is described
 * where it is declared. Reads foreign files: in the worker only.
 */
#pragma once

#include "elf_view.h"
#include "entries.h"
#include "entry.h"
#include "page.h"
#include "rule.h"
#include "source.h"
