// SPDX-License-Identifier: Apache-2.0
// The account of samples: what the figures are of, and what is missing from them.

import { el, replace } from "./dom";
import type { Status } from "./server";
import type { Shell } from "./shell";
import { shareText, spanText, timeText, valueText, visible } from "./text";
import { FlameJson, isOfProgram, Tree } from "./tree";

const LINES = 20; // of each kind

function samplesText(count: number): string {
	return valueText(count, "samples", "count");
}

// What is shown, and the time it is of.
function whole(tree: Tree, shell: Shell): HTMLElement {
	const covered = shell.covered("");
	const time = covered
		? ` in ${spanText(covered[1] - covered[0])} from ${timeText(covered[0])} to ` +
		  `${timeText(covered[1])}, rounded to what is kept`
		: "";

	return el("span", {}, `${shell.text(tree.total[0])}${time}`);
}

// What the figures do not say: stacks that were cut, frames without a name, frames left out.
function missing(tree: Tree, leftOut: number, shell: Shell): string[] {
	const lines: string[] = [];
	const cut = new Map<string, number>();
	const unnamed = new Map<string, number>();

	for (let i = 1; i < tree.parent.length; i++) {
		const frame = tree.frames[tree.frame[i]];

		if (frame.kind === "abort-marker")
			cut.set(frame.name, (cut.get(frame.name) ?? 0) + tree.total[i]);
		if (!frame.name && isOfProgram(frame) && tree.self[i])
			unnamed.set(frame.file, (unnamed.get(frame.file) ?? 0) + tree.self[i]);
	}
	const list = (map: Map<string, number>, what: string, none: string) => {
		for (const [name, value] of [...map].sort((a, b) => b[1] - a[1]).slice(0, LINES))
			lines.push(
				`${what} ${visible(name) || none}: ${shell.text(value)}, ` +
					shareText(value, tree.total[0])
			);
	};
	list(cut, "stacks that were cut:", "");
	list(unnamed, "time in functions without a name, in", "an unknown file");
	if (leftOut) lines.push(`${leftOut} small frames are added up as "(smaller frames)"`);
	return lines;
}

// Samples that never came here, since the start of the program.
function losses(status: Status): string[] {
	const taken = status.account
		.filter((row) => row.outcome === "taken")
		.reduce((sum, row) => sum + row.samples, 0);
	const gone = status.account.filter(
		(row) => row.outcome === "lost" || row.outcome === "filtered"
	);

	return [
		...(taken ? [`since the start: ${samplesText(taken)} taken, idle CPUs included`] : []),
		...gone.map(
			(row) =>
				`${row.outcome === "lost" ? "lost" : "left out"} at ${row.kind} ${visible(
					row.id
				)}, ${visible(row.cause)}: ${samplesText(row.samples)}`
		),
	];
}

// What the server keeps.
function kept(status: Status): HTMLElement {
	const { samples, memory, memory_max } = status;
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
		)}; gone: ${samplesText(samples.expired + samples.evicted)}, of these ${samplesText(
			samples.evicted
		)} for want of memory${more}`
	);
}

// @json is null for files that the page has read itself.
export function drawAccount(
	element: HTMLElement,
	shell: Shell,
	failure: string,
	json: FlameJson | null
): void {
	const status = shell.opened.length ? null : shell.status;
	const parts: HTMLElement[] = [];

	if (failure) parts.push(el("span", { class: "failure", role: "alert" }, visible(failure)));
	if (shell.whole) {
		const lines = missing(shell.whole, json?.left_out ?? 0, shell);

		if (status) lines.push(...losses(status));
		parts.push(whole(shell.whole, shell));
		if (lines.length)
			parts.push(
				el(
					"details",
					{ class: "menu up" },
					el("summary", {}, "what is missing"),
					el("div", {}, ...lines.map((line) => el("p", {}, line)))
				)
			);
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
	replace(element, ...parts);
}
