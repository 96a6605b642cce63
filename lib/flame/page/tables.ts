// SPDX-License-Identifier: Apache-2.0
// The tables: functions, and groups of samples.

import { onlyGroup } from "./details";
import { el, redraw } from "./dom";
import { groupLabel } from "./groups";
import { patternOf } from "./search";
import type { Shell } from "./shell";
import type { State } from "./state";
import { baseName, changeText, frameName, shareText, visible } from "./text";
import { functionsOf, HotFunction, Tree, withoutFrames } from "./tree";

const FUNCTIONS_MAX = 500;

function number(text: string, more = ""): HTMLElement {
	return el("td", { class: `number ${more}` }, text);
}

export class FunctionTable {
	private by: State["sort"] = "self";
	private up = false;

	// Into @body, by what is searched for and sorted by.
	draw(body: HTMLElement, shell: Shell): void {
		const tree = shell.shown as Tree;

		this.by = shell.state.sort;
		this.up = shell.state.up;
		const pattern = patternOf(shell.state.search);
		const source = shell.state.inverted
			? withoutFrames(shell.whole as Tree, () => false)
			: tree;
		const functions = functionsOf(source).filter(
			(hot) => !pattern || pattern.test(hot.frame.name || hot.frame.file)
		);

		this.sort(functions, tree);
		const rows = functions.slice(0, FUNCTIONS_MAX).map((hot) => this.row(shell, tree, hot));
		redraw(
			body,
			el(
				"div",
				{ class: "table scrolls" },
				el("table", {}, this.head(shell, tree), el("tbody", {}, ...rows)),
				functions.length > FUNCTIONS_MAX
					? el(
							"p",
							{ class: "dim" },
							`${
								functions.length - FUNCTIONS_MAX
							} more functions; search narrows them down`
					  )
					: null,
				functions.length ? null : el("p", { class: "empty" }, "no functions")
			)
		);
	}

	private sort(functions: HotFunction[], tree: Tree): void {
		const whole = tree.total[0] || 1;
		const baseWhole = tree.baseTotal?.[0] || 1;
		const value = (hot: HotFunction) =>
			this.by === "self"
				? hot.self
				: this.by === "total"
				? hot.total
				: hot.self / whole - hot.baseSelf / baseWhole;

		functions.sort((a, b) => {
			const order =
				this.by === "name"
					? a.frame.name < b.frame.name
						? -1
						: 1
					: value(b) - value(a) || b.total - a.total;

			return this.up ? -order : order;
		});
	}

	private head(shell: Shell, tree: Tree): HTMLElement {
		const sortBy = (by: State["sort"]) =>
			shell.change({ sort: by, up: this.by === by && !this.up });
		// Names begin with a, numbers with the greatest.
		const direction = this.up === (this.by === "name") ? "descending" : "ascending";
		const cell = (by: State["sort"], label: string, more = "") =>
			el(
				"th",
				{
					class: more,
					scope: "col",
					"aria-sort": this.by === by ? direction : "none",
				},
				el("button", { onclick: () => sortBy(by) }, label)
			);

		return el(
			"thead",
			{},
			el(
				"tr",
				{},
				cell("self", "self", "number"),
				el("td", {}),
				cell("total", "total", "number roomy"),
				el("td", { class: "roomy" }),
				tree.base && cell("change", "change of self", "number"),
				cell("name", "function"),
				el("th", { class: "roomy", scope: "col" }, "file")
			)
		);
	}

	private row(shell: Shell, tree: Tree, hot: HotFunction): HTMLElement {
		const whole = tree.total[0];
		const name = el(
			"button",
			{
				class: "link",
				onclick: () => shell.showFunction(hot.frame),
				title: "callers and callees",
			},
			frameName(hot.frame)
		);

		return el(
			"tr",
			{},
			number(shell.text(hot.self)),
			number(shareText(hot.self, whole)),
			number(shell.text(hot.total), "roomy"),
			number(shareText(hot.total, whole), "roomy"),
			tree.base &&
				number(changeText(hot.self, whole, hot.baseSelf, tree.baseTotal?.[0] ?? 0)),
			el("td", {}, name),
			el(
				"td",
				{ class: "dim roomy", title: visible(hot.frame.file) },
				visible(baseName(hot.frame.file))
			)
		);
	}
}

function groupRow(shell: Shell, tree: Tree, node: number): HTMLElement {
	const frame = tree.frames[tree.frame[node]];
	const whole = tree.total[0];
	const total = tree.total[node];
	const name = frameName(frame);
	const meter = el("meter", { min: 0, max: Math.max(whole, 1), value: Math.max(total, 0) });
	const only = { class: "link", onclick: () => onlyGroup(shell, frame.name), title: "only this" };

	return el(
		"tr",
		{},
		number(shell.text(total)),
		number(shareText(total, whole)),
		tree.baseTotal &&
			number(changeText(total, whole, tree.baseTotal[node], tree.baseTotal[0])),
		el("td", { class: "number roomy" }, meter),
		el("td", {}, frame.name ? el("button", only, name) : name)
	);
}

// The groups next to the root, into @body.
export function drawGroups(body: HTMLElement, shell: Shell): void {
	const tree = shell.shown as Tree;
	const { group } = shell.state;
	const rows: HTMLElement[] = [];

	for (let node = tree.firstChild[0]; node >= 0; node = tree.nextSibling[node])
		if (tree.frames[tree.frame[node]].kind === "group")
			rows.push(groupRow(shell, tree, node));
	const head = el(
		"tr",
		{},
		el("th", { class: "number", scope: "col" }, "total"),
		el("td", {}),
		tree.baseTotal && el("th", { class: "number", scope: "col" }, "change"),
		el("td", { class: "roomy" }),
		el("th", { scope: "col" }, groupLabel(group))
	);
	const nothing = group ? "no samples" : "choose above what to group by";
	redraw(
		body,
		el(
			"div",
			{ class: "table scrolls" },
			rows.length
				? el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))
				: el("p", { class: "empty" }, nothing)
		)
	);
}
