// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, what is shown, and how to get from one to the other.

import { drawAccount } from "./account";
import { drawBar } from "./bar";
import { drawCrumbs, drawDetails, Tip } from "./details";
import { el, replace } from "./dom";
import { isJson, openFile } from "./files";
import { Colour, Graph } from "./graph";
import { makeHelp } from "./help";
import { onKey } from "./keys";
import { Search } from "./search";
import { ask, Status } from "./server";
import type { Shell } from "./shell";
import { kindCalled, Opened, treeOfStacks } from "./stacks";
import { readState, State, View, writeState } from "./state";
import { Load, Strip } from "./strip";
import { drawGroups, FunctionTable } from "./tables";
import { frameName, shareText, valueText, visible } from "./text";
import {
	aroundFunction,
	FlameJson,
	follow,
	Frame,
	inverted,
	isOfProgram,
	pathTo,
	Tree,
	treeOfJson,
	withoutFrames,
} from "./tree";

const REFRESH_MS = 5000;

class Page implements Shell {
	state = readState();
	status: Status | null = null;
	opened: Opened[] = [];
	whole: Tree | null = null;
	shown: Tree | null = null;
	selected = -1;
	zoom = 0;
	readonly hasServer: boolean;
	private json: FlameJson | null = null;
	private load: Load | null = null;
	private callersTree: Tree | null = null;
	private openedTree: Tree | null = null;
	private openedKey = ""; // what it was made of
	private failure = "";
	private asked = 0; // counts requests: the answer to an older one is late
	private timer = 0;

	private readonly graph: Graph;
	private readonly callers: Graph;
	private readonly strip: Strip;
	private readonly functions = new FunctionTable();
	private readonly search: Search;
	private readonly bar = el("header");
	private readonly crumbs = el("nav", { class: "crumbs", "aria-label": "zoomed into" });
	private readonly body = el("main");
	private readonly details = el("section", { class: "details", "aria-live": "polite" });
	private readonly account = el("footer");
	private readonly tip = new Tip();
	private readonly help = makeHelp();

	constructor() {
		const data = document.getElementById("data");

		this.hasServer = !data;
		this.graph = new Graph(
			{ upwards: true, colour: "kind" },
			{
				zoom: (node) => this.zoomTo(node),
				select: (node) => this.select(node),
				hover: (node, x, y) => this.showTip(this.shown, node, x, y),
				menu: (node) => this.select(node),
			}
		);
		this.callers = new Graph(
			{ upwards: true, colour: "kind" },
			{
				zoom: (node) => this.showFunctionOf(node),
				select: () => undefined,
				hover: (node, x, y) => this.showTip(this.callersTree, node, x, y),
				menu: () => undefined,
			}
		);
		this.strip = new Strip((from, to, base) => this.chooseTime(from, to, base));
		this.search = new Search({
			changed: (text) => this.changeSearch(text),
			next: (step) => this.nextMatch(step),
		});
		document.body.append(
			this.bar,
			this.strip.element,
			this.crumbs,
			this.body,
			this.details,
			this.account,
			this.tip.element,
			this.help
		);
		this.strip.element.hidden = !this.hasServer;
		this.listen();
		this.search.input.value = this.state.search;
		if (data) this.takeJson(JSON.parse(data.textContent ?? "null") as FlameJson);
		else void this.refresh();
		this.drawBar();
	}

	private listen(): void {
		const keys = {
			nextMatch: (step: 1 | -1) => this.nextMatch(step),
			reveal: (node: number) => this.graph.reveal(node),
		};

		window.addEventListener("popstate", () => this.onPopState());
		window.addEventListener("keydown", (event) => {
			if (!this.help.open) onKey(event, this, keys, this.search);
		});
		document.addEventListener("dragover", (event) => event.preventDefault());
		document.addEventListener("drop", (event) => this.onDrop(event));
		window
			.matchMedia("(prefers-color-scheme: dark)")
			.addEventListener("change", () => {
				this.graph.draw();
				this.callers.draw();
				this.drawAccount();
			});
		// Menus close by a click elsewhere.
		document.addEventListener("click", (event) => {
			for (const menu of document.querySelectorAll<HTMLDetailsElement>("details[open]"))
				if (!menu.contains(event.target as Node)) menu.open = false;
		});
	}

	// ---- the state ----

	change(change: Partial<State>, asks = false): void {
		this.tip.hide();
		this.state = { ...this.state, ...change };
		history.pushState(null, "", location.pathname + writeState(this.state) + location.hash);
		this.drawBar();
		if (asks && this.isServed) void this.refresh();
		else this.drawBody();
	}

	// Without a step for the back button.
	private note(change: Partial<State>): void {
		this.state = { ...this.state, ...change };
		history.replaceState(null, "", location.pathname + writeState(this.state) + location.hash);
	}

	private onPopState(): void {
		this.state = readState();
		this.search.input.value = this.state.search;
		this.drawBar();
		if (this.isServed) void this.refresh();
		else this.drawBody();
	}

	private get view(): View {
		return this.state.view;
	}

	get isServed(): boolean {
		return this.hasServer && !this.opened.length;
	}

	// Of a file.
	private get counted() {
		return this.opened.length ? kindCalled(this.opened[0], this.state.type) : null;
	}

	get type(): string {
		return this.counted?.type ?? this.json?.type ?? "";
	}

	get unit(): string {
		return this.counted?.unit ?? this.json?.unit ?? "";
	}

	text(value: number): string {
		return valueText(value, this.type, this.unit);
	}

	covered(side: "" | "base_"): [number, number] | null {
		const from = side ? this.json?.base_from : this.json?.from;
		const to = side ? this.json?.base_to : this.json?.to;

		return from && to ? [from, to] : null;
	}

	// ---- the server ----

	private async refresh(): Promise<void> {
		const number = ++this.asked;

		clearTimeout(this.timer);
		document.body.classList.add("busy");
		try {
			const { flame, status, load } = await ask(this.state);

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
		if (this.isLive) this.timer = window.setTimeout(() => void this.refresh(), REFRESH_MS);
	}

	// Is there something new to come?
	get isLive(): boolean {
		const { live, to, from } = this.state;

		return (
			this.isServed && live && (!to || to.startsWith("now")) && !/^\d+$/.test(from + to)
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

	async openFiles(files: File[]): Promise<void> {
		try {
			const opened = await Promise.all(files.slice(0, 2).map(openFile));
			const first = opened[0];

			clearTimeout(this.timer);
			this.asked++;
			if (isJson(first)) {
				const kind = { type: first.type, unit: first.unit, stacks: [] };

				this.opened = [{ name: files[0].name, kinds: [kind], frames: [] }];
				this.json = first;
				this.whole = treeOfJson(first);
			} else {
				const second = opened[1] && !isJson(opened[1]) ? opened[1] : null;

				this.json = null;
				this.opened = second ? [first, second] : [first];
			}
			this.failure = "";
			this.strip.element.hidden = true;
			const view = this.view === "groups" ? "flame" : this.view;

			this.change({ zoom: "", type: "", view });
		} catch (error) {
			this.failure = `${files[0].name} cannot be shown: ${
				error instanceof Error ? error.message : String(error)
			}`;
			this.drawAccount();
		}
	}

	closeFiles(): void {
		this.opened = [];
		this.strip.element.hidden = false;
		this.change({ zoom: "", type: "" }, true);
	}

	// ---- what is shown ----

	private colour(): Colour {
		return this.state.colour || (this.whole?.base ? "diff" : "kind");
	}

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

	// Of files that the page has read itself.
	private treeOfOpened(): Tree {
		const [now, base] = this.opened;
		const wanted = this.state.type;
		const key = `${this.asked} ${wanted}`;

		if (key !== this.openedKey) this.openedTree = treeOfStacks(now, base ?? null, wanted);
		this.openedKey = key;
		return this.openedTree as Tree;
	}

	private drawBody(): void {
		if (this.opened.length && !this.json) this.whole = this.treeOfOpened();
		if (!this.whole) return;
		const selected = this.selected > 0 && this.shown ? this.names(this.selected) : "";

		this.callersTree = null;
		this.shown = this.makeShown(this.whole);
		this.zoom = this.state.zoom ? follow(this.shown, this.state.zoom.split("\n")) : 0;
		this.selected = selected ? follow(this.shown, selected.split("\n")) : -1;
		// As far as the names lead, which may be to another frame.
		if (selected && this.names(this.selected) !== selected) this.selected = -1;
		this.findMatches();
		if (this.view === "top") this.functions.draw(this.body, this);
		else if (this.view === "groups") drawGroups(this.body, this);
		else this.drawGraphs();
		drawCrumbs(this.crumbs, this);
		drawDetails(this.details, this);
		this.drawAccount();
		this.strip.show(
			this.load ?? { type: "", unit: "", slices: [] },
			this.covered(""),
			this.covered("base_")
		);
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
				el("h2", {}, `callers of ${this.functionName()}: ${this.functionShare(tree)}`),
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
		this.graph.setMatches(this.search.matches);
		this.graph.setSelected(this.selected);
		if (!tree.total[0] && !tree.baseTotal?.[0]) this.drawEmpty();
	}

	// What the function has of all: the whole of both graphs.
	private functionShare(callees: Tree): string {
		const total = callees.total[0];
		const all = this.whole?.total[0] ?? 0;

		return `${this.text(total)}, ${shareText(total, all)} of all; below, these are 100\u00a0%`;
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

	private drawBar(): void {
		drawBar(this.bar, this, this.search);
	}

	private drawAccount(): void {
		// What is shown is not what was asked for.
		document.body.classList.toggle("stale", this.failure !== "");
		if (this.failure && !this.whole)
			replace(this.body, el("p", { class: "empty" }, visible(this.failure)));
		drawAccount(this.account, this, this.failure, this.json, this.colour());
	}

	private showTip(tree: Tree | null, node: number, x: number, y: number): void {
		this.tip.show(tree, node, x, y, (value) => this.text(value));
	}

	toggleHelp(): void {
		if (this.help.open) this.help.close();
		else this.help.showModal();
	}

	// ---- zoom, selection, search ----

	private names(node: number): string {
		const tree = this.shown as Tree;

		return pathTo(tree, node)
			.map((at) => tree.frames[tree.frame[at]].name)
			.join("\n");
	}

	zoomTo(node: number): void {
		this.zoom = node;
		this.state = { ...this.state, zoom: this.names(node) };
		history.pushState(null, "", location.pathname + writeState(this.state) + location.hash);
		this.graph.setRoot(node);
		this.select(node);
		drawCrumbs(this.crumbs, this);
	}

	select(node: number): void {
		this.selected = node;
		this.graph.setSelected(node);
		drawDetails(this.details, this);
	}

	showFunction(frame: Frame): void {
		this.change({
			view: "callers",
			fn: frame.name,
			fnFile: frame.file,
			zoom: "",
			inverted: false,
		});
	}

	private showFunctionOf(node: number): void {
		const tree = this.callersTree;
		const frame = tree?.frames[tree.frame[node]];

		if (frame && node && isOfProgram(frame)) this.showFunction(frame);
	}

	private chooseTime(from: number, to: number, base: boolean): void {
		const [low, high] = [String(Math.floor(from)), String(Math.ceil(to))];

		this.change(
			base ? { baseFrom: low, baseTo: high } : { from: low, to: high, zoom: "" },
			true
		);
	}

	private findMatches(): void {
		this.search.find(this.shown, this.state.search, (value) => this.text(value));
	}

	private changeSearch(text: string): void {
		this.note({ search: text });
		this.findMatches();
		if (this.view === "top") this.functions.draw(this.body, this);
		this.graph.setMatches(this.search.matches);
	}

	private nextMatch(step: 1 | -1): void {
		const match = this.shown && this.search.next(this.shown, step, this.zoom);

		if (!match) return;
		if (match.root !== this.zoom) this.zoomTo(match.root);
		this.select(match.node);
		this.graph.reveal(match.node);
	}
}

new Page();
