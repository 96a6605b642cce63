/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP profiles into a batch by way of protobuf-c's objects: slow, trusting, and
 * sharing no code with the encoder. Aborts on anything unexpected.
 */
#pragma once

#include <profcol/batch.h>

#include <otlp.pb-c.h>

/* The message; free with otlp__export_profiles_service_request__free_unpacked(). */
Otlp__ExportProfilesServiceRequest *otlp_read_message(const uint8_t *bytes, size_t length);

/* Its contents as a batch. */
struct profcol_batch *otlp_read(const uint8_t *bytes, size_t length);
