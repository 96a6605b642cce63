// SPDX-License-Identifier: Apache-2.0
//
// Has chains of JavaScript's functions, forever, one after the other, and tells in a file which: each
// as {"number": N, "way": ..., "chain": [[name, first line, last line], ...]}, leaf first; {"ready": 1}
// when all are told. While it has number N the main thread is called in_N. What it says of its
// functions it reads in its own source, by marks: it takes no stack itself, since V8 would make tables
// of positions for that.
"use strict";
const fs = require("fs");

const ROUND_MS = 40;
const source = fs.readFileSync(__filename, "utf8").split("\n");
const ways = [];

function lineOf(mark) {
	const lines = source.flatMap((line, at) => (line.includes(`@${mark}@`) ? [at + 1] : []));

	if (lines.length !== 1) throw new Error(`mark ${mark} is there ${lines.length} times`);
	return lines[0];
}

// `frames`: [name, mark of the line], or [name, marks of the first and the last], leaf first.
function way(name, run, ...frames) {
	const chain = frames.map(([frame, first, last]) => [frame, lineOf(first), lineOf(last || first)]);

	ways.push({ name, run, chain: [...chain, ["drive", lineOf("drive"), lineOf("drive")]] });
}

const leaf = ["spin", "spin_first", "spin_last"];

function spin(count) /*@spin_first@*/ {
	let x = 1;

	for (let i = 0; i < count; i++) {
		x = (x * 7 + i) % 1000003;
	}
	return x; /*@spin_last@*/
}

// ---- plain functions

function middle(count) {
	return spin(count) + 1; /*@middle@*/
}

function outer(count) {
	return middle(count) + 1; /*@outer@*/
}

way("plain", () => outer(3000) /*@plain@*/, leaf, ["middle", "middle"], ["outer", "outer"], ["(anonymous)", "plain"]);

function recurse(depth) {
	if (depth === 0) return spin(3000); /*@recurse_end@*/
	return recurse(depth - 1) + 1; /*@recurse@*/
}

function startRecursion() {
	return recurse(30); /*@start_recursion@*/
}

way(
	"recursion",
	startRecursion,
	leaf,
	["recurse", "recurse_end"],
	...Array(30).fill(["recurse", "recurse"]),
	["startRecursion", "start_recursion"],
);

// ---- names

const outside = { inside: {} };

outside.inside.assigned = function (count) {
	return spin(count); /*@assigned@*/
};

function callAssigned() {
	return outside.inside.assigned(3000); /*@call_assigned@*/
}

way("inferred", callAssigned, leaf, ["outside.inside.assigned", "assigned"], ["callAssigned", "call_assigned"]);

class Shape {
	#hidden(count) {
		return spin(count); /*@hidden@*/
	}

	method(count) {
		return this.#hidden(count); /*@method@*/
	}

	get area() {
		return this.method(3000); /*@getter@*/
	}

	static make() {
		return new Shape(); /*@make@*/
	}

	constructor(count) {
		this.value = count ? this.method(count) : 0; /*@constructor@*/
	}
}

const shape = Shape.make();

function readArea() {
	return shape.area; /*@read_area@*/
}

way(
	"methods",
	readArea,
	leaf,
	["#hidden", "hidden"],
	["method", "method"],
	["get area", "getter"],
	["readArea", "read_area"],
);

function construct() {
	return new Shape(3000); /*@construct@*/
}

way(
	"constructor",
	construct,
	leaf,
	["#hidden", "hidden"],
	["method", "method"],
	["Shape", "constructor"],
	["construct", "construct"],
);

function größe_長さ(count) {
	return spin(count); /*@wide@*/
}

function callWide() {
	return größe_長さ(3000); /*@call_wide@*/
}

way("wide", callWide, leaf, ["größe_長さ", "wide"], ["callWide", "call_wide"]);

// ---- through builtins

function inMap(x) {
	return spin(x); /*@in_map@*/
}

function map() {
	return [3000, 3000].map(inMap); /*@map@*/
}

way("map", map, leaf, ["inMap", "in_map"], ["map", "map"]);

function compare(a, b) {
	spin(1000); /*@compare@*/
	return a - b;
}

function sort() {
	return [5, 3, 9, 1].sort(compare); /*@sort@*/
}

way("sort", sort, leaf, ["compare", "compare"], ["sort", "sort"]);

function replacer() {
	spin(3000); /*@replacer@*/
	return "b";
}

function replace() {
	return "aXaXa".replace(/X/g, replacer); /*@replace@*/
}

way("replace", replace, leaf, ["replacer", "replacer"], ["replace", "replace"]);

function revive(key, value) {
	spin(2000); /*@revive@*/
	return value;
}

function parse() {
	return JSON.parse('{"a": 1}', revive); /*@parse@*/
}

way("native", parse, leaf, ["revive", "revive"], ["parse", "parse"]);

// ---- generators, deoptimization

function* generate() {
	for (;;) yield spin(3000); /*@generate@*/
}

const generator = generate();

function next() {
	return generator.next(); /*@next@*/
}

way("generator", next, leaf, ["generate", "generate"], ["next", "next"]);

let kinds = 0;

function unstable(value) {
	spin(2000); /*@unstable@*/
	return value.x + value.x;
}

function deoptimize() {
	const kind = ++kinds % 7;
	const value = kind === 6 ? { x: "text" } : { x: 1, [`y${kind}`]: 1 };

	return unstable(value); /*@deoptimize@*/
}

way("deoptimized", deoptimize, leaf, ["unstable", "unstable"], ["deoptimize", "deoptimize"]);

function catchThrown() {
	try {
		return throwIt(); /*@catch_thrown@*/
	} catch {
		return 0;
	}
}

function throwIt() {
	spin(3000); /*@throw_it@*/
	throw new RangeError("none");
}

Error.stackTraceLimit = 0;
way("thrown", catchThrown, leaf, ["throwIt", "throw_it"], ["catchThrown", "catch_thrown"]);

// ---- the chains one after the other

function drive(run) {
	run(); /*@drive@*/
}

function loop(at) {
	const one = ways[at % ways.length];
	const end = Date.now() + ROUND_MS;

	process.title = `in_${at % ways.length}`;
	while (Date.now() < end) drive(one.run);
	process.title = "between";
	setImmediate(loop, at + 1);
}

const told = fs.openSync(process.argv[2], "a");

ways.forEach(({ name, chain }, number) => {
	fs.writeSync(told, `${JSON.stringify({ number, way: name, chain })}\n`);
});
fs.writeSync(told, '{"ready": 1}\n');
loop(0);
