// SPDX-License-Identifier: Apache-2.0
// What keys do.

import type { Search } from "./search";
import type { Shell } from "./shell";
import type { View } from "./state";
import { isOfProgram } from "./tree";

const VIEWS: View[] = ["flame", "icicle", "top", "groups"];

export interface KeyEvents {
	nextMatch(step: 1 | -1): void;
	reveal(node: number): void; // in the graph
}

// The node that an arrow leads to, or -1.
function neighbour(shell: Shell, key: string): number {
	const tree = shell.shown;
	const at = shell.selected >= 0 ? shell.selected : shell.zoom;
	const { view, inverted } = shell.state;

	if (!tree) return -1;
	const inward = (view === "flame" && !inverted) === (key === "ArrowUp");
	if (key === "ArrowUp" || key === "ArrowDown")
		return inward ? tree.firstChild[at] : tree.parent[at];
	if (key === "ArrowRight") return tree.nextSibling[at];
	let before = -1;
	for (
		let child = tree.firstChild[tree.parent[at]];
		child >= 0 && child !== at;
		child = tree.nextSibling[child]
	)
		before = child;
	return before;
}

function move(shell: Shell, events: KeyEvents, key: string): void {
	const node = neighbour(shell, key);

	if (node < 0) return;
	shell.select(node);
	events.reveal(node);
}

// Were there any?
function closeMenus(): boolean {
	const menus = document.querySelectorAll<HTMLDetailsElement>("details[open]");

	menus.forEach((menu) => (menu.open = false));
	return menus.length > 0;
}

// Is the key one of a control that has the focus?
function isTaken(event: KeyboardEvent): boolean {
	const { tagName } = event.target as HTMLElement;

	if (event.key === "Enter") return tagName === "BUTTON";
	return event.key === " " && (tagName === "BUTTON" || tagName === "SUMMARY");
}

// False: the key means nothing here.
function act(event: KeyboardEvent, shell: Shell, events: KeyEvents, search: Search): boolean {
	const { state, shown, selected, zoom } = shell;
	const frame = shown && selected > 0 ? shown.frames[shown.frame[selected]] : null;

	switch (event.key) {
		case "/":
			search.focus();
			break;
		case "n":
		case "N":
			events.nextMatch(event.key === "n" ? 1 : -1);
			break;
		case "Escape":
			if (closeMenus()) break;
			shell.select(-1);
			if (zoom) shell.zoomTo(0);
			break;
		case "Backspace":
			if (shown && zoom) shell.zoomTo(shown.parent[zoom]);
			break;
		case "Enter":
			if (selected < 0) return false;
			shell.zoomTo(selected);
			break;
		case "ArrowUp":
		case "ArrowDown":
		case "ArrowLeft":
		case "ArrowRight":
			if (state.view === "top" || state.view === "groups") return false;
			move(shell, events, event.key);
			break;
		case "1":
		case "2":
		case "3":
		case "4":
			shell.change({ view: VIEWS[Number(event.key) - 1], zoom: "" });
			break;
		case "i":
			shell.change({ inverted: !state.inverted, zoom: "" });
			break;
		case "k":
			shell.change({ kernel: !state.kernel, zoom: "" });
			break;
		case "l":
			shell.change({ inlined: !state.inlined, zoom: "" });
			break;
		case "c":
			if (frame && isOfProgram(frame)) shell.showFunction(frame);
			break;
		case " ":
			shell.change({ live: !state.live }, true);
			break;
		case "?":
			shell.toggleHelp();
			break;
		default:
			return false;
	}
	return true;
}

export function onKey(
	event: KeyboardEvent,
	shell: Shell,
	events: KeyEvents,
	search: Search
): void {
	const { tagName } = event.target as HTMLElement;

	if (event.ctrlKey || event.metaKey || event.altKey) return;
	if (/^(INPUT|SELECT|TEXTAREA)$/.test(tagName) || isTaken(event)) return;
	if (act(event, shell, events, search)) event.preventDefault();
}
