// SPDX-License-Identifier: Apache-2.0
// Computes for as long as it lives.
function innermost(n) {
	let x = 0;
	for (let i = 0; i < n; i++)
		x = (x * 31 + i) | 0;
	return x;
}

function middle(n) {
	return innermost(n) + 1;
}

for (;;)
	middle(1000000);
