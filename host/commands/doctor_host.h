/* SPDX-License-Identifier: Apache-2.0 */
/* What the program itself, whatever its components, asks of the machine. Private to the doctor. */
#pragma once

#include "config/config.h"

/* Everything is looked at below @root, "" on the real machine; but for what only a try can tell. */
void doctor_host_diagnose(const char *root, const struct config_service *service,
			  struct profcol_findings *findings);
