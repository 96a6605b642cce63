// SPDX-License-Identifier: Apache-2.0
// A call tree as boxes on a canvas. What is not in view, or narrower than half a pixel, costs
// nothing.

import { differenceColour, kindHue, lightness } from "./colours";
import { el } from "./dom";
import { baseName, fitted, frameName, hash } from "./text";
import { Frame, isOfProgram, Tree } from "./tree";

const ROW = 18;
const CHAR = 6.7; // about the width of a letter, pixels
const MIN_WIDTH = 0.7;

export type Colour = "kind" | "file" | "diff";

export interface GraphOptions {
	upwards: boolean; // the root at the bottom
	colour: Colour;
}

export interface GraphEvents {
	zoom(node: number): void;
	select(node: number): void;
	hover(node: number, x: number, y: number): void; // -1 = nothing
	menu(node: number, x: number, y: number): void;
}

interface Box {
	node: number;
	x: number;
	width: number;
	row: number;
}

export class Graph {
	readonly element = el("div", { class: "graph", tabindex: 0, role: "application" });
	private readonly canvas = el("canvas", { "aria-hidden": "true" });
	private readonly spacer = el("div", { class: "spacer" });
	private tree: Tree | null = null;
	private root = 0; // what is zoomed into
	private selected = -1;
	private hovered = -1;
	private matches: Uint8Array | null = null; // by frame
	private boxes: Box[] = [];
	private fills: [string[], string[]] = [[], []]; // by frame: as usual, and faded
	private filled = ""; // what these colours are of
	private readonly colourTexts = new Map<number, string>();
	private lastFill = ""; // the canvas' colour
	private scrolled = 0; // of what is painted, pixels, as the next two
	private viewHeight = 0;
	private fullHeight = 0;
	private dark = false;
	private pending = false;
	private atEnd = true; // of scrolling
	private lastHeight = 0; // of the element, pixels

	constructor(private options: GraphOptions, private readonly events: GraphEvents) {
		this.element.append(this.canvas, this.spacer);
		this.element.addEventListener("scroll", () => {
			// Else the browser has scrolled, because there is more or less room.
			if (this.element.clientHeight === this.lastHeight)
				this.atEnd =
					this.element.scrollTop + this.lastHeight > this.element.scrollHeight - 2;
			this.draw();
		});
		this.element.addEventListener("click", (event) => this.onClick(event));
		this.element.addEventListener("contextmenu", (event) => this.onMenu(event));
		this.element.addEventListener("mousemove", (event) => this.onMove(event));
		this.element.addEventListener("mouseleave", () => this.setHovered(-1, 0, 0));
		new ResizeObserver(() => {
			this.lastHeight = this.element.clientHeight;
			// The root stays in view when what is below takes some of the room.
			if (this.options.upwards && this.atEnd) this.element.scrollTop = 1e9;
			this.draw();
		}).observe(this.element);
	}

	show(tree: Tree, root: number, options: GraphOptions): void {
		const turned = options.upwards !== this.options.upwards;
		const changed = turned || tree !== this.tree;

		if (tree !== this.tree) {
			// Of the old tree; until the new one is painted the mouse meets nothing.
			this.boxes = [];
			this.filled = "";
		}
		this.tree = tree;
		this.root = root;
		this.options = options;
		this.selected = -1;
		this.hovered = -1;
		this.layOut();
		if (turned || (changed && options.upwards && this.atEnd))
			this.element.scrollTop = options.upwards ? 1e9 : 0;
		this.draw();
	}

	setRoot(node: number): void {
		this.root = node;
		this.layOut();
		this.draw();
	}

	setMatches(matches: Uint8Array | null): void {
		this.matches = matches;
		this.draw();
	}

	setSelected(node: number): void {
		this.selected = node;
		this.draw();
	}

	// So that @node is in view; it has to be in what is zoomed into.
	reveal(node: number): void {
		if (!this.tree) return;
		this.measure();
		const y = this.rowY(this.tree.depth[node]);
		const height = this.viewHeight;

		if (y < this.element.scrollTop || y + ROW > this.element.scrollTop + height)
			this.element.scrollTop = y - height / 2;
		this.draw();
	}

	private layOut(): void {
		this.spacer.style.height = `${(this.tree?.height ?? 1) * ROW}px`;
	}

	// Asking the browser costs a layout: once for all boxes.
	private measure(): void {
		this.viewHeight = this.element.clientHeight;
		this.fullHeight = Math.max((this.tree?.height ?? 1) * ROW, this.viewHeight);
		this.scrolled = this.element.scrollTop;
	}

	// Within all that can be scrolled to.
	private rowY(row: number): number {
		return this.options.upwards ? this.fullHeight - (row + 1) * ROW : row * ROW;
	}

	private isInView(row: number): boolean {
		const y = this.rowY(row) - this.scrolled;

		return y + ROW >= 0 && y <= this.viewHeight;
	}

	// Is @row, and are all rows of what it calls, beyond the edge?
	private isBeyond(row: number): boolean {
		const y = this.rowY(row) - this.scrolled;

		return this.options.upwards ? y + ROW < 0 : y > this.viewHeight;
	}

	draw(): void {
		if (this.pending) return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.paint();
		});
	}

	private paint(): void {
		const tree = this.tree;
		const ratio = window.devicePixelRatio || 1;
		const width = this.element.clientWidth;
		const height = this.element.clientHeight;
		const context = this.canvas.getContext("2d");

		if (!tree || !context || !width || !height) return;
		if (
			this.canvas.width !== Math.round(width * ratio) ||
			this.canvas.height !== Math.round(height * ratio)
		) {
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(height * ratio);
		}
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
		context.textBaseline = "middle";
		this.dark = getComputedStyle(this.element).colorScheme.includes("dark");
		this.measure();
		this.keepColours();
		this.boxes = this.place(tree, width);
		this.lastFill = "";
		// All of one thing before the next: to change the colour costs more than to fill a box.
		for (const box of this.boxes) this.fillBox(context, tree, box);
		for (const box of this.boxes) this.paintFrame(context, tree, box);
	}

	private keepColours(): void {
		const of = `${this.options.colour} ${this.dark}`;

		if (of === this.filled) return;
		this.filled = of;
		this.fills = [[], []];
	}

	// All boxes that are in view at this zoom.
	private place(tree: Tree, width: number): Box[] {
		const boxes: Box[] = [];
		const whole = tree.weight[this.root];
		const scale = whole > 0 ? width / whole : 0;

		for (let at = this.root; ; at = tree.parent[at]) {
			if (this.isInView(tree.depth[at]))
				boxes.push({ node: at, x: 0, width, row: tree.depth[at] });
			if (!at) break;
		}
		const open: { node: number; x: number }[] = [{ node: this.root, x: 0 }];
		while (open.length) {
			const { node, x } = open.pop() as { node: number; x: number };
			const row = tree.depth[node] + 1;
			let left = x;

			if (this.isBeyond(row)) continue;
			const inView = this.isInView(row);
			for (let child = tree.firstChild[node]; child >= 0; child = tree.nextSibling[child]) {
				const wide = tree.weight[child] * scale;

				// The next ones are no wider: what is left of them is one box without a name.
				if (wide < MIN_WIDTH) {
					const rest = this.restFrom(tree, child) * scale;

					if (rest > 1 && inView) boxes.push({ node: -1, x: left, width: rest, row });
					break;
				}
				if (inView) boxes.push({ node: child, x: left, width: wide, row });
				open.push({ node: child, x: left });
				left += wide;
			}
		}
		return boxes;
	}

	private restFrom(tree: Tree, first: number): number {
		let sum = 0;

		for (let node = first; node >= 0; node = tree.nextSibling[node]) sum += tree.weight[node];
		return sum;
	}

	private isMatch(tree: Tree, node: number): boolean {
		return this.matches?.[tree.frame[node]] === 1;
	}

	private isFaded(tree: Tree, box: Box): boolean {
		const isOther = this.matches !== null && !this.isMatch(tree, box.node);

		return isOther || box.row < tree.depth[this.root];
	}

	private fillBox(context: CanvasRenderingContext2D, tree: Tree, box: Box): void {
		const y = this.rowY(box.row) - this.scrolled;
		const gap = box.width > 1 ? 0.5 : 0;
		let fill = this.dark ? "#c05bd8" : "#e58cf5";

		if (box.node < 0) fill = this.dark ? "#2a3036" : "#e9edf0";
		else if (!this.isMatch(tree, box.node))
			fill = this.fillOf(tree, box.node, this.isFaded(tree, box));
		if (fill !== this.lastFill) context.fillStyle = this.lastFill = fill;
		context.fillRect(box.x, y, box.width - gap, ROW - 1);
	}

	// What is on a box: marks and the name.
	private paintFrame(context: CanvasRenderingContext2D, tree: Tree, box: Box): void {
		const isMarked = box.node === this.selected || box.node === this.hovered;

		if (box.node < 0 || (box.width <= 3 && !isMarked)) return;
		const y = this.rowY(box.row) - this.scrolled;
		const frame = tree.frames[tree.frame[box.node]];
		if (frame.inlined && box.width > 3) {
			context.strokeStyle = this.dark ? "rgba(255,255,255,.35)" : "rgba(0,0,0,.3)";
			context.setLineDash([2, 2]);
			context.strokeRect(box.x + 0.5, y + 0.5, box.width - 1.5, ROW - 2);
			context.setLineDash([]);
		}
		if (isMarked) {
			context.strokeStyle = this.dark ? "#fff" : "#000";
			context.lineWidth = box.node === this.selected ? 2 : 1;
			context.strokeRect(box.x + 0.5, y + 0.5, Math.max(box.width - 1.5, 1), ROW - 2);
			context.lineWidth = 1;
		}
		this.paintName(context, frame, box, y, this.isFaded(tree, box));
	}

	private paintName(
		context: CanvasRenderingContext2D,
		frame: Frame,
		box: Box,
		y: number,
		faded: boolean
	): void {
		const name = frameName(frame);
		const isQualified = frame.name !== "" && isOfProgram(frame);
		const room = Math.floor((box.width - 6) / CHAR);

		if (room < 2) return;
		context.fillStyle = this.dark
			? faded
				? "#aab3bb"
				: "#f3f5f7"
			: faded
			? "#56616b"
			: "#15191c";
		context.fillText(
			name.length > room && !isQualified
				? `${name.slice(0, room - 1)}…`
				: fitted(name, room),
			box.x + 3,
			y + ROW / 2,
			box.width - 5
		);
	}

	private fillOf(tree: Tree, node: number, faded: boolean): string {
		const frame = tree.frame[node];
		const known = this.fills[faded ? 1 : 0];

		// The root has a colour of its own, a difference one for each node.
		if (!node || this.options.colour === "diff")
			return this.colourOf(tree, node, tree.frames[frame], faded);
		return (known[frame] ??= this.colourOf(tree, node, tree.frames[frame], faded));
	}

	private colourOf(tree: Tree, node: number, frame: Frame, faded: boolean): string {
		const strength = faded ? 0.35 : 1;
		const shade = hash(frame.name || frame.file);
		const pale = faded ? (this.dark ? -10 : 15) : 0; // added to the lightness

		if (this.options.colour === "diff" && tree.base && tree.baseTotal) {
			const now = tree.total[node] / (tree.total[0] || 1);
			const before = tree.baseTotal[node] / (tree.baseTotal[0] || 1);
			const change = Math.max(-1, Math.min(1, (now - before) / (Math.max(now, before) || 1)));

			return differenceColour(change, this.dark, strength, pale);
		}
		if (!node || frame.kind === "group" || frame.kind === "cut")
			return this.hsl(210, 8, (this.dark ? 34 : 80) + pale);
		if (this.options.colour === "file") {
			const packageName = baseName(frame.file) || frame.source || "?";

			return this.hsl(
				360 * hash(packageName),
				55 * strength,
				lightness(360 * hash(packageName), this.dark) + pale + 5 * shade
			);
		}
		const hue = kindHue(frame.kind);
		return this.hsl(hue, 62 * strength, lightness(hue, this.dark) + pale + 6 * shade);
	}

	// Of few colours there are many boxes.
	private hsl(hue: number, saturation: number, light: number): string {
		const [h, s, l] = [Math.round(hue), Math.round(saturation), Math.round(light)];
		const key = (h * 128 + s) * 128 + l;
		let text = this.colourTexts.get(key);

		if (text === undefined) this.colourTexts.set(key, (text = `hsl(${h} ${s}% ${l}%)`));
		return text;
	}

	private nodeAt(event: MouseEvent): number {
		const bounds = this.element.getBoundingClientRect();
		const x = event.clientX - bounds.left;
		const y = event.clientY - bounds.top + this.scrolled;

		for (const box of this.boxes) {
			const top = this.rowY(box.row);

			if (box.node >= 0 && y >= top && y < top + ROW && x >= box.x && x < box.x + box.width)
				return box.node;
		}
		return -1;
	}

	private setHovered(node: number, x: number, y: number): void {
		if (node !== this.hovered) {
			this.hovered = node;
			this.draw();
		}
		this.events.hover(node, x, y);
	}

	private onMove(event: MouseEvent): void {
		this.setHovered(this.nodeAt(event), event.clientX, event.clientY);
	}

	private onClick(event: MouseEvent): void {
		const node = this.nodeAt(event);

		if (node >= 0) this.events.zoom(node);
	}

	private onMenu(event: MouseEvent): void {
		const node = this.nodeAt(event);

		if (node < 0) return;
		event.preventDefault();
		this.events.menu(node, event.clientX, event.clientY);
	}
}
