// SPDX-License-Identifier: Apache-2.0
/*
 * exec_chain COUNT MICROSECONDS OTHER: burns so much CPU, then executes the program OTHER with a
 * COUNT of one less, which does the same with this one. -DPADDED moves its code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef PADDED
__attribute__((used, noipa)) int pad(int number)
{
	switch (number) {
	case 1:
		return 7;
	case 2:
		return 99;
	case 3:
		return 12;
	}
	return number * number * number + 5;
}
#endif

__attribute__((noipa)) static void burn_leaf(void)
{
	unsigned long x = 88172645463325252u;

	for (unsigned int rounds = 0; rounds < 20000; rounds++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

int main(int argc, char **argv)
{
	char rest[24];
	clock_t end;
	long count;

	if (argc != 4)
		return 2;
	count = strtol(argv[1], NULL, 10);
	end = clock() + strtol(argv[2], NULL, 10) * CLOCKS_PER_SEC / 1000000;
	while (clock() < end)
		burn_leaf();
	if (!count)
		return 0;
	snprintf(rest, sizeof(rest), "%ld", count - 1);
	execl(argv[3], argv[3], rest, argv[2], argv[0], (char *)NULL);
	return 1;
}
