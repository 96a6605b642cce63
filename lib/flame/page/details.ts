// SPDX-License-Identifier: Apache-2.0
// What is said of one frame: where the mouse is, what is selected, what is zoomed into.

import { KINDS } from "./colours";
import { el, replace } from "./dom";
import { both, groupCondition } from "./groups";
import type { Shell } from "./shell";
import { changeText, frameName, shareText, visible } from "./text";
import { Frame, isOfProgram, pathTo, Tree } from "./tree";

// The figures of a node, one a text.
function figures(tree: Tree, node: number, valueText: (value: number) => string): string[] {
	const whole = tree.total[0];
	const parts = [
		`total ${valueText(tree.total[node])}, ${shareText(tree.total[node], whole)}`,
		`self ${valueText(tree.self[node])}, ${shareText(tree.self[node], whole)}`,
	];

	if (tree.baseTotal) {
		const base = tree.baseTotal[node];
		const baseWhole = tree.baseTotal[0];

		parts.push(
			`before ${valueText(base)}, ${shareText(base, baseWhole)}`,
			`change ${changeText(tree.total[node], whole, base, baseWhole)}`
		);
	}
	return parts;
}

// Beside the mouse.
export class Tip {
	readonly element = el("div", { class: "tip", role: "tooltip" });

	hide(): void {
		this.element.classList.remove("on");
	}

	// At a place of the window; nothing for no @tree, or @node -1.
	show(
		tree: Tree | null,
		node: number,
		x: number,
		y: number,
		valueText: (value: number) => string
	): void {
		this.element.classList.toggle("on", node >= 0 && tree !== null);
		if (node < 0 || !tree) return;
		const frame = tree.frames[tree.frame[node]];
		const place = frame.source
			? `${visible(frame.source)}${frame.line ? `:${frame.line}` : ""}`
			: "";
		const kind = KINDS.get(frame.kind)?.label ?? visible(frame.kind);

		replace(
			this.element,
			el("strong", {}, frameName(frame)),
			frame.file ? el("div", { class: "dim" }, visible(frame.file)) : null,
			place ? el("div", { class: "dim" }, place) : null,
			isOfProgram(frame)
				? el("div", { class: "dim" }, kind + (frame.inlined ? ", inlined" : ""))
				: null,
			...figures(tree, node, valueText).map((line) => el("div", {}, line))
		);
		this.place(x, y);
	}

	private place(x: number, y: number): void {
		const box = this.element.getBoundingClientRect();
		const left = Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8));
		const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;

		this.element.style.left = `${left}px`;
		this.element.style.top = `${Math.max(top, 4)}px`;
	}
}

// Samples of one value of what is grouped by, alone.
export function onlyGroup(shell: Shell, value: string): void {
	const { state } = shell;

	shell.change(
		{
			where: both(state.where, groupCondition(state.group, value)),
			zoom: "",
			view: state.view === "groups" ? "flame" : state.view,
		},
		true
	);
}

function onlyFunction(shell: Shell, frame: Frame): void {
	const condition = `frame.function == ${JSON.stringify(frame.name)}`;

	shell.change({ where: both(shell.state.where, condition), zoom: "" }, true);
}

// Of the selected frame, with what can be done with it.
export function drawDetails(element: HTMLElement, shell: Shell): void {
	const { shown: tree, selected: node, state } = shell;

	element.hidden = !tree || node <= 0;
	if (!tree || node <= 0) return;
	const frame = tree.frames[tree.frame[node]];
	const isFunction = isOfProgram(frame);

	replace(
		element,
		el("strong", {}, frameName(frame)),
		el("span", {}, figures(tree, node, (value) => shell.text(value)).join(" · ")),
		isFunction &&
			el("button", { onclick: () => shell.showFunction(frame) }, "callers and callees"),
		el(
			"button",
			{ onclick: () => void navigator.clipboard?.writeText(frame.name || frame.file) },
			"copy name"
		),
		isFunction &&
			shell.isServed &&
			frame.name !== "" &&
			el("button", { onclick: () => onlyFunction(shell, frame) }, "only stacks with it"),
		frame.kind === "group" &&
			shell.hasServer &&
			state.group !== "" &&
			el("button", { onclick: () => onlyGroup(shell, frame.name) }, "only this"),
		el("button", { onclick: () => shell.select(-1), "aria-label": "close" }, "×")
	);
}

// The way from the root to what is zoomed into.
export function drawCrumbs(element: HTMLElement, shell: Shell): void {
	const { shown: tree, zoom, state } = shell;

	element.hidden = !tree || !zoom || state.view === "top" || state.view === "groups";
	if (element.hidden || !tree) return;
	const path = [0, ...pathTo(tree, zoom)];
	const shortened = path.length > 12 ? [...path.slice(0, 3), -1, ...path.slice(-8)] : path;
	const crumb = (node: number) =>
		el(
			"button",
			{ onclick: () => shell.zoomTo(node), class: node === zoom ? "current" : "" },
			frameName(tree.frames[tree.frame[node]])
		);

	replace(element, ...shortened.map((node) => (node < 0 ? el("span", {}, "…") : crumb(node))));
	// Where there is room for one line, its end.
	element.scrollLeft = element.scrollWidth;
}
