// SPDX-License-Identifier: Apache-2.0
// What is shown, all of it in the URL: links and the back button lead to the same picture.

export type View = "flame" | "icicle" | "top" | "callers" | "groups";

export interface State {
	view: View;
	type: string; // "samples:count"; "" = the server's choice
	from: string; // as the server takes it: "now-5m", milliseconds; "" = all
	to: string;
	where: string;
	group: string;
	baseFrom: string;
	baseTo: string;
	baseWhere: string;
	fn: string; // of the view "callers": name
	fnFile: string;
	search: string;
	zoom: string; // names of frames, joined by "\n"
	inverted: boolean;
	kernel: boolean;
	inlined: boolean;
	colour: "kind" | "file" | "diff" | "";
	sort: "self" | "total" | "name" | "change"; // of the table
	up: boolean; // the least first
	live: boolean;
}

// What people look for first.
export const DEFAULT_GROUP = "process.executable.name";
const SORTS = ["self", "total", "name", "change"] as const;
const VIEWS: View[] = ["flame", "icicle", "top", "callers", "groups"];
const TEXTS: [keyof State, string][] = [
	["type", "type"],
	["from", "from"],
	["to", "to"],
	["where", "where"],
	["group", "group"],
	["baseFrom", "base_from"],
	["baseTo", "base_to"],
	["baseWhere", "base_where"],
	["fn", "fn"],
	["fnFile", "fn_file"],
	["search", "q"],
	["zoom", "zoom"],
];

export function readState(): State {
	const query = new URLSearchParams(location.search);
	const state: State = {
		view: VIEWS.find((view) => view === query.get("view")) ?? "flame",
		type: "",
		from: "",
		to: "",
		where: "",
		group: "",
		baseFrom: "",
		baseTo: "",
		baseWhere: "",
		fn: "",
		fnFile: "",
		search: "",
		zoom: "",
		inverted: query.get("inverted") === "1",
		kernel: query.get("kernel") !== "0",
		inlined: query.get("inlined") !== "0",
		colour:
			(["kind", "file", "diff"] as const).find((word) => word === query.get("colour")) ?? "",
		sort: SORTS.find((word) => query.get("sort")?.replace("-", "") === word) ?? "self",
		up: query.get("sort")?.startsWith("-") ?? false,
		live: query.get("live") !== "0",
	};

	for (const [key, word] of TEXTS) (state[key] as string) = query.get(word) ?? "";
	if (!query.has("from") && !query.has("to")) state.from = "now-15m";
	if (!query.has("group")) state.group = DEFAULT_GROUP;
	// Words of the server's own that a link may have.
	for (const word of SHORTHANDS)
		if (query.has(word)) shorthands.set(word, query.get(word) as string);
	return state;
}

const SHORTHANDS = ["pid", "tid", "comm", "container", "pod", "namespace", "service"];
export const shorthands = new Map<string, string>();

export function writeState(state: State): string {
	const query = new URLSearchParams();

	if (state.view !== "flame") query.set("view", state.view);
	for (const [word, value] of shorthands) query.set(word, value);
	for (const [key, word] of TEXTS) {
		const value = state[key] as string;

		if (
			value &&
			value.length < 2000 &&
			word !== "group" &&
			!(word === "from" && value === "now-15m" && !state.to)
		)
			query.set(word, value);
	}
	if (state.from === "" && state.to === "") query.set("from", "");
	if (state.group !== DEFAULT_GROUP) query.set("group", state.group);
	if (state.inverted) query.set("inverted", "1");
	if (!state.kernel) query.set("kernel", "0");
	if (!state.inlined) query.set("inlined", "0");
	if (state.colour) query.set("colour", state.colour);
	if (state.sort !== "self" || state.up)
		query.set("sort", `${state.up ? "-" : ""}${state.sort}`);
	if (!state.live) query.set("live", "0");
	const text = query.toString();

	return text ? `?${text}` : "";
}

// The part that the server answers, for /api/flame.json and the files.
export function serverQuery(state: State, withBase: boolean): string {
	const query = new URLSearchParams();
	const words: [string, string][] = [
		["type", state.type],
		["from", state.from],
		["to", state.to],
		["where", state.where],
		["group", state.group],
		...(withBase
			? ([
					["base_from", state.baseFrom],
					["base_to", state.baseTo],
					["base_where", state.baseWhere],
			  ] as [string, string][])
			: []),
		...shorthands,
	];

	for (const [word, value] of words) if (value) query.set(word, value);
	return query.toString();
}

export function hasBase(state: State): boolean {
	return Boolean(state.baseFrom || state.baseTo || state.baseWhere);
}
