// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, what is shown, and how to get from one to the other.

import { el, replace } from "./dom";
import { isJson, openFile, Opened, treeOfFiles } from "./files";
import { Colour, Graph, KINDS } from "./graph";
import { hasBase, readState, serverQuery, State, View, writeState } from "./state";
import { Load, Strip } from "./strip";
import {
	baseName,
	changeText,
	frameName,
	shareText,
	spanText,
	timeText,
	valueText,
	visible,
} from "./text";
import {
	aroundFunction,
	FlameJson,
	follow,
	Frame,
	functionsOf,
	HotFunction,
	inverted,
	isOfProgram,
	pathTo,
	Tree,
	treeOfJson,
	withoutFrames,
} from "./tree";

interface Status {
	version: string;
	now: number;
	from: number;
	to: number;
	retention_ms: number;
	memory: number;
	memory_max: number;
	samples: { kept: number; expired: number; evicted: number; refused: number };
	kinds: { type: string; unit: string; value: number }[];
	keys: string[];
	account: { kind: string; id: string; outcome: string; cause: string; samples: number }[];
}

const REFRESH_MS = 5000;
const RANGES: [string, string][] = [
	["now-1m", "last minute"],
	["now-5m", "last 5 minutes"],
	["now-15m", "last 15 minutes"],
	["now-1h", "last hour"],
	["", "all that is kept"],
];
const GROUPS: [string, string][] = [
	["process.executable.name", "executable"],
	["process.pid", "process"],
	["thread.name", "thread"],
	["service.name", "service"],
	["k8s.pod.name", "pod"],
	["k8s.container.name", "container"],
	["container.id", "container id"],
	["k8s.namespace.name", "namespace"],
	["k8s.deployment.name", "deployment"],
];
// Of frames and files, not of samples.
const NOT_TO_GROUP_BY =
	/^(profile\.frame\.type|process\.executable\.build_id|process\.creation\.time)/;

class Page {
	private state = readState();
	private json: FlameJson | null = null;
	private opened: Opened[] = []; // from files: nothing is asked of a server
	private readonly hasServer: boolean;
	private whole: Tree | null = null; // as it came
	private shown: Tree | null = null; // as it is drawn
	private status: Status | null = null;
	private load: Load | null = null;
	private zoom = 0;
	private selected = -1;
	private matches: Uint8Array | null = null;
	private found: number[] = []; // nodes
	private foundAt = -1;
	private sort: { by: "self" | "total" | "name" | "change"; up: boolean } = {
		by: "self",
		up: false,
	};
	private failure = "";
	private asked = 0; // counts requests: the answer to an older one is late
	private timer = 0;

	private readonly graph: Graph;
	private readonly callers: Graph;
	private readonly strip: Strip;
	private readonly bar = el("header");
	private readonly crumbs = el("nav", { class: "crumbs", "aria-label": "zoomed into" });
	private readonly body = el("main");
	private readonly details = el("section", { class: "details", "aria-live": "polite" });
	private readonly account = el("footer");
	private readonly tip = el("div", { class: "tip", role: "tooltip" });
	private readonly search = el("input", {
		type: "search",
		placeholder: "search: regular expression  ( / )",
		"aria-label": "search frames",
		class: "search",
	});
	private readonly searchResult = el("span", { class: "result", "aria-live": "polite" });
	private readonly help = this.makeHelp();

	constructor() {
		const data = document.getElementById("data");

		this.hasServer = !data;
		this.graph = new Graph(
			{ upwards: true, colour: "kind" },
			this.graphEvents(() => this.graph)
		);
		this.callers = new Graph(
			{ upwards: true, colour: "kind" },
			{
				zoom: (node) => this.showFunctionOf(node, this.callers),
				select: () => undefined,
				hover: (node, x, y) => this.showTip(node, x, y, this.callersTree),
				menu: () => undefined,
			}
		);
		this.strip = new Strip((from, to, base) => this.chooseTime(from, to, base));
		document.body.append(
			this.bar,
			this.strip.element,
			this.crumbs,
			this.body,
			this.details,
			this.account,
			this.tip,
			this.help
		);
		this.strip.element.hidden = !this.hasServer;
		this.search.addEventListener("input", () => this.changeSearch());
		this.search.addEventListener("keydown", (event) => {
			if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
			if (event.key === "Escape")
				(this.search.value = ""), this.changeSearch(), this.search.blur();
		});
		window.addEventListener("popstate", () => this.onPopState());
		window.addEventListener("keydown", (event) => this.onKey(event));
		document.addEventListener("dragover", (event) => event.preventDefault());
		document.addEventListener("drop", (event) => this.onDrop(event));
		window
			.matchMedia("(prefers-color-scheme: dark)")
			.addEventListener("change", () => this.graph.draw());
		this.search.value = this.state.search;
		if (data) this.takeJson(JSON.parse(data.textContent ?? "null") as FlameJson);
		else void this.refresh();
		this.drawBar();
	}

	// ---- the state ----

	private change(change: Partial<State>, asks = false): void {
		this.tip.classList.remove("on");
		this.state = { ...this.state, ...change };
		history.pushState(null, "", location.pathname + writeState(this.state) + location.hash);
		this.drawBar();
		if (asks && this.hasServer && !this.opened.length) void this.refresh();
		else this.drawBody();
	}

	// Without a step for the back button.
	private note(change: Partial<State>): void {
		this.state = { ...this.state, ...change };
		history.replaceState(null, "", location.pathname + writeState(this.state) + location.hash);
	}

	private onPopState(): void {
		this.state = readState();
		this.search.value = this.state.search;
		this.drawBar();
		if (this.hasServer && !this.opened.length) void this.refresh();
		else this.drawBody();
	}

	private get view(): View {
		return this.state.view;
	}

	private get type(): string {
		return this.opened[0]?.type ?? this.json?.type ?? "";
	}

	private get unit(): string {
		return this.opened[0]?.unit ?? this.json?.unit ?? "";
	}

	private text(value: number): string {
		return valueText(value, this.type, this.unit);
	}

	// ---- the server ----

	private async get<T>(path: string): Promise<T> {
		const reply = await fetch(path, { headers: { accept: "application/json" } });

		if (!reply.ok)
			throw new Error((await reply.text()).trim() || `the server says ${reply.status}`);
		return (await reply.json()) as T;
	}

	private async refresh(): Promise<void> {
		const number = ++this.asked;

		clearTimeout(this.timer);
		document.body.classList.add("busy");
		try {
			const query = serverQuery(this.state, true);
			const [flame, status, load] = await Promise.all([
				this.get<FlameJson>(`api/flame.json?${query}`),
				this.get<Status>("api/status.json"),
				this.get<Load>(`api/load.json?${new URLSearchParams({ type: this.state.type })}`),
			]);

			if (number !== this.asked) return;
			this.status = status;
			this.load = load;
			this.failure = "";
			this.takeJson(flame);
		} catch (error) {
			if (number !== this.asked) return;
			this.failure = error instanceof Error ? error.message : String(error);
			this.drawAccount();
		}
		document.body.classList.remove("busy");
		this.drawBar();
		if (this.isLive()) this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MS);
	}

	// Is there something new to come?
	private isLive(): boolean {
		const { live, to, from } = this.state;

		return (
			this.hasServer &&
			live &&
			!this.opened.length &&
			(!to || to.startsWith("now")) &&
			!/^\d+$/.test(from + to)
		);
	}

	private takeJson(json: FlameJson): void {
		this.json = json;
		this.whole = treeOfJson(json);
		this.drawBody();
	}

	// ---- files ----

	private onDrop(event: DragEvent): void {
		const files = [...(event.dataTransfer?.files ?? [])];

		event.preventDefault();
		if (files.length) void this.openFiles(files);
	}

	private async openFiles(files: File[]): Promise<void> {
		try {
			const opened = await Promise.all(files.slice(0, 2).map(openFile));
			const first = opened[0];

			clearTimeout(this.timer);
			this.asked++;
			if (isJson(first)) {
				this.opened = [
					{
						name: files[0].name,
						type: first.type,
						unit: first.unit,
						stacks: [],
						frames: [],
					},
				];
				this.json = first;
				this.whole = treeOfJson(first);
			} else {
				const second = opened[1] && !isJson(opened[1]) ? opened[1] : null;

				this.json = null;
				this.whole = treeOfFiles(first, second);
				this.opened = second ? [first, second] : [first];
			}
			this.failure = "";
			this.strip.element.hidden = true;
			this.change({ zoom: "", view: this.view === "groups" ? "flame" : this.view });
		} catch (error) {
			this.failure = `${files[0].name} cannot be shown: ${
				error instanceof Error ? error.message : String(error)
			}`;
			this.drawAccount();
		}
	}

	private closeFiles(): void {
		this.opened = [];
		this.strip.element.hidden = false;
		this.change({ zoom: "" }, true);
	}

	// ---- what is shown ----

	private colour(): Colour {
		return this.state.colour || (this.whole?.base ? "diff" : "kind");
	}

	private callersTree: Tree | null = null;

	private makeShown(whole: Tree): Tree {
		const { kernel, inlined } = this.state;
		const hides = (frame: Frame) =>
			isOfProgram(frame) &&
			((!kernel && frame.kind === "kernel") || (!inlined && frame.inlined));
		// Grouped by what nothing has: a level that says nothing.
		const groups = whole.frames.filter((frame) => frame.kind === "group");
		const isBare = groups.length === 1 && !groups[0].name && this.view !== "groups";
		const tree = withoutFrames(
			whole,
			(frame) => hides(frame) || (isBare && frame.kind === "group")
		);

		if (this.view === "callers") {
			const named = tree.frames.filter(
				(frame) => frame.name === this.state.fn && isOfProgram(frame)
			);
			const wanted = named.find((frame) => frame.file === this.state.fnFile) ?? named[0];

			if (wanted) {
				const { callers, callees } = aroundFunction(tree, wanted);

				this.callersTree = callers;
				return callees;
			}
		}
		return this.state.inverted && this.view !== "groups" ? inverted(tree) : tree;
	}

	private drawBody(): void {
		if (!this.whole) return;
		this.callersTree = null;
		this.shown = this.makeShown(this.whole);
		this.zoom = this.state.zoom ? follow(this.shown, this.state.zoom.split("\n")) : 0;
		this.selected = -1;
		this.findMatches();
		if (this.view === "top") this.drawTop();
		else if (this.view === "groups") this.drawGroups();
		else this.drawGraphs();
		this.drawCrumbs();
		this.drawDetails();
		this.drawAccount();
		this.strip.show(
			this.load ?? { type: "", unit: "", slices: [] },
			this.covered(""),
			this.covered("base_")
		);
	}

	private covered(prefix: "" | "base_"): [number, number] | null {
		const from = prefix ? this.json?.base_from : this.json?.from;
		const to = prefix ? this.json?.base_to : this.json?.to;

		return from && to ? [from, to] : null;
	}

	private drawGraphs(): void {
		const tree = this.shown as Tree;
		const colour = this.colour();
		const upwards = this.view === "flame" && !this.state.inverted;
		const label = `${upwards ? "flame graph" : "icicle graph"}, ${this.text(
			tree.total[0]
		)}; the table view has the same in words`;

		this.graph.element.setAttribute("aria-label", label);
		if (this.view === "callers" && this.callersTree) {
			replace(
				this.body,
				el("h2", {}, `callers of ${this.functionName()}`),
				this.callers.element,
				el("h2", {}, "what it calls"),
				this.graph.element
			);
			this.callers.show(
				this.callersTree,
				this.callersTree.firstChild[0] >= 0 ? this.callersTree.firstChild[0] : 0,
				{ upwards: true, colour }
			);
			this.graph.show(tree, this.zoom || (tree.firstChild[0] >= 0 ? tree.firstChild[0] : 0), {
				upwards: false,
				colour,
			});
		} else if (this.view === "callers") {
			replace(
				this.body,
				el("p", { class: "empty" }, `${this.functionName()} is in no stack of this time`)
			);
		} else {
			if (this.body.firstChild !== this.graph.element || this.body.childNodes.length !== 1)
				replace(this.body, this.graph.element);
			this.graph.show(tree, this.zoom, { upwards, colour });
		}
		this.graph.setMatches(this.matches);
		if (!tree.total[0] && !tree.baseTotal?.[0]) this.drawEmpty();
	}

	// Of the view of one function.
	private functionName(): string {
		return frameName({
			name: this.state.fn,
			file: this.state.fnFile,
			source: "",
			line: 0,
			kind: "",
			inlined: false,
		});
	}

	private drawEmpty(): void {
		const nothing =
			this.status && !this.status.samples.kept
				? "Nothing is kept yet: the first profiles come a few seconds after the start."
				: "There are no samples in this time, or the condition matches none.";

		replace(this.body, el("p", { class: "empty" }, nothing));
	}

	// ---- zoom, selection, breadcrumbs ----

	private graphEvents(graph: () => Graph) {
		return {
			zoom: (node: number) => this.zoomTo(node),
			select: (node: number) => this.select(node),
			hover: (node: number, x: number, y: number) => this.showTip(node, x, y, this.shown),
			menu: (node: number) => {
				this.select(node);
				graph().setSelected(node);
			},
		};
	}

	private names(node: number): string {
		const tree = this.shown as Tree;

		return pathTo(tree, node)
			.map((at) => tree.frames[tree.frame[at]].name)
			.join("\n");
	}

	private zoomTo(node: number): void {
		this.zoom = node;
		this.state = { ...this.state, zoom: this.names(node) };
		history.pushState(null, "", location.pathname + writeState(this.state) + location.hash);
		this.graph.setRoot(node);
		this.select(node);
		this.drawCrumbs();
	}

	private select(node: number): void {
		this.selected = node;
		this.graph.setSelected(node);
		this.drawDetails();
	}

	private drawCrumbs(): void {
		const tree = this.shown;

		this.crumbs.hidden = !tree || !this.zoom || this.view === "top" || this.view === "groups";
		if (this.crumbs.hidden || !tree) return;
		const path = [0, ...pathTo(tree, this.zoom)];
		const shortened = path.length > 12 ? [...path.slice(0, 3), -1, ...path.slice(-8)] : path;

		replace(
			this.crumbs,
			...shortened.map((node) =>
				node < 0
					? el("span", {}, "…")
					: el(
							"button",
							{
								onclick: () => this.zoomTo(node),
								class: node === this.zoom ? "current" : "",
							},
							frameName(tree.frames[tree.frame[node]])
					  )
			)
		);
	}

	private drawDetails(): void {
		const tree = this.shown;
		const node = this.selected;

		this.details.hidden = !tree || node <= 0;
		if (!tree || node <= 0) return;
		const frame = tree.frames[tree.frame[node]];

		replace(
			this.details,
			el("strong", {}, frameName(frame)),
			el("span", {}, this.figures(tree, node)),
			isOfProgram(frame) &&
				el("button", { onclick: () => this.showFunction(frame) }, "callers and callees"),
			el(
				"button",
				{ onclick: () => void navigator.clipboard?.writeText(frame.name || frame.file) },
				"copy name"
			),
			isOfProgram(frame) &&
				this.hasServer &&
				!this.opened.length &&
				frame.name !== "" &&
				el(
					"button",
					{
						onclick: () =>
							this.change(
								{
									where: this.and(
										`frame.function == ${JSON.stringify(frame.name)}`
									),
									zoom: "",
								},
								true
							),
					},
					"only stacks with it"
				),
			frame.kind === "group" &&
				this.hasServer &&
				this.state.group !== "" &&
				el("button", { onclick: () => this.onlyGroup(frame.name) }, "only this"),
			el("button", { onclick: () => this.select(-1), "aria-label": "close" }, "×")
		);
	}

	private and(condition: string): string {
		return this.state.where ? `(${this.state.where}) and ${condition}` : condition;
	}

	private onlyGroup(value: string): void {
		const key = JSON.stringify(this.state.group);
		const literal =
			/^\d+$/.test(value) &&
			/\.pid$|\.id$/.test(this.state.group) &&
			this.state.group !== "container.id"
				? value
				: JSON.stringify(value);
		const [resource, sample] = ["resource", "profilesample"].map(
			(level) => `${level}.attributes[${key}] == ${literal}`,
		);
		const condition = `(${resource} or ${sample})`;

		this.change(
			{
				where: this.and(condition),
				zoom: "",
				view: this.view === "groups" ? "flame" : this.view,
			},
			true
		);
	}

	private showFunction(frame: Frame): void {
		this.change({
			view: "callers",
			fn: frame.name,
			fnFile: frame.file,
			zoom: "",
			inverted: false,
		});
	}

	private showFunctionOf(node: number, _graph: Graph): void {
		const tree = this.callersTree;
		const frame = tree?.frames[tree.frame[node]];

		if (frame && node && isOfProgram(frame)) this.showFunction(frame);
	}

	private figures(tree: Tree, node: number): string {
		const whole = tree.total[0];
		const parts = [
			`total ${this.text(tree.total[node])}, ${shareText(tree.total[node], whole)}`,
			`self ${this.text(tree.self[node])}, ${shareText(tree.self[node], whole)}`,
		];

		if (tree.baseTotal)
			parts.push(
				`before ${this.text(tree.baseTotal[node])}, ${shareText(
					tree.baseTotal[node],
					tree.baseTotal[0]
				)}`,
				`change ${changeText(
					tree.total[node],
					whole,
					tree.baseTotal[node],
					tree.baseTotal[0]
				)}`
			);
		return parts.join(" · ");
	}

	private showTip(node: number, x: number, y: number, tree: Tree | null): void {
		this.tip.classList.toggle("on", node >= 0 && tree !== null);
		if (node < 0 || !tree) return;
		const frame = tree.frames[tree.frame[node]];
		const place = frame.source
			? `${visible(frame.source)}${frame.line ? `:${frame.line}` : ""}`
			: "";
		const kind = KINDS.get(frame.kind)?.label ?? visible(frame.kind);

		replace(
			this.tip,
			el("strong", {}, frameName(frame)),
			frame.file ? el("div", { class: "dim" }, visible(frame.file)) : null,
			place ? el("div", { class: "dim" }, place) : null,
			isOfProgram(frame)
				? el("div", { class: "dim" }, kind + (frame.inlined ? ", inlined" : ""))
				: null,
			...this.figures(tree, node)
				.split(" · ")
				.map((line) => el("div", {}, line))
		);
		const box = this.tip.getBoundingClientRect();
		const left = Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 8));
		const top = y + 18 + box.height > window.innerHeight ? y - box.height - 10 : y + 18;
		this.tip.style.left = `${left}px`;
		this.tip.style.top = `${Math.max(top, 4)}px`;
	}

	// ---- search ----

	private pattern(): RegExp | null {
		const text = this.state.search;

		if (!text) return null;
		try {
			return new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
		} catch {
			return null;
		}
	}

	private changeSearch(): void {
		this.note({ search: this.search.value });
		this.findMatches();
		if (this.view === "top") this.drawTop();
		this.graph.setMatches(this.matches);
	}

	private findMatches(): void {
		const tree = this.shown;
		const pattern = this.pattern();

		this.matches = null;
		this.found = [];
		this.foundAt = -1;
		this.search.classList.toggle("bad", Boolean(this.state.search && !pattern));
		if (!tree || !pattern) {
			this.searchResult.textContent =
				this.state.search && !pattern ? "no regular expression" : "";
			return;
		}
		const matches = new Uint8Array(tree.frames.length);
		tree.frames.forEach(
			(frame, i) =>
				(matches[i] =
					frame.kind !== "root" && pattern.test(frame.name || frame.file) ? 1 : 0)
		);
		let covered = 0;
		const inside = new Uint8Array(tree.parent.length);
		for (let i = 1; i < tree.parent.length; i++) {
			const above = inside[tree.parent[i]];
			const match = matches[tree.frame[i]];

			// The outermost match of a stack has all of it.
			if (match && !above) covered += tree.total[i];
			if (match) this.found.push(i);
			inside[i] = above || match ? 1 : 0;
		}
		this.matches = matches;
		this.searchResult.textContent = `${this.found.length} frames, ${this.text(
			covered
		)}, ${shareText(covered, tree.total[0])}`;
	}

	private nextMatch(step: number): void {
		const tree = this.shown;

		if (!tree || !this.found.length) return;
		// Sorted once somebody goes through them, not at each letter of a search.
		if (this.foundAt < 0) this.found.sort((a, b) => tree.total[b] - tree.total[a]);
		this.foundAt = (this.foundAt + step + this.found.length) % this.found.length;
		const node = this.found[this.foundAt];
		// Out, until the match is inside and wide enough to be seen.
		let root = this.zoom;
		while (root && !this.isBelow(tree, node, root)) root = tree.parent[root];
		if (tree.total[node] < tree.total[root] / 40) root = tree.parent[node];
		if (root !== this.zoom) this.zoomTo(root);
		this.select(node);
		this.graph.reveal(node);
		this.searchResult.textContent = `${this.foundAt + 1} of ${this.found.length}`;
	}

	private isBelow(tree: Tree, node: number, root: number): boolean {
		for (let at = node; ; at = tree.parent[at]) {
			if (at === root) return true;
			if (!at) return false;
		}
	}

	// ---- tables ----

	private drawTop(): void {
		const tree = this.shown as Tree;
		const whole = tree.total[0];
		const pattern = this.pattern();
		const source = this.state.inverted ? withoutFrames(this.whole as Tree, () => false) : tree;
		const functions = functionsOf(source).filter(
			(hot) => !pattern || pattern.test(hot.frame.name || hot.frame.file)
		);
		const change = (hot: HotFunction) =>
			hot.self / (whole || 1) - hot.baseSelf / (tree.baseTotal?.[0] || 1);
		const value = (hot: HotFunction) =>
			this.sort.by === "self" ? hot.self : this.sort.by === "total" ? hot.total : change(hot);
		const shown = 500;

		functions.sort((a, b) => {
			const order =
				this.sort.by === "name"
					? a.frame.name < b.frame.name
						? -1
						: 1
					: value(b) - value(a) || b.total - a.total;

			return this.sort.up ? -order : order;
		});
		const head = (by: typeof this.sort.by, label: string, number: boolean, more = "") =>
			el(
				"th",
				{
					class: `${number ? "number" : ""} ${more}`,
					"aria-sort":
						this.sort.by === by ? (this.sort.up ? "ascending" : "descending") : "none",
				},
				el(
					"button",
					{
						onclick: () => (
							(this.sort = { by, up: this.sort.by === by && !this.sort.up }),
							this.drawTop()
						),
					},
					label
				)
			);
		const rows = functions
			.slice(0, shown)
			.map((hot) =>
				el(
					"tr",
					{},
					el("td", { class: "number" }, this.text(hot.self)),
					el("td", { class: "number" }, shareText(hot.self, whole)),
					el("td", { class: "number roomy" }, this.text(hot.total)),
					el("td", { class: "number roomy" }, shareText(hot.total, whole)),
					tree.base &&
						el(
							"td",
							{ class: "number" },
							changeText(hot.self, whole, hot.baseSelf, tree.baseTotal?.[0] ?? 0)
						),
					el(
						"td",
						{},
						el(
							"button",
							{
								class: "link",
								onclick: () => this.showFunction(hot.frame),
								title: "callers and callees",
							},
							frameName(hot.frame)
						)
					),
					el(
						"td",
						{ class: "dim roomy", title: visible(hot.frame.file) },
						visible(baseName(hot.frame.file))
					)
				)
			);

		replace(
			this.body,
			el(
				"div",
				{ class: "table" },
				el(
					"table",
					{},
					el(
						"thead",
						{},
						el(
							"tr",
							{},
							head("self", "self", true),
							el("th", {}, ""),
							head("total", "total", true, "roomy"),
							el("th", { class: "roomy" }, ""),
							tree.base && head("change", "change of self", true),
							head("name", "function", false),
							el("th", { class: "roomy" }, "file")
						)
					),
					el("tbody", {}, ...rows)
				),
				functions.length > shown
					? el(
							"p",
							{ class: "dim" },
							`${functions.length - shown} more functions; search narrows them down`
					  )
					: null,
				functions.length ? null : el("p", { class: "empty" }, "no functions")
			)
		);
	}

	private drawGroups(): void {
		const tree = this.shown as Tree;
		const whole = tree.total[0];
		const rows: HTMLElement[] = [];

		for (let node = tree.firstChild[0]; node >= 0; node = tree.nextSibling[node]) {
			const frame = tree.frames[tree.frame[node]];

			if (frame.kind !== "group") continue;
			const meter = el("meter", {
				min: 0,
				max: Math.max(whole, 1),
				value: Math.max(tree.total[node], 0),
			});

			rows.push(
				el(
					"tr",
					{},
					el("td", { class: "number" }, this.text(tree.total[node])),
					el("td", { class: "number" }, shareText(tree.total[node], whole)),
					tree.baseTotal &&
						el(
							"td",
							{ class: "number" },
							changeText(
								tree.total[node],
								whole,
								tree.baseTotal[node],
								tree.baseTotal[0]
							)
						),
					el("td", {}, meter),
					el(
						"td",
						{},
						frame.name
							? el(
									"button",
									{
										class: "link",
										onclick: () => this.onlyGroup(frame.name),
										title: "only this",
									},
									frameName(frame)
							  )
							: frameName(frame)
					)
				)
			);
		}
		replace(
			this.body,
			el(
				"div",
				{ class: "table" },
				rows.length
					? el(
							"table",
							{},
							el(
								"thead",
								{},
								el(
									"tr",
									{},
									el("th", { class: "number" }, "total"),
									el("th", {}, ""),
									tree.baseTotal && el("th", {}, "change"),
									el("th", {}, ""),
									el("th", {}, this.groupLabel())
								)
							),
							el("tbody", {}, ...rows)
					  )
					: el(
							"p",
							{ class: "empty" },
							this.state.group ? "no samples" : "choose above what to group by"
					  )
			)
		);
	}

	private groupLabel(): string {
		return GROUPS.find(([key]) => key === this.state.group)?.[1] ?? visible(this.state.group);
	}

	// ---- the bar ----

	private toggle(label: string, on: boolean, title: string, change: () => void): HTMLElement {
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

	private choice(
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
			...all.map(([word, text]) =>
				el("option", { value: word, selected: word === value }, text)
			)
		);

		select.addEventListener("change", () => chosen(select.value));
		return select;
	}

	private rangeChoice(): HTMLElement {
		const { from, to } = this.state;
		const custom = to || (from && !RANGES.some(([word]) => word === from));
		const label =
			/^\d+$/.test(from) && /^\d+$/.test(to)
				? `${timeText(Number(from))}–${timeText(Number(to))}`
				: `${from || "…"} to ${to || "now"}`;
		const options: [string, string][] = custom ? [["custom", label], ...RANGES] : RANGES;

		return this.choice(
			"time",
			options,
			custom ? "custom" : from,
			(value) => value !== "custom" && this.change({ from: value, to: "", zoom: "" }, true)
		);
	}

	private groupChoice(): HTMLElement {
		const keys = this.status?.keys ?? [];
		const offered: [string, string][] = GROUPS.filter(([key]) => keys.includes(key));
		const others = keys.filter(
			(key) => !GROUPS.some(([word]) => word === key) && !NOT_TO_GROUP_BY.test(key)
		);

		return this.choice(
			"group by",
			[
				["", "not grouped"],
				...offered,
				...others.map((key): [string, string] => [key, visible(key)]),
			],
			this.state.group,
			(group) => this.change({ group, zoom: "" }, true)
		);
	}

	private whereInput(): HTMLElement {
		const input = el("input", {
			type: "text",
			class: "where",
			value: this.state.where,
			spellcheck: "false",
			placeholder: 'condition: resource.attributes["service.name"] == "shop"',
			"aria-label": "condition",
		});

		input.addEventListener("change", () => this.change({ where: input.value, zoom: "" }, true));
		return input;
	}

	private typeChoice(): HTMLElement | null {
		const kinds = this.status?.kinds ?? [];

		if (kinds.length < 2) return null;
		const now = this.state.type || `${this.type}:${this.unit}`;

		return this.choice(
			"what is counted",
			kinds.map((kind): [string, string] => [
				`${kind.type}:${kind.unit}`,
				`${visible(kind.type)}, ${visible(kind.unit)}`,
			]),
			now,
			(type) => this.change({ type, zoom: "" }, true)
		);
	}

	private compareButton(): HTMLElement {
		if (hasBase(this.state))
			return el(
				"button",
				{
					class: "on",
					title: "stop comparing",
					onclick: () => this.change({ baseFrom: "", baseTo: "", baseWhere: "" }, true),
				},
				this.baseLabel()
			);
		return el(
			"button",
			{
				title:
					"compare with the time just before; " +
					"Shift and drag in the strip above the graph chooses another one",
				onclick: () => this.compareWithBefore(),
			},
			"compare"
		);
	}

	private baseLabel(): string {
		const base = this.covered("base_");

		return `compared with ${
			base ? `${timeText(base[0])}–${timeText(base[1])}` : "nothing kept"
		} ×`;
	}

	private compareWithBefore(): void {
		const now = this.covered("");

		if (!now) return;
		const length = Math.max(now[1] - now[0], 1000);
		const middle = Math.floor((now[0] + now[1]) / 2);

		// Where nothing is kept of that time, the later half with the earlier one.
		if ((this.status?.from ?? 0) <= now[0] - length / 2)
			this.change({ baseFrom: String(now[0] - length), baseTo: String(now[0]) }, true);
		else
			this.change(
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

	private filesMenu(): HTMLElement {
		const query = serverQuery(this.state, false);
		const links: [string, string][] = [
			["pb.gz", "pprof"],
			["folded", "folded stacks"],
			["otlp", "OTLP"],
			["svg", "picture (SVG)"],
			["html", "this page in one file"],
		];
		const open = el("input", { type: "file", multiple: true, class: "hidden" });

		open.addEventListener("change", () => void this.openFiles([...(open.files ?? [])]));
		return el(
			"details",
			{ class: "menu" },
			el("summary", {}, "files"),
			el(
				"div",
				{},
				...(this.hasServer
					? links.map(([ending, label]) =>
							el(
								"a",
								{
									href: `api/profile.${ending}?${
										ending === "html" ? serverQuery(this.state, true) : query
									}`,
									download: `profcol.${ending}`,
								},
								label
							)
					  )
					: []),
				el("button", { onclick: () => open.click() }, "open a file, or two to compare"),
				open
			)
		);
	}

	private drawBar(): void {
		const { state } = this;
		const views: [View, string][] = [
			["flame", "flame"],
			["icicle", "icicle"],
			["top", "table"],
			...(this.hasServer && !this.opened.length
				? ([["groups", "groups"]] as [View, string][])
				: []),
		];
		const server = this.hasServer && !this.opened.length;
		const had = document.activeElement === this.search;

		replace(
			this.bar,
			el("a", { class: "logo", href: this.hasServer ? "./" : "#" }, "profcol"),
			this.opened.length
				? el(
						"span",
						{ class: "file" },
						this.opened.map((one) => visible(one.name)).join(" compared with ")
				  )
				: null,
			this.opened.length && this.hasServer
				? el("button", { onclick: () => this.closeFiles() }, "back to what is live")
				: null,
			el(
				"span",
				{ class: "segmented", role: "group", "aria-label": "view" },
				...views.map(([view, label]) =>
					this.toggle(label, state.view === view, `${label} view`, () =>
						this.change({ view, zoom: "" })
					)
				),
				state.view === "callers"
					? this.toggle(
							"function",
							true,
							"callers and callees of a function",
							() => undefined
					  )
					: null
			),
			server ? this.rangeChoice() : null,
			server
				? this.toggle(
						state.live ? "live" : "frozen",
						this.isLive(),
						"follow what comes in ( space )",
						() => this.change({ live: !state.live }, true)
				  )
				: null,
			server ? this.typeChoice() : null,
			server ? this.groupChoice() : null,
			server ? this.compareButton() : null,
			server ? this.whereInput() : null,
			el(
				"span",
				{ class: "segmented", role: "group", "aria-label": "frames" },
				this.toggle(
					"inverted",
					state.inverted,
					"from the functions that used the time to their callers ( i )",
					() => this.change({ inverted: !state.inverted, zoom: "" })
				),
				this.toggle("kernel", state.kernel, "show frames of the kernel ( k )", () =>
					this.change({ kernel: !state.kernel, zoom: "" })
				),
				this.toggle("inlined", state.inlined, "show inlined calls ( l )", () =>
					this.change({ inlined: !state.inlined, zoom: "" })
				)
			),
			this.choice(
				"colour by",
				[
					["", this.whole?.base ? "colour: difference" : "colour: kind of frame"],
					["kind", "colour: kind of frame"],
					["file", "colour: file"],
					...(this.whole?.base
						? ([["diff", "colour: difference"]] as [string, string][])
						: []),
				],
				state.colour,
				(value) => this.change({ colour: value as State["colour"] })
			),
			this.search,
			this.searchResult,
			this.filesMenu(),
			el(
				"button",
				{ onclick: () => this.toggleHelp(), title: "keys ( ? )", "aria-label": "help" },
				"?"
			)
		);
		if (had) this.search.focus();
	}

	private chooseTime(from: number, to: number, base: boolean): void {
		const [low, high] = [String(Math.floor(from)), String(Math.ceil(to))];

		this.change(
			base ? { baseFrom: low, baseTo: high } : { from: low, to: high, zoom: "" },
			true
		);
	}

	// ---- the account ----

	private drawAccount(): void {
		const parts: (HTMLElement | string)[] = [];
		const covered = this.covered("");
		const tree = this.whole;

		if (this.failure)
			parts.push(el("span", { class: "failure", role: "alert" }, visible(this.failure)));
		if (tree) {
			const missing = this.missing(tree);

			parts.push(
				el(
					"span",
					{},
					`${this.text(tree.total[0])}${
						covered
							? ` in ${spanText(covered[1] - covered[0])} from ${timeText(
									covered[0]
							  )} to ${timeText(covered[1])}, rounded to what is kept`
							: ""
					}`
				)
			);
			missing.push(...this.losses());
			if (missing.length)
				parts.push(
					el(
						"details",
						{ class: "menu up" },
						el("summary", {}, "what is missing"),
						el("div", {}, ...missing.map((line) => el("p", {}, line)))
					)
				);
		}
		if (this.json?.condition_failures)
			parts.push(
				el(
					"span",
					{ class: "failure" },
					`${
						this.json.condition_failures
					} samples left out, for which the condition has no answer: ${visible(
						this.json.condition_message ?? ""
					)}`
				)
			);
		if (this.status && !this.opened.length) {
			const { samples, memory, memory_max } = this.status;
			const losses = this.status.account
				.filter((row) => row.outcome === "lost")
				.reduce((sum, row) => sum + row.samples, 0);
			const lost = losses
				? `; lost since the start: ${valueText(losses, "samples", "count")}`
				: samples.refused
				? `, ${valueText(samples.refused, "samples", "count")} not taken in`
				: "";

			parts.push(
				el(
					"span",
					{ class: "dim" },
					`kept: ${valueText(samples.kept, "samples", "count")} in ${valueText(
						memory,
						"",
						"bytes"
					)} of ${valueText(memory_max, "", "bytes")}; gone: ${valueText(
						samples.expired + samples.evicted,
						"samples",
						"count"
					)}, of these ${valueText(
						samples.evicted,
						"samples",
						"count"
					)} for want of memory${lost}`
				)
			);
			parts.push(el("span", { class: "dim" }, `profcol ${visible(this.status.version)}`));
		}
		replace(this.account, ...parts);
	}

	// Samples that never came here, since the start of the program.
	private losses(): string[] {
		if (this.opened.length) return [];
		const rows = this.status?.account ?? [];
		const taken = rows
			.filter((row) => row.outcome === "taken")
			.reduce((sum, row) => sum + row.samples, 0);
		const gone = rows.filter((row) => row.outcome === "lost" || row.outcome === "filtered");

		return [
			...(taken
				? [
						`since the start: ${valueText(
							taken,
							"samples",
							"count"
						)} taken, idle CPUs included`,
				  ]
				: []),
			...gone.map(
				(row) =>
					`${row.outcome === "lost" ? "lost" : "left out"} at ${row.kind} ${visible(
						row.id
					)}, ${visible(row.cause)}: ${valueText(row.samples, "samples", "count")}`
			),
		];
	}

	// What the figures do not say: stacks that were cut, frames without a name, frames left out.
	private missing(tree: Tree): string[] {
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
			for (const [name, value] of [...map].sort((a, b) => b[1] - a[1]).slice(0, 20))
				lines.push(
					`${what} ${visible(name) || none}: ${this.text(value)}, ${shareText(
						value,
						tree.total[0]
					)}`
				);
		};
		list(cut, "stacks that were cut:", "");
		list(unnamed, "time in functions without a name, in", "an unknown file");
		if (this.json?.left_out)
			lines.push(`${this.json.left_out} small frames are added up as "(smaller frames)"`);
		return lines;
	}

	// ---- keys ----

	private makeHelp(): HTMLDialogElement {
		const keys: [string, string][] = [
			["/", "search"],
			["n  N", "next, previous match"],
			["click", "zoom into a frame"],
			["right click", "select a frame"],
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
		const dialog: HTMLDialogElement = el(
			"dialog",
			{ class: "help" },
			el("h2", {}, "Keys"),
			el(
				"table",
				{},
				...keys.map(([key, text]) =>
					el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text))
				)
			),
			el("button", { onclick: () => dialog.close() }, "close")
		);

		return dialog;
	}

	private toggleHelp(): void {
		if (this.help.open) this.help.close();
		else this.help.showModal();
	}

	private move(key: string): void {
		const tree = this.shown;
		const at = this.selected >= 0 ? this.selected : this.zoom;

		if (!tree) return;
		let next = -1;
		const inward = (this.view === "flame" && !this.state.inverted) === (key === "ArrowUp");
		if (key === "ArrowUp" || key === "ArrowDown")
			next = inward ? tree.firstChild[at] : tree.parent[at];
		else if (key === "ArrowRight") next = tree.nextSibling[at];
		else
			for (
				let child = tree.firstChild[tree.parent[at]];
				child >= 0 && child !== at;
				child = tree.nextSibling[child]
			)
				next = child;
		if (next >= 0) {
			this.select(next);
			this.graph.reveal(next);
		}
	}

	private onKey(event: KeyboardEvent): void {
		const target = event.target as HTMLElement;

		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || this.help.open) return;
		const { state } = this;
		const views: View[] = ["flame", "icicle", "top", "groups"];
		const selected =
			this.shown && this.selected > 0
				? this.shown.frames[this.shown.frame[this.selected]]
				: null;

		switch (event.key) {
			case "/":
				this.search.focus();
				this.search.select();
				break;
			case "n":
				this.nextMatch(1);
				break;
			case "N":
				this.nextMatch(-1);
				break;
			case "Escape":
				this.select(-1);
				if (this.zoom) this.zoomTo(0);
				break;
			case "Backspace":
				if (this.shown && this.zoom) this.zoomTo(this.shown.parent[this.zoom]);
				break;
			case "Enter":
				if (target.tagName === "BUTTON" || this.selected < 0) return;
				this.zoomTo(this.selected);
				break;
			case "ArrowUp":
			case "ArrowDown":
			case "ArrowLeft":
			case "ArrowRight":
				if (this.view === "top" || this.view === "groups") return;
				this.move(event.key);
				break;
			case "1":
			case "2":
			case "3":
			case "4":
				this.change({ view: views[Number(event.key) - 1], zoom: "" });
				break;
			case "i":
				this.change({ inverted: !state.inverted, zoom: "" });
				break;
			case "k":
				this.change({ kernel: !state.kernel, zoom: "" });
				break;
			case "l":
				this.change({ inlined: !state.inlined, zoom: "" });
				break;
			case "c":
				if (selected && isOfProgram(selected)) this.showFunction(selected);
				break;
			case " ":
				if (target.tagName === "BUTTON" || target.tagName === "SUMMARY") return;
				this.change({ live: !state.live }, true);
				break;
			case "?":
				this.toggleHelp();
				break;
			default:
				return;
		}
		event.preventDefault();
	}
}

new Page();
