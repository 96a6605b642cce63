// SPDX-License-Identifier: Apache-2.0
// The search: a field, what it has found, and the way from one match to the next.

import { el } from "./dom";
import { shareText } from "./text";
import type { Tree } from "./tree";

// null: nothing is looked for, or what is no regular expression.
export function patternOf(text: string): RegExp | null {
	if (!text) return null;
	try {
		return new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
	} catch {
		return null;
	}
}

function isBelow(tree: Tree, node: number, root: number): boolean {
	for (let at = node; ; at = tree.parent[at]) {
		if (at === root) return true;
		if (!at) return false;
	}
}

export interface SearchEvents {
	changed(text: string): void;
	next(step: 1 | -1): void;
}

export class Search {
	readonly input = el("input", {
		type: "search",
		placeholder: "search: regular expression  ( / )",
		"aria-label": "search frames",
		class: "search",
	});
	readonly result = el("span", { class: "result", "aria-live": "polite" });
	readonly steps: HTMLElement; // to the previous match and the next, for who has no keys
	matches: Uint8Array | null = null; // by frame
	private found: number[] = []; // nodes
	private at = -1; // in `found`
	private covered = ""; // what was counted on stacks with a match

	constructor(events: SearchEvents) {
		const step = (label: string, title: string, by: 1 | -1) =>
			el("button", { "aria-label": title, title, onclick: () => events.next(by) }, label);

		this.steps = el(
			"span",
			{ class: "segmented", hidden: true },
			step("‹", "previous match ( N )", -1),
			step("›", "next match ( n )", 1)
		);
		this.input.addEventListener("input", () => events.changed(this.input.value));
		this.input.addEventListener("keydown", (event) => {
			if (event.key === "Enter") events.next(event.shiftKey ? -1 : 1);
			if (event.key === "Escape") {
				this.input.value = "";
				events.changed("");
				this.input.blur();
			}
		});
	}

	focus(): void {
		this.input.focus();
		this.input.select();
	}

	// Looks for @text in @tree; @valueText writes what was counted.
	find(tree: Tree | null, text: string, valueText: (value: number) => string): void {
		const pattern = patternOf(text);

		this.matches = null;
		this.found = [];
		this.at = -1;
		this.steps.hidden = true;
		this.input.classList.toggle("bad", Boolean(text && !pattern));
		if (!tree || !pattern) {
			this.result.textContent = text && !pattern ? "no regular expression" : "";
			return;
		}
		const matches = new Uint8Array(tree.frames.length);
		tree.frames.forEach(
			(frame, i) =>
				(matches[i] =
					frame.kind !== "root" && pattern.test(frame.name || frame.file) ? 1 : 0)
		);
		const covered = this.collect(tree, matches);
		this.matches = matches;
		this.covered = `${valueText(covered)}, ${shareText(covered, tree.total[0])}`;
		this.steps.hidden = !this.found.length;
		this.say();
	}

	// The nodes that match; what was counted on stacks with one.
	private collect(tree: Tree, matches: Uint8Array): number {
		const inside = new Uint8Array(tree.parent.length);
		let covered = 0;

		for (let i = 1; i < tree.parent.length; i++) {
			const above = inside[tree.parent[i]];
			const match = matches[tree.frame[i]];

			// The outermost match of a stack has all of it.
			if (match && !above) covered += tree.total[i];
			if (match) this.found.push(i);
			inside[i] = above || match ? 1 : 0;
		}
		return covered;
	}

	// The next match, and what to zoom into, now @zoom, so that it can be seen.
	next(tree: Tree, step: 1 | -1, zoom: number): { node: number; root: number } | null {
		if (!this.found.length) return null;
		// Sorted once somebody goes through them, not at each letter of a search.
		if (this.at < 0) this.found.sort((a, b) => tree.total[b] - tree.total[a]);
		this.at = (this.at + step + this.found.length) % this.found.length;
		const node = this.found[this.at];
		// Out, until the match is inside and wide enough to be seen.
		let root = zoom;
		while (root && !isBelow(tree, node, root)) root = tree.parent[root];
		if (tree.total[node] < tree.total[root] / 40) root = tree.parent[node];
		this.say();
		return { node, root };
	}

	private say(): void {
		const which = this.at < 0 ? "" : `${this.at + 1} of `;

		this.result.textContent = `${which}${this.found.length} frames, ${this.covered}`;
	}
}
