// SPDX-License-Identifier: Apache-2.0
// The account of samples: what the figures are of, and what is missing from them.

import { differenceColours, kindColours } from "./colours";
import { el, redraw } from "./dom";
import type { Colour } from "./graph";
import type { Status } from "./server";
import type { Shell } from "./shell";
import { rangeText, shareText, spanText, valueText, visible } from "./text";
import { FlameJson, isOfProgram, Tree } from "./tree";

const LINES = 20; // of each kind

// What is missing in one way: how much in all, and where.
interface Gap {
	title: string;
	rows: [string, string][]; // where, how much
}

function samplesText(count: number): string {
	return valueText(count, "samples", "count");
}

// What is shown, and the time it is of; of what it is compared with as well.
function side(total: number, covered: [number, number] | null, shell: Shell): string {
	const time = covered
		? ` in ${spanText(covered[1] - covered[0])}, ${rangeText(covered[0], covered[1])}`
		: "";

	return `${shell.text(total)}${time}`;
}

function whole(tree: Tree, shell: Shell): HTMLElement {
	const now = side(tree.total[0], shell.covered(""), shell);
	const before = tree.baseTotal
		? `; compared with ${side(tree.baseTotal[0], shell.covered("base_"), shell)}`
		: "";
	const title = "times are rounded to what is kept: whole slices, as the load above shows them";

	return el("span", shell.covered("") ? { title } : {}, now + before);
}

function sum(map: Map<string, number>): number {
	return [...map.values()].reduce((all, value) => all + value, 0);
}

// What the figures do not say: stacks that were cut, frames without a name, frames left out.
function missing(tree: Tree, leftOut: number, shell: Shell): Gap[] {
	const cut = new Map<string, number>();
	const unnamed = new Map<string, number>();
	const add = (map: Map<string, number>, key: string, value: number) =>
		map.set(key, (map.get(key) ?? 0) + value);

	for (let i = 1; i < tree.parent.length; i++) {
		const frame = tree.frames[tree.frame[i]];

		if (frame.kind === "abort-marker") add(cut, frame.name, tree.total[i]);
		if (!frame.name && isOfProgram(frame) && tree.self[i])
			add(unnamed, frame.file, tree.self[i]);
	}
	const much = (value: number) => `${shell.text(value)}, ${shareText(value, tree.total[0])}`;
	const gap = (title: string, map: Map<string, number>, none: string): Gap => {
		const sorted = [...map].sort((a, b) => b[1] - a[1]);
		const rest = sum(new Map(sorted.slice(LINES)));
		const rows = sorted
			.slice(0, LINES)
			.map(([name, value]): [string, string] => [visible(name) || none, much(value)]);

		if (rest) rows.push([`${sorted.length - LINES} more`, much(rest)]);
		return { title: `${title}: ${much(sum(map))}`, rows };
	};
	const gaps: Gap[] = [];
	if (cut.size) gaps.push(gap("Stacks that were cut, by the reason", cut, ""));
	if (unnamed.size)
		gaps.push(gap("Time in functions without a name, by file", unnamed, "an unknown file"));
	if (leftOut)
		gaps.push({ title: `${leftOut} small frames are added up as "(smaller frames)"`, rows: [] });
	return gaps;
}

// Samples that never came here, since the start of the program.
function losses(status: Status): Gap[] {
	const taken = status.account
		.filter((row) => row.outcome === "taken")
		.reduce((all, row) => all + row.samples, 0);
	const gone = status.account.filter(
		(row) => row.outcome === "lost" || row.outcome === "filtered"
	);

	if (!taken && !gone.length) return [];
	return [
		{
			title: taken
				? `Since the start: ${samplesText(taken)} taken, idle CPUs included`
				: "Since the start",
			rows: gone.length
				? gone.map((row): [string, string] => [
						`${row.outcome === "lost" ? "lost" : "left out"} at ${row.kind} ` +
							`${visible(row.id)}, ${visible(row.cause)}`,
						samplesText(row.samples),
				  ])
				: [["lost or left out", samplesText(0)]],
		},
	];
}

function gapMenu(gaps: Gap[]): HTMLElement {
	return el(
		"details",
		{ class: "menu up" },
		el("summary", {}, "what is missing"),
		el(
			"div",
			{ class: "scrolls" },
			...gaps.flatMap(({ title, rows }) => [
				el("h2", {}, title),
				el(
					"table",
					{},
					...rows.map(([where, much]) =>
						el("tr", {}, el("td", {}, where), el("td", { class: "number" }, much))
					)
				),
			])
		)
	);
}

// What the colours of a graph say.
function legend(shell: Shell, colour: Colour): HTMLElement | null {
	const { view } = shell.state;

	if (!shell.whole || view === "top" || view === "groups" || colour === "file") return null;
	const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
	const colours =
		colour === "diff" ? differenceColours(dark) : kindColours(shell.whole, dark);
	const swatch = ([label, css]: [string, string]) => {
		const box = el("span", { class: "swatch" });

		box.style.background = css;
		return el("span", {}, box, label);
	};

	return el("span", { class: "legend" }, ...colours.map(swatch));
}

// What the server keeps.
function kept(status: Status): HTMLElement {
	const { samples, memory, memory_max } = status;
	const gone = samples.expired + samples.evicted;
	const lost = status.account
		.filter((row) => row.outcome === "lost")
		.reduce((sum, row) => sum + row.samples, 0);
	const more = lost
		? `; lost since the start: ${samplesText(lost)}`
		: samples.refused
		? `, ${samplesText(samples.refused)} not taken in`
		: "";

	return el(
		"span",
		{ class: "dim" },
		`kept: ${samplesText(samples.kept)} in ${valueText(memory, "", "bytes")} of ${valueText(
			memory_max,
			"",
			"bytes"
		)}${
			gone
				? `; gone: ${samplesText(gone)}, of these ${samplesText(
						samples.evicted
				  )} for want of memory`
				: ""
		}${more}`
	);
}

// @json is null for files that the page has read itself.
export function drawAccount(
	element: HTMLElement,
	shell: Shell,
	failure: string,
	json: FlameJson | null,
	colour: Colour
): void {
	const status = shell.opened.length ? null : shell.status;
	const parts: HTMLElement[] = [];

	if (failure) parts.push(el("span", { class: "failure", role: "alert" }, visible(failure)));
	if (shell.whole) {
		const gaps = missing(shell.whole, json?.left_out ?? 0, shell);

		if (status) gaps.push(...losses(status));
		parts.push(whole(shell.whole, shell));
		if (gaps.length) parts.push(gapMenu(gaps));
	}
	if (json?.condition_failures)
		parts.push(
			el(
				"span",
				{ class: "failure" },
				`${json.condition_failures} samples left out, for which the condition has no ` +
					`answer: ${visible(json.condition_message ?? "")}`
			)
		);
	if (status) {
		parts.push(kept(status));
		parts.push(el("span", { class: "dim" }, `profcol ${visible(status.version)}`));
	}
	redraw(element, ...parts, legend(shell, colour));
}
