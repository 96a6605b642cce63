/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjvm.so says of its code cache to debuggers (JDK, src/hotspot/share/runtime/
 * vmStructs.hpp: gHotSpotVMStructs, an array of the fields of its structures by type and name). The
 * file has the fields' names; where in their structure they lie the library writes there when it
 * starts. So this tells where to read that.
 */
#pragma once

#include "worker.h"

#include "unwind/unwind.h"

/* False when @view is no libjvm.so, or of a version that lacks one of the fields. Bounded, whatever
 * the file holds; allocates nothing. Any thread. */
bool hotspot_read(const struct elf_view *view, struct worker_hotspot *ret);

/* As an answer has it, of which no byte is believed. */
bool hotspot_check(const struct worker_hotspot *hotspot);
