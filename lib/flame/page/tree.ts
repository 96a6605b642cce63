// SPDX-License-Identifier: Apache-2.0
// A call tree in arrays, and what is made of it: totals, other trees, functions.

export interface Frame {
	name: string;
	file: string; // of the code
	source: string; // where the function is written
	line: number; // where it begins there; 0 = unknown
	kind: string;
	inlined: boolean;
}

// What the server, or the file, says of a query. docs/web.md has the format.
export interface FlameJson {
	format: number;
	type: string;
	unit: string;
	total: number;
	base_total?: number;
	left_out?: number;
	group?: string;
	from?: number;
	to?: number;
	base_from?: number;
	base_to?: number;
	condition_failures?: number;
	condition_message?: string;
	strings: string[];
	frames: {
		name: number[];
		file: number[];
		source: number[];
		line: number[];
		kind: number[];
		inlined: number[];
	};
	nodes: { parent: number[]; frame: number[]; self: number[]; base?: number[] };
}

export interface Tree {
	frames: Frame[];
	parent: Int32Array; // before its children; of the root 0
	frame: Int32Array;
	self: Float64Array;
	base: Float64Array | null;
	total: Float64Array; // with all callees
	baseTotal: Float64Array | null;
	weight: Float64Array; // what it is wide by: in a difference both sides, scaled to the same whole
	depth: Int32Array;
	firstChild: Int32Array; // -1 = none; the heaviest first
	nextSibling: Int32Array;
	height: number; // rows, the root's included
}

export function isOfProgram(frame: Frame): boolean {
	return frame.kind !== "group" && frame.kind !== "cut" && frame.kind !== "root";
}

const LANGUAGES = new Map([
	["go", "go"],
	["rs", "rust"],
	["py", "cpython"],
	["java", "jvm"],
	["kt", "jvm"],
	["scala", "jvm"],
	["js", "v8js"],
	["mjs", "v8js"],
	["cjs", "v8js"],
	["ts", "v8js"],
	["cs", "dotnet"],
	["rb", "ruby"],
	["php", "php"],
	["pl", "perl"],
	["pm", "perl"],
	["erl", "beam"],
	["ex", "beam"],
	["lua", "luajit"],
]);

// What a frame is by the names of its files, where nobody tells: pprof and folded stacks have no place
// for it.
export function kindOf(file: string, source: string): string {
	if (/^\[kernel|(^|\/)vmlinux|\.ko(\.[gx]z|\.zst)?$/.test(file)) return "kernel";
	return LANGUAGES.get(source.slice(source.lastIndexOf(".") + 1)) ?? "";
}

// From outside in: grows by one node at a time.
export class TreeBuilder {
	private readonly parents: number[] = [0];
	private readonly nodeFrames: number[] = [0];
	private readonly selfs: number[] = [0];
	private readonly bases: number[] = [0];
	private readonly children = new Map<number, number>();

	constructor(private readonly frames: Frame[], private readonly hasBase: boolean) {}

	child(parent: number, frame: number): number {
		const key = parent * this.frames.length + frame;
		let node = this.children.get(key);

		if (node === undefined) {
			node = this.add(parent, frame);
			this.children.set(key, node);
		}
		return node;
	}

	// A child that is not asked for again.
	add(parent: number, frame: number): number {
		this.parents.push(parent);
		this.nodeFrames.push(frame);
		this.selfs.push(0);
		this.bases.push(0);
		return this.parents.length - 1;
	}

	count(node: number, self: number, base: number): void {
		this.selfs[node] += self;
		this.bases[node] += base;
	}

	finish(): Tree {
		return makeTree(
			this.frames,
			Int32Array.from(this.parents),
			Int32Array.from(this.nodeFrames),
			Float64Array.from(this.selfs),
			this.hasBase ? Float64Array.from(this.bases) : null
		);
	}
}

function sumUp(parent: Int32Array, self: Float64Array): Float64Array {
	const total = self.slice();

	for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
	return total;
}

// Lists of children, the heaviest first. Most nodes have one, so that sorting all costs more.
function linkChildren(
	parent: Int32Array,
	weight: Float64Array,
	firstChild: Int32Array,
	nextSibling: Int32Array
): void {
	const siblings: number[] = [];

	for (let i = parent.length - 1; i > 0; i--) {
		nextSibling[i] = firstChild[parent[i]];
		firstChild[parent[i]] = i;
	}
	for (let node = 0; node < parent.length; node++) {
		const first = firstChild[node];

		if (first < 0 || nextSibling[first] < 0) continue;
		siblings.length = 0;
		for (let child = first; child >= 0; child = nextSibling[child]) siblings.push(child);
		siblings.sort((a, b) => weight[b] - weight[a] || a - b);
		firstChild[node] = siblings[0];
		siblings.forEach((child, i) => (nextSibling[child] = siblings[i + 1] ?? -1));
	}
}

export function makeTree(
	frames: Frame[],
	parent: Int32Array,
	frame: Int32Array,
	self: Float64Array,
	base: Float64Array | null
): Tree {
	const count = parent.length;
	const total = sumUp(parent, self);
	const baseTotal = base ? sumUp(parent, base) : null;
	const depth = new Int32Array(count);
	const firstChild = new Int32Array(count).fill(-1);
	const nextSibling = new Int32Array(count).fill(-1);
	let height = 1;

	for (let i = 1; i < count; i++) {
		depth[i] = depth[parent[i]] + 1;
		height = Math.max(height, depth[i] + 1);
	}
	const weight = total.map(
		(value, i) =>
			Math.max(value, 0) +
			(baseTotal ? (Math.max(baseTotal[i], 0) * (total[0] || 1)) / (baseTotal[0] || 1) : 0)
	);
	linkChildren(parent, weight, firstChild, nextSibling);
	return {
		frames,
		parent,
		frame,
		self,
		base,
		total,
		baseTotal,
		weight,
		depth,
		firstChild,
		nextSibling,
		height,
	};
}

export function treeOfJson(json: FlameJson): Tree {
	const text = (id: number) => json.strings[id] ?? "";
	const columns = json.frames;
	const guessed = new Map<number, string>(); // by file and source: many frames share them
	const guess = (file: number, source: number) => {
		const key = file * json.strings.length + source;
		let kind = guessed.get(key);

		if (kind === undefined) guessed.set(key, (kind = kindOf(text(file), text(source))));
		return kind;
	};
	const frames = columns.name.map((name, i) => ({
		name: text(name),
		file: text(columns.file[i]),
		source: text(columns.source[i]),
		line: columns.line[i],
		kind: text(columns.kind[i]) || guess(columns.file[i], columns.source[i]),
		inlined: columns.inlined[i] === 1,
	}));

	if (frames.length) frames[0] = { ...frames[0], name: "all", kind: "root" };
	return makeTree(
		frames,
		Int32Array.from(json.nodes.parent),
		Int32Array.from(json.nodes.frame),
		Float64Array.from(json.nodes.self),
		json.nodes.base ? Float64Array.from(json.nodes.base) : null
	);
}

// Without frames that @hides: what they did counts for their callers.
export function withoutFrames(tree: Tree, hides: (frame: Frame) => boolean): Tree {
	const hidden = tree.frames.map(hides);
	const builder = new TreeBuilder(tree.frames, tree.base !== null);
	const places = new Int32Array(tree.parent.length);

	if (!hidden.includes(true)) return tree;
	for (let i = 0; i < places.length; i++) {
		if (i) {
			const parent = places[tree.parent[i]];

			places[i] = hidden[tree.frame[i]] ? parent : builder.child(parent, tree.frame[i]);
		}
		builder.count(places[i], tree.self[i], tree.base ? tree.base[i] : 0);
	}
	return builder.finish();
}

// From the leaves to the root: who used the time, then who called them.
export function inverted(tree: Tree): Tree {
	const builder = new TreeBuilder(tree.frames, tree.base !== null);

	for (let i = 0; i < tree.parent.length; i++) {
		const base = tree.base ? tree.base[i] : 0;

		if (!tree.self[i] && !base) continue;
		let place = 0;
		for (let at = i; at; at = tree.parent[at]) place = builder.child(place, tree.frame[at]);
		builder.count(place, tree.self[i], base);
	}
	return builder.finish();
}

export function sameFunction(left: Frame, right: Frame): boolean {
	return left.name === right.name && left.file === right.file;
}

// Who calls @wanted, and what it calls: two trees, each with it next to the root.
export function aroundFunction(tree: Tree, wanted: Frame): { callers: Tree; callees: Tree } {
	const isIt = tree.frames.map((frame) => isOfProgram(frame) && sameFunction(frame, wanted));
	const callers = new TreeBuilder(tree.frames, tree.base !== null);
	const callees = new TreeBuilder(tree.frames, tree.base !== null);
	const frame = Math.max(isIt.indexOf(true), 0);
	// In the tree of callees; -1 = outside of the function.
	const places = new Int32Array(tree.parent.length).fill(-1);
	const root = callees.child(0, frame);

	for (let i = 1; i < places.length; i++) {
		const above = places[tree.parent[i]];

		if (above >= 0) {
			places[i] = callees.child(above, tree.frame[i]);
		} else if (isIt[tree.frame[i]]) {
			let place = callers.child(0, frame);

			// The outermost call of a recursion has it all.
			places[i] = root;
			for (let at = tree.parent[i]; at; at = tree.parent[at])
				place = callers.child(place, tree.frame[at]);
			callers.count(place, tree.total[i], tree.baseTotal ? tree.baseTotal[i] : 0);
		}
		if (places[i] >= 0) callees.count(places[i], tree.self[i], tree.base ? tree.base[i] : 0);
	}
	return { callers: callers.finish(), callees: callees.finish() };
}

export interface HotFunction {
	frame: Frame;
	self: number;
	total: number;
	baseSelf: number;
	baseTotal: number;
}

// A function is counted once on each stack, however often it is there.
export function functionsOf(tree: Tree): HotFunction[] {
	const byKey = new Map<string, HotFunction>();
	const ofFrame = tree.frames.map((frame) => {
		const key = `${frame.name}\0${frame.file}`;
		let found = byKey.get(key);

		if (!isOfProgram(frame)) return null;
		if (!found) {
			found = { frame, self: 0, total: 0, baseSelf: 0, baseTotal: 0 };
			byKey.set(key, found);
		}
		return found;
	});
	const open = new Map<HotFunction, number>();
	const stack: number[] = [];
	const leave = (node: number) => {
		const hot = ofFrame[tree.frame[node]];

		if (hot) open.set(hot, (open.get(hot) ?? 1) - 1);
	};

	for (let node = 0; node >= 0; ) {
		const hot = ofFrame[tree.frame[node]];

		if (hot) {
			const already = open.get(hot) ?? 0;

			hot.self += tree.self[node];
			hot.baseSelf += tree.base ? tree.base[node] : 0;
			if (!already) {
				hot.total += tree.total[node];
				hot.baseTotal += tree.baseTotal ? tree.baseTotal[node] : 0;
			}
			open.set(hot, already + 1);
		}
		if (tree.firstChild[node] >= 0) {
			stack.push(node);
			node = tree.firstChild[node];
			continue;
		}
		leave(node);
		while (tree.nextSibling[node] < 0 && stack.length) leave((node = stack.pop() as number));
		node = node ? tree.nextSibling[node] : -1;
	}
	return [...byKey.values()].filter((hot) => hot.self || hot.total || hot.baseTotal);
}

// The frames from the outermost one to @node, the root left out.
export function pathTo(tree: Tree, node: number): number[] {
	const path: number[] = [];

	for (let at = node; at > 0; at = tree.parent[at]) path.unshift(at);
	return path;
}

// The node to which names lead from the root, as far as they do.
export function follow(tree: Tree, names: string[]): number {
	let at = 0;

	for (const name of names) {
		let child = tree.firstChild[at];

		while (child >= 0 && tree.frames[tree.frame[child]].name !== name)
			child = tree.nextSibling[child];
		if (child < 0) break;
		at = child;
	}
	return at;
}
