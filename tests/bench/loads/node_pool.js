// SPDX-License-Identifier: Apache-2.0
// Threads of Node.js that answer questions: `node_pool.js SECONDS`.
"use strict";
const { Worker, isMainThread, parentPort } = require("worker_threads");

const THREADS = 2;

function sieve(limit) {
	const composite = new Uint8Array(limit);
	const primes = [];

	for (let n = 2; n < limit; n++) {
		if (composite[n]) continue;
		primes.push(n);
		for (let multiple = n * n; multiple < limit; multiple += n) composite[multiple] = 1;
	}
	return primes;
}

function distance(a, b) {
	let row = Array.from({ length: b.length + 1 }, (_, at) => at);

	for (let i = 1; i <= a.length; i++) {
		const next = [i];

		for (let j = 1; j <= b.length; j++)
			next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
		row = next;
	}
	return row[b.length];
}

function countWords(text) {
	const counts = {};

	for (const word of text.split(/\W+/)) counts[word] = (counts[word] || 0) + 1;
	return counts;
}

class Matrix {
	constructor(size, fill) {
		this.size = size;
		this.rows = Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => fill(x, y)));
	}

	times(other) {
		return new Matrix(this.size, (x, y) => this.dot(other, x, y));
	}

	dot(other, x, y) {
		let sum = 0;

		for (let i = 0; i < this.size; i++) sum += this.rows[y][i] * other.rows[i][x];
		return sum;
	}
}

function work({ kind, seed }) {
	const text = Array.from({ length: 400 }, (_, at) => `w${(at * seed) % 61}`).join(" ");

	if (kind === 0) return sieve(60000 + seed).length;
	if (kind === 1) return distance(text.slice(0, 200), text.slice(300, 500));
	if (kind === 2) return Object.keys(countWords(text.repeat(10))).length;
	const matrix = new Matrix(40, (x, y) => (x * seed + y) % 11);

	return matrix.times(matrix).rows[3][5];
}

function runPool(seconds) {
	const end = Date.now() + 1000 * seconds;
	let seed = 0;

	for (let i = 0; i < THREADS; i++) {
		const worker = new Worker(__filename);
		const give = () => {
			if (Date.now() > end) worker.postMessage(null);
			else worker.postMessage({ kind: seed % 4, seed: (++seed % 50) + 1 });
		};

		worker.on("message", give);
		give();
	}
}

if (isMainThread) {
	runPool(parseInt(process.argv[2], 10));
} else {
	parentPort.on("message", (question) => {
		if (question) parentPort.postMessage(work(question));
		else parentPort.close();
	});
}
