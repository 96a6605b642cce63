// SPDX-License-Identifier: Apache-2.0
//
// Gives V8 no rest, until SIGTERM: its hot functions lose their optimized code again and again, in the
// middle of loops, and get other code; functions that nobody calls for a while lose what was compiled
// of them (with V8's flags for that); functions are made of text, run for a moment, and dropped.
//
// `v8_storm.js DIRECTORY FILE` writes some of its source there, and tells in the file which chains of
// functions it has: {"number": N, "way": ..., "chain": [[name, first line, last line], ...]}, leaf
// first, each before it runs; {"ready": 1} when all ways have run once. While it has number N the main
// thread is called in_N. No two functions have one name. What a chain computes is compared with what it
// has to be, by formulas; the program fails where it is not that.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const ROUND_MS = 30;
const FAMILIES = 4; // of functions that are deoptimized, and of those that are flushed
const LEAVES = 5; // that are inlined into one function
const COUNT = 400; // steps of a loop
const MODULUS = 1000003;

const [directory, toldPath] = process.argv.slice(2);
const told = fs.openSync(toldPath, "a");
let number = 0;
let isEnding = false;

// ---- functions, as text

// Lines of source, of which it is known where functions begin and end.
class Text {
	constructor(linesBefore = 0) {
		this.lines = ['(() => { "use strict";'];
		this.linesBefore = linesBefore;
		this.places = {};
	}

	add(name, parameters, ...body) {
		const first = this.linesBefore + this.lines.length + 1;

		this.lines.push(`function ${name}(${parameters}) {`, ...body.map((line) => `\t${line}`), "}");
		this.places[name] = [name, first, this.linesBefore + this.lines.length];
	}

	// What has these functions as its value.
	source(names) {
		return `${this.lines.join("\n")}\nreturn { ${names.join(", ")} }; })()`;
	}

	chain(...names) {
		return names.map((name) => this.places[name]);
	}
}

// A chain of functions, whose first one runs a loop over values of whatever kinds.
function addFamily(text, name) {
	const steps = ["for (let i = 0; i < count; i++) {", "\tsum = (sum * 3 + values[i & 7].x) % modulus;", "}"];

	text.add(`${name}_leaf`, "values, count, modulus", "let sum = 0;", ...steps, "return sum;");
	text.add(`${name}_middle`, "values, count, modulus", `return ${name}_leaf(values, count, modulus) + 1;`);
	text.add(`${name}_outer`, "values, count, modulus", `return ${name}_middle(values, count, modulus) + 1;`);
	return text.chain(`${name}_leaf`, `${name}_middle`, `${name}_outer`);
}

// A function that makes the functions of these names: other ones each time, of which V8 knows nothing yet
// but their bytecode.
function loader(text, names) {
	const filename = path.join(directory, `${names[0]}.js`);
	const source = text.source(names);

	fs.writeFileSync(filename, source);
	const script = new vm.Script(source, { filename });
	return () => script.runInThisContext();
}

// ---- values of kinds that change: each kind has another shape, so that what was compiled is wrong

let kinds = 0;

function nextValues() {
	const kind = ++kinds;
	const key = `y${kind % 97}`;

	return Array.from({ length: 8 }, (_, at) => {
		const x = at + 1;

		// One that does not fit comes late.
		if (at === 7) return [{ [key]: 1, x }, { x: x + 0.5 }, { x: String(x) }, { x, [key]: 1 }][kind % 4];
		return kind % 2 ? { x } : { [key]: 0, x };
	});
}

function loopResult(values, count) {
	let sum = 0;

	// A text makes texts of sums: `%` makes numbers of them again.
	for (let i = 0; i < count; i++) sum = (sum * 3 + values[i & 7].x) % MODULUS;
	return sum;
}

function assertEqual(found, expected, name) {
	if (Object.is(found, expected)) return;
	throw new Error(`${name}: ${found}, and not ${expected}`);
}

// ---- chains

// What of the program itself is in the chains.
const own = fs.readFileSync(__filename, "utf8").split("\n");
const driveLine = own.indexOf("function drive(run, values) {") + 1;

function drive(run, values) {
	return run(values, COUNT, MODULUS);
}

function tell(way, chain) {
	const what = { number, way, chain: [...chain, ["drive", driveLine, driveLine + 2]] };

	fs.writeSync(told, `${JSON.stringify(what)}\n`);
	return number++;
}

// Runs `run` for a while, under its number.
function runChain(number, run, expected, name) {
	const end = Date.now() + ROUND_MS;

	process.title = `in_${number}`;
	while (Date.now() < end) {
		process.title = "between";
		const values = nextValues();
		const result = expected(values);

		process.title = `in_${number}`;
		for (let i = 0; i < 20; i++) assertEqual(drive(run, values), result, name);
	}
	process.title = "between";
}

function familyResult(values) {
	return loopResult(values, COUNT) + 2;
}

function makeFamilies(way) {
	return Array.from({ length: FAMILIES }, (_, at) => {
		const name = `${way}_${at}`;
		const text = new Text();
		const chain = addFamily(text, name);
		const number = tell(way, chain);
		const outer = `${name}_outer`;
		const make = loader(text, [outer]);

		return { run: () => runChain(number, make()[outer], familyResult, name) };
	});
}

// ---- one function into which now these are inlined, now others

function makeHub() {
	const text = new Text();
	const names = Array.from({ length: LEAVES }, (_, at) => `hub_${at}_leaf`);
	const branches = names.map((name, at) => `\tif (kind === ${at}) sum = ${name}(sum + values[i & 7].x, modulus);`);

	names.forEach((name, at) => {
		const steps = `for (let j = 0; j < 40; j++) sum = (sum * ${at + 3} + j) % modulus;`;

		text.add(name, "sum, modulus", steps, "return sum;");
	});
	text.add("hub", "kind, values, count, modulus", "let sum = 0;", "for (let i = 0; i < count; i += 8) {", ...branches, "}", "return sum;");
	names.forEach((name, at) => {
		text.add(`hub_${at}_outer`, "values, count, modulus", `return hub(${at}, values, count, modulus);`);
	});
	const outer = names.map((_, at) => `hub_${at}_outer`);
	const make = loader(text, outer);
	let functions;

	return names.map((name, at) => {
		const number = tell("hub", text.chain(name, "hub", outer[at]));

		return {
			run() {
				if (at === 0) functions = make();
				runChain(number, functions[outer[at]], (values) => hubResult(at, values), name);
			},
		};
	});
}

function hubResult(kind, values) {
	let sum = 0;

	for (let i = 0; i < COUNT; i += 8) {
		sum += values[i & 7].x;
		for (let j = 0; j < 40; j++) sum = (sum * (kind + 3) + j) % MODULUS;
	}
	return sum;
}

// ---- functions that are made and dropped

function makeAndDrop(way, linesBefore, make) {
	return {
		run() {
			const name = `${way}_${number}`;
			const text = new Text(linesBefore);
			const chain = addFamily(text, name);
			const outer = `${name}_outer`;
			const functions = make(text.source([outer]));

			runChain(tell(way, chain), functions[outer], familyResult, name);
		},
	};
}

// It puts two lines before the text.
function makeByFunction(text) {
	return new Function(`return ${text}`)();
}

// ---- all of them in turn

const ways = [
	...makeFamilies("deoptimized"),
	...makeHub(),
	makeAndDrop("function", 2, makeByFunction),
	makeAndDrop("eval", 0, eval),
	...makeFamilies("flushed"),
];

function loop(at) {
	if (isEnding) {
		fs.writeSync(1, "all is well\n");
		return;
	}
	if (at === ways.length) fs.writeSync(told, '{"ready": 1}\n');
	ways[at % ways.length].run();
	if (at % 4 === 0 && global.gc) gc();
	setImmediate(loop, at + 1);
}

process.on("SIGTERM", () => {
	isEnding = true;
});
loop(0);
