// SPDX-License-Identifier: Apache-2.0
// Stacks of a file that the page has read itself, and the tree of them.

import { Frame, kindOf, Tree, TreeBuilder } from "./tree";

const MAX_DEPTH = 2048;

export interface Stack {
	frames: number[]; // from the root on
	value: number;
}

// What is counted, and its stacks.
export interface Counted {
	type: string;
	unit: string;
	stacks: Stack[];
}

export interface Opened {
	name: string;
	kinds: Counted[]; // the one to begin with first
	frames: Frame[];
}

export class FrameTable {
	readonly frames: Frame[] = [
		{ name: "all", file: "", source: "", line: 0, kind: "root", inlined: false },
	];
	private readonly ids = new Map<string, number>();

	id(frame: Frame): number {
		const key = JSON.stringify(frame);
		let id = this.ids.get(key);

		if (id === undefined) {
			id = this.frames.push(frame) - 1;
			this.ids.set(key, id);
		}
		return id;
	}

	// The frames of a place in code, from the outermost call on: @functions have the innermost first. A
	// place without functions is a frame without a name.
	run(file: string, kind: string, functions: (FunctionName | undefined)[]): number[] {
		const frame = (fn: FunctionName | undefined, inlined: boolean) => {
			const source = fn?.source ?? "";

			return this.id({
				name: fn?.name ?? "",
				file,
				source,
				line: fn?.line ?? 0,
				kind: kind || kindOf(file, source),
				inlined,
			});
		};

		if (!functions.length) return [frame(undefined, false)];
		return functions.map((fn, i) => frame(fn, i + 1 < functions.length)).reverse();
	}
}

export interface FunctionName {
	name: string;
	source: string;
	line: number;
}

// The kind called "type:unit", else the first one.
export function kindCalled(opened: Opened, wanted: string): Counted {
	return (
		opened.kinds.find((kind) => `${kind.type}:${kind.unit}` === wanted) ?? opened.kinds[0]
	);
}

// One file, or two for a difference.
export function treeOfStacks(now: Opened, base: Opened | null, wanted: string): Tree {
	const frames = now.frames.slice();
	const ids = new Map(frames.map((frame, id) => [JSON.stringify(frame), id]));
	const ofBase = (base?.frames ?? []).map((frame) => {
		const key = JSON.stringify(frame);
		let id = ids.get(key);

		if (id === undefined) {
			id = frames.push(frame) - 1;
			ids.set(key, id);
		}
		return id;
	});
	const builder = new TreeBuilder(frames, base !== null);
	const add = (stacks: Stack[], map: number[] | null) => {
		for (const stack of stacks) {
			let at = 0;

			for (const id of stack.frames.slice(0, MAX_DEPTH))
				at = builder.child(at, map ? map[id] : id);
			builder.count(at, map ? 0 : stack.value, map ? stack.value : 0);
		}
	};
	const kind = kindCalled(now, wanted);

	add(kind.stacks, null);
	if (base) add(kindCalled(base, `${kind.type}:${kind.unit}`).stacks, ofBase);
	return builder.finish();
}
