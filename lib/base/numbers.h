/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, by the rules of Go's strconv. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_DIGITS_SIZE = 24 }; /* bytes for the digits of any double, NUL included */

/* All of @bytes as a decimal integer (ParseInt). False when it is none, or does not fit. */
bool number_parse_int(const char *bytes, size_t length, int64_t *ret);

/*
 * All of @bytes as a number (ParseFloat): decimal, hexadecimal with an exponent, "inf", "nan". What
 * is too small is 0. False when it is none, is too large, or has more than 400 bytes.
 */
bool number_parse_double(const char *bytes, size_t length, double *ret);

/* Without what is behind the point. Out of range it is the least integer, as on the machines that
 * Go runs on. */
int64_t number_truncate(double value);

/* The fewest digits that give @value again, which is finite and not negative, without a point;
 * returns the exponent of the first one. */
int number_digits(double value, char digits[NUMBER_DIGITS_SIZE]);
