/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles in the fewest digits that give them back, as Go prints them. Pure. Private. */
#pragma once

#include "attributes.h"

/* "123.4", "0.001": never with an exponent; "NaN", "+Inf", "-Inf". */
void double_text_plain(double value, char to[ATTRIBUTES_DOUBLE_MAX]);

/* The same, but "1.5e-7" below 1e-6 and "1e+21" from there on; "NaN", "Infinity", "-Infinity". */
void double_text_short(double value, char to[ATTRIBUTES_DOUBLE_MAX]);
