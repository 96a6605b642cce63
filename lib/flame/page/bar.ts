// SPDX-License-Identifier: Apache-2.0
// The bar above: what is chosen.

import { el, redraw } from "./dom";
import { groupsToChoose } from "./groups";
import type { Search } from "./search";
import type { Shell } from "./shell";
import { hasBase, serverQuery, State, View } from "./state";
import { rangeText, visible } from "./text";

const RANGES: [string, string][] = [
	["now-1m", "last minute"],
	["now-5m", "last 5 minutes"],
	["now-15m", "last 15 minutes"],
	["now-1h", "last hour"],
	["", "all that is kept"],
];

function toggle(label: string, on: boolean, title: string, change: () => void): HTMLElement {
	return el(
		"button",
		{
			class: on ? "on" : "",
			"aria-pressed": on ? "true" : "false",
			title,
			onclick: change,
		},
		label
	);
}

function choice(
	label: string,
	options: [string, string][],
	value: string,
	chosen: (value: string) => void
): HTMLElement {
	const known = options.some(([word]) => word === value);
	const all: [string, string][] = known ? options : [[value, value], ...options];
	const select = el(
		"select",
		{ "aria-label": label, title: label },
		...all.map(([word, text]) => el("option", { value: word, selected: word === value }, text))
	);

	select.addEventListener("change", () => chosen(select.value));
	return select;
}

function viewChoice(shell: Shell): HTMLElement {
	const { state } = shell;
	const views: [View, string][] = [
		["flame", "flame"],
		["icicle", "icicle"],
		["top", "table"],
	];

	if (shell.isServed) views.push(["groups", "groups"]);
	return el(
		"span",
		{ class: "segmented", role: "group", "aria-label": "view" },
		...views.map(([view, label]) =>
			toggle(label, state.view === view, `${label} view`, () =>
				shell.change({ view, zoom: "" })
			)
		),
		state.view === "callers"
			? toggle("function", true, "callers and callees of a function", () => undefined)
			: null
	);
}

function rangeChoice(shell: Shell): HTMLElement {
	const { from, to } = shell.state;
	const custom = to || (from && !RANGES.some(([word]) => word === from));
	const label =
		/^\d+$/.test(from) && /^\d+$/.test(to)
			? rangeText(Number(from), Number(to))
			: `${from || "…"} to ${to || "now"}`;
	const options: [string, string][] = custom ? [["custom", label], ...RANGES] : RANGES;

	return choice(
		"time",
		options,
		custom ? "custom" : from,
		(value) => value !== "custom" && shell.change({ from: value, to: "", zoom: "" }, true)
	);
}

function liveToggle(shell: Shell): HTMLElement {
	const { live } = shell.state;
	const button = toggle(
		live ? "live" : "frozen",
		shell.isLive,
		"follow what comes in ( space )",
		() => shell.change({ live: !live }, true)
	);

	button.setAttribute("aria-label", "live");
	return button;
}

function groupChoice(shell: Shell): HTMLElement {
	const groups = groupsToChoose(shell.status?.keys ?? []);
	const named = groups.map(([key, name]): [string, string] => [key, `group: ${name}`]);

	return choice(
		"group by",
		[["", "not grouped"], ...named],
		shell.state.group,
		(group) => shell.change({ group, zoom: "" }, true)
	);
}

function whereInput(shell: Shell): HTMLElement {
	const input = el("input", {
		type: "text",
		class: "where",
		value: shell.state.where,
		spellcheck: "false",
		placeholder: 'condition: resource.attributes["service.name"] == "shop"',
		"aria-label": "condition",
	});

	input.addEventListener("change", () => shell.change({ where: input.value, zoom: "" }, true));
	return input;
}

function typeChoice(shell: Shell): HTMLElement | null {
	const kinds = shell.opened.length ? shell.opened[0].kinds : shell.status?.kinds ?? [];

	if (kinds.length < 2) return null;
	return choice(
		"what is counted",
		kinds.map((kind): [string, string] => [
			`${kind.type}:${kind.unit}`,
			`${visible(kind.type)}, ${visible(kind.unit)}`,
		]),
		shell.state.type || `${shell.type}:${shell.unit}`,
		(type) => shell.change({ type, zoom: "" }, true)
	);
}

function compareWithBefore(shell: Shell): void {
	const now = shell.covered("");

	if (!now) return;
	const length = Math.max(now[1] - now[0], 1000);
	const middle = Math.floor((now[0] + now[1]) / 2);

	// Where nothing is kept of that time, the later half with the earlier one.
	if ((shell.status?.from ?? 0) <= now[0] - length / 2)
		shell.change({ baseFrom: String(now[0] - length), baseTo: String(now[0]) }, true);
	else
		shell.change(
			{
				baseFrom: String(now[0]),
				baseTo: String(middle),
				from: String(middle),
				to: String(now[1]),
				zoom: "",
			},
			true
		);
}

function compareButton(shell: Shell): HTMLElement {
	const base = shell.covered("base_");
	// Until the answer is there nobody knows.
	const nothing = shell.whole?.base ? "nothing kept" : "…";
	const time = base ? rangeText(base[0], base[1]) : nothing;

	if (hasBase(shell.state))
		return el(
			"button",
			{
				class: "on",
				title: "stop comparing",
				onclick: () => shell.change({ baseFrom: "", baseTo: "", baseWhere: "" }, true),
			},
			`compared with ${time} ×`
		);
	return el(
		"button",
		{
			title:
				"compare with the time just before; " +
				"Shift and drag in the strip above the graph chooses another one",
			onclick: () => compareWithBefore(shell),
		},
		"compare"
	);
}

function frameToggles(shell: Shell): HTMLElement {
	const { state } = shell;

	return el(
		"span",
		{ class: "segmented", role: "group", "aria-label": "frames" },
		toggle(
			"inverted",
			state.inverted,
			"from the functions that used the time to their callers ( i )",
			() => shell.change({ inverted: !state.inverted, zoom: "" })
		),
		toggle("kernel", state.kernel, "show frames of the kernel ( k )", () =>
			shell.change({ kernel: !state.kernel, zoom: "" })
		),
		toggle("inlined", state.inlined, "show inlined calls ( l )", () =>
			shell.change({ inlined: !state.inlined, zoom: "" })
		)
	);
}

function colourChoice(shell: Shell): HTMLElement {
	const isDifference = Boolean(shell.whole?.base);
	const options: [string, string][] = [
		["", isDifference ? "colour: difference" : "colour: kind of frame"],
		["kind", "colour: kind of frame"],
		["file", "colour: file"],
	];

	if (isDifference) options.push(["diff", "colour: difference"]);
	return choice("colour by", options, shell.state.colour, (value) =>
		shell.change({ colour: value as State["colour"] })
	);
}

function filesMenu(shell: Shell): HTMLElement {
	const { state } = shell;
	const links: [string, string][] = [
		["pb.gz", "pprof"],
		["folded", "folded stacks"],
		["otlp", "OTLP"],
		["svg", "picture (SVG)"],
		["html", "this page in one file"],
	];
	const link = ([ending, label]: [string, string]) =>
		el(
			"a",
			{
				href: `api/profile.${ending}?${serverQuery(state, ending === "html")}`,
				download: `profcol.${ending}`,
			},
			label
		);
	const open = el("input", { type: "file", multiple: true, class: "hidden" });

	open.addEventListener("change", () => void shell.openFiles([...(open.files ?? [])]));
	return el(
		"details",
		{ class: "menu" },
		el("summary", {}, "files"),
		el(
			"div",
			{},
			...(shell.hasServer ? links.map(link) : []),
			el("button", { onclick: () => open.click() }, "open a file, or two to compare"),
			open
		)
	);
}

// On a small screen it shows what of the bar has no room there.
function optionsButton(bar: HTMLElement): HTMLElement {
	return el(
		"button",
		{
			class: "small-only",
			"aria-label": "options",
			"aria-expanded": bar.classList.contains("open") ? "true" : "false",
			onclick: (event: MouseEvent) => {
				const isOpen = bar.classList.toggle("open");

				(event.currentTarget as Element).setAttribute("aria-expanded", String(isOpen));
			},
		},
		"options"
	);
}

function rarer(elements: (HTMLElement | null)[]): (HTMLElement | null)[] {
	elements.forEach((one) => one?.classList.add("rarer"));
	return elements;
}

export function drawBar(bar: HTMLElement, shell: Shell, search: Search): void {
	const names = shell.opened.map((one) => visible(one.name)).join(" compared with ");
	const choices = [groupChoice, compareButton, whereInput];

	redraw(
		bar,
		el("a", { class: "logo", href: shell.hasServer ? "./" : "#" }, "profcol"),
		names ? el("span", { class: "file" }, names) : null,
		names && shell.hasServer
			? el("button", { onclick: () => shell.closeFiles() }, "back to what is live")
			: null,
		viewChoice(shell),
		...(shell.isServed ? [rangeChoice(shell), liveToggle(shell)] : []),
		optionsButton(bar),
		...rarer([
			typeChoice(shell),
			...(shell.isServed ? choices.map((make) => make(shell)) : []),
			frameToggles(shell),
			colourChoice(shell),
			filesMenu(shell),
			el(
				"button",
				{ onclick: () => shell.toggleHelp(), title: "keys ( ? )", "aria-label": "help" },
				"?"
			),
		]),
		search.input,
		search.steps,
		search.result
	);
}
