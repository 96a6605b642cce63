// SPDX-License-Identifier: Apache-2.0
// The sheet of keys, and of what the mouse does.

import { el } from "./dom";

const KEYS: [string, string][] = [
	["/", "search"],
	["n  N", "next, previous match"],
	["click", "zoom into a frame"],
	["right click", "select a frame: its figures, copy its name"],
	["drag", "in the load above: choose a time; a click chooses one slice"],
	["Shift and drag", "there: compare with that time"],
	["Backspace", "zoom out by one frame"],
	["Esc", "zoom out, clear the selection"],
	["arrows", "move the selection"],
	["Enter", "zoom into the selection"],
	["1 2 3 4", "flame, icicle, table, groups"],
	["i", "inverted"],
	["k", "kernel frames"],
	["l", "inlined calls"],
	["c", "callers and callees of the selection"],
	["space", "freeze, go on"],
	["?", "this sheet"],
	["drop a file", "show a pprof, OTLP or folded file; two of them to compare"],
];

export function makeHelp(): HTMLDialogElement {
	const dialog: HTMLDialogElement = el(
		"dialog",
		{ class: "help" },
		el("h2", {}, "Keys and mouse"),
		el(
			"table",
			{},
			...KEYS.map(([key, text]) =>
				el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text))
			)
		),
		el("button", { onclick: () => dialog.close() }, "close")
	);

	return dialog;
}
