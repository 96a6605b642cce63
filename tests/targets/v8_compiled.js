// SPDX-License-Identifier: Apache-2.0
//
// Runs regular expressions and WebAssembly, forever, each in a function of its own, `phase_N`, and tells
// in a file what runs there: {"phase": ..., "regexp": source} or {"phase": ..., "wasm": [names, leaf
// first]} each; {"ready": 1} when all are told.
"use strict";
const fs = require("fs");

const ROUND_MS = 40;
const phases = [];

function phase(what, run) {
	const name = `phase_${phases.length}`;
	// Their names are all that tells which one runs.
	const named = new Function("run", `return function ${name}() { return run(); };`)(run);

	phases.push({ told: { phase: name, ...what }, run: named });
}

// ---- regular expressions

const narrow = `${"ab".repeat(1500)}c`;
const wide = `${"äb".repeat(1500)}長`;

function regexp(source, flags, text) {
	const expression = new RegExp(source, flags);

	phase({ regexp: source }, () => expression.test(text));
}

regexp("(a|b)*d", "", narrow);
regexp("([a-c]{3})+=", "i", narrow);
regexp("長さ|(ä|b)*d", "", wide);
regexp("(.b)+\n;", "s", wide);
regexp(`(?:ab)*(?:${"x|y".repeat(600)}|z)$`, "", narrow);

// The same one has code for both kinds of texts.
const both = /(?:[^x]y?)*;/;

phase({ regexp: both.source }, () => both.test(narrow) + both.test(wide));

// Another object each time, of the same code.
phase({ regexp: "([ab]{2})+\\s" }, () => narrow.replace(/([ab]{2})+\s/g, "").length);
phase({ regexp: "b(?=(ab)*,)" }, () => narrow.split(/b(?=(ab)*,)/y).length);

// ---- WebAssembly, as bytes

function number(value) {
	const bytes = [];

	do {
		bytes.push((value & 127) | (value > 127 ? 128 : 0));
		value >>>= 7;
	} while (value);
	return bytes;
}

function sized(bytes) {
	return [...number(bytes.length), ...bytes];
}

function text(value) {
	return sized([...Buffer.from(value)]);
}

function list(items) {
	return [...number(items.length), ...items.flat()];
}

const I32 = 0x7f;
const GET = 0x20;
const CALL = 0x10;
const END = 0x0b;
const DROP = 0x1a;

// Calls function number `callee`, and adds 1. So long that nobody inlines it.
function caller(callee) {
	const filling = Array(400).fill([GET, 0, 0x41, 3, 0x6c, DROP]).flat();

	return [0, ...filling, GET, 0, CALL, ...number(callee), 0x41, 1, 0x6a, END];
}

// Counts its parameter down to 0.
const spin = [
	...[1, 1, I32, ...Array(400).fill([GET, 0, 0x41, 3, 0x6c, DROP]).flat()],
	...[0x03, 0x40, GET, 1, GET, 0, 0x6a, 0x41, 3, 0x6c, 0x21, 1],
	...[GET, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, END, GET, 1, END],
];

// A recursion, of which most calls have just begun or are about to end.
function fib(own) {
	const down = (by) => [GET, 0, 0x41, by, 0x6b, CALL, ...number(own)];

	return [0, GET, 0, 0x41, 2, 0x48, 0x04, I32, GET, 0, 0x05, ...down(1), ...down(2), 0x6a, END, END];
}

// `exported` is `run`; the bodies call each other by numbers, behind `imports` imported functions.
function instance(imports, bodies, exported, names) {
	const sections = [
		[1, list([[0x60, 1, I32, 1, I32]])],
		[2, list(Array(imports).fill([...text("m"), ...text("f"), 0, 0]))],
		[3, list(bodies.map(() => [0]))],
		[7, list([[...text("run"), 0, ...number(exported)]])],
		[10, list(bodies.map(sized))],
		[0, [...text("other"), 1, 2, 3]],
	];

	if (names)
		sections.push([
			0,
			[...text("name"), 0, ...sized(text("module")), 1, ...sized(list(names.map(([at, name]) => [...number(at), ...text(name)])))],
		]);
	const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flatMap(([id, body]) => [id, ...sized(body)])];

	return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), { m: { f: (x) => x } }).exports.run;
}

function wasm(chain, run, argument) {
	phase({ wasm: chain }, () => run(argument));
}

const many = Array.from({ length: 200 }, (_, at) => [at, `function_${at}`]);

wasm(
	["spin", "middle größe", "outer"],
	instance(2, [caller(3), caller(4), spin], 2, [
		[0, "imported"],
		[2, "outer"],
		[3, "middle größe"],
		[4, "spin"],
	]),
	3000,
);
wasm(
	["wasm-function[2]", "wasm-function[1]", "wasm-function[0]"],
	instance(0, [caller(1), caller(2), spin], 0),
	3000,
);
wasm(
	["function_199", "function_198", "function_197"],
	instance(3, [...Array(194).fill(spin), caller(198), caller(199), spin], 197, many),
	3000,
);
wasm(["fib"], instance(1, [fib(1)], 1, [[1, "fib"]]), 16);

// ---- one after the other

function loop(at) {
	const { run } = phases[at % phases.length];
	const end = Date.now() + ROUND_MS;

	while (Date.now() < end) run();
	setImmediate(loop, at + 1);
}

const told = fs.openSync(process.argv[2], "a");

for (const { told: what } of phases) fs.writeSync(told, `${JSON.stringify(what)}\n`);
fs.writeSync(told, '{"ready": 1}\n');
loop(0);
