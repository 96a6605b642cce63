// SPDX-License-Identifier: Apache-2.0
// The round of README.md in JavaScript: `node_work.js ROUNDS`, so many of them a unit.
"use strict";

const fs = require("fs");

const MASK = 0x7fffffff;
const OPERATORS = "+-*/";
const SYLLABLES = ["ka", "lo", "mi", "nu", "re", "so", "ti", "va"];

class Random {
	constructor(seed) {
		this.state = seed;
	}

	next() {
		this.state = (Math.imul(this.state, 1103515245) + 12345) & MASK;
		return this.state >> 16;
	}
}

class Checksum {
	constructor() {
		this.value = 2166136261;
	}

	fold(value) {
		for (let shift = 0; shift < 32; shift += 8)
			this.value = Math.imul(this.value ^ ((value >> shift) & 0xff), 16777619);
	}

	get text() {
		return (this.value >>> 0).toString(16).padStart(8, "0");
	}
}

class Number_ {
	constructor(value) {
		this.value = value;
	}

	evaluate() {
		return this.value;
	}
}

class Binary {
	constructor(left, right) {
		this.left = left;
		this.right = right;
	}

	evaluate() {
		return this.apply(this.left.evaluate(), this.right.evaluate()) & MASK;
	}
}

class Sum extends Binary {
	apply(left, right) {
		return left + right;
	}
}

class Difference extends Binary {
	apply(left, right) {
		return left - right;
	}
}

class Product extends Binary {
	apply(left, right) {
		return Math.imul(left, right);
	}
}

class Quotient extends Binary {
	apply(left, right) {
		if (right === 0)
			throw new RangeError("division by zero");
		return Math.trunc(left / right);
	}
}

const NODES = { "+": Sum, "-": Difference, "*": Product, "/": Quotient };

function printExpression(random, depth) {
	if (depth === 0)
		return String(random.next() % 100);
	const operator = OPERATORS[random.next() & 3];
	const left = printExpression(random, depth - 1);
	const right = printExpression(random, random.next() % Math.min(depth, 4));
	return `(${left}${operator}${right})`;
}

class Parser {
	constructor(text) {
		this.text = text;
		this.position = 0;
	}

	peek() {
		return this.position < this.text.length ? this.text[this.position] : "";
	}

	expression() {
		return this.chain("+-", () => this.term());
	}

	term() {
		return this.chain("*/", () => this.factor());
	}

	chain(operators, operand) {
		let left = operand();
		let operator;
		while ((operator = this.peek()) !== "" && operators.includes(operator)) {
			this.position++;
			left = new NODES[operator](left, operand());
		}
		return left;
	}

	factor() {
		if (this.peek() !== "(")
			return this.number();
		this.position++;
		const inner = this.expression();
		this.position++;
		return inner;
	}

	number() {
		const start = this.position;
		while (this.peek() >= "0" && this.peek() <= "9")
			this.position++;
		return new Number_(parseInt(this.text.substring(start, this.position), 10));
	}
}

function evaluateExpressions(random, checksum) {
	for (let i = 0; i < 12; i++) {
		const text = printExpression(random, 14);
		let value;
		try {
			value = new Parser(text).expression().evaluate();
		} catch (error) {
			if (!(error instanceof RangeError))
				throw error;
			value = 77;
		}
		checksum.fold(value);
	}
}

function compareCounts([leftWord, leftCount], [rightWord, rightCount]) {
	if (leftCount !== rightCount)
		return rightCount - leftCount;
	return leftWord < rightWord ? -1 : 1;
}

function countWords(random, checksum) {
	const words = [];
	for (let i = 0; i < 300; i++) {
		const length = 1 + (random.next() % 3);
		words.push(Array.from({ length }, () => SYLLABLES[random.next() & 7]).join(""));
	}
	const counts = new Map();
	for (const word of words.join(" ").split(" "))
		counts.set(word, (counts.get(word) || 0) + 1);
	for (const [word, count] of [...counts].sort(compareCounts)) {
		checksum.fold(count);
		checksum.fold(word.charCodeAt(word.length - 1));
	}
}

function placeQueens(size, columns) {
	const row = columns.length;
	if (row === size)
		return 1;
	let solutions = 0;
	for (let column = 0; column < size; column++) {
		const free = columns.every(
			(other, index) => other !== column && Math.abs(other - column) !== row - index,
		);
		if (free)
			solutions += placeQueens(size, [...columns, column]);
	}
	return solutions;
}

function treeInsert(tree, value) {
	if (tree === null)
		return { value, left: null, right: null };
	if (value < tree.value)
		tree.left = treeInsert(tree.left, value);
	else
		tree.right = treeInsert(tree.right, value);
	return tree;
}

// The depth of the tree.
function treeFold(tree, checksum) {
	if (tree === null)
		return 0;
	const left = treeFold(tree.left, checksum);
	checksum.fold(tree.value);
	return 1 + Math.max(left, treeFold(tree.right, checksum));
}

function fillTree(random, checksum) {
	let tree = null;
	for (let i = 0; i < 150; i++)
		tree = treeInsert(tree, random.next());
	checksum.fold(treeFold(tree, checksum));
}

function workRound() {
	const random = new Random(42);
	const checksum = new Checksum();
	evaluateExpressions(random, checksum);
	countWords(random, checksum);
	checksum.fold(placeQueens(6, []));
	fillTree(random, checksum);
	return checksum.text;
}

function workUnit(rounds) {
	const result = workRound();
	for (let i = 1; i < rounds; i++) {
		if (workRound() !== result)
			throw new Error("node_work: rounds differ");
	}
	return result;
}

const rounds = parseInt(process.argv[2], 10);
for (;;)
	fs.writeSync(1, workUnit(rounds) + "\n");
