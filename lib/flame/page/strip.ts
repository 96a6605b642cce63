// SPDX-License-Identifier: Apache-2.0
// Load over time. Dragging chooses a range, dragging with Shift the range to compare with.

import { el } from "./dom";
import { timeText, valueText } from "./text";

export interface Load {
	type: string;
	unit: string;
	slices: [number, number, number][]; // from, to (Unix ms), value
}

const HEIGHT = 56;

export class Strip {
	readonly element = el("div", {
		class: "strip",
		title: "drag: choose a time; with Shift: compare with it",
	});
	private readonly canvas = el("canvas", { role: "img" });
	private readonly label = el("div", { class: "strip-label" });
	private load: Load = { type: "", unit: "", slices: [] };
	private range: [number, number] | null = null;
	private base: [number, number] | null = null;
	private drag: { from: number; to: number; base: boolean } | null = null;

	constructor(private readonly chosen: (from: number, to: number, base: boolean) => void) {
		this.element.append(this.canvas, this.label);
		this.canvas.addEventListener("pointerdown", (event) => {
			this.drag = { from: this.timeAt(event), to: this.timeAt(event), base: event.shiftKey };
			this.canvas.setPointerCapture(event.pointerId);
		});
		this.canvas.addEventListener("pointermove", (event) => this.onMove(event));
		this.canvas.addEventListener("pointerup", () => this.onUp());
		this.canvas.addEventListener("pointerleave", () => (this.label.textContent = ""));
		new ResizeObserver(() => this.paint()).observe(this.element);
	}

	show(load: Load, range: [number, number] | null, base: [number, number] | null): void {
		this.load = load;
		this.range = range;
		this.base = base;
		this.canvas.setAttribute("aria-label", this.description());
		this.paint();
	}

	private description(): string {
		const slices = this.load.slices;

		if (!slices.length) return "no profiles yet";
		const sum = slices.reduce((all, slice) => all + slice[2], 0);

		return `load from ${timeText(slices[0][0])} to ${timeText(
			slices[slices.length - 1][1]
		)}: ${valueText(sum, this.load.type, this.load.unit)}`;
	}

	private bounds(): [number, number] {
		const slices = this.load.slices;

		if (!slices.length) return [0, 1];
		return [slices[0][0], Math.max(...slices.map((slice) => slice[1]))];
	}

	private timeAt(event: PointerEvent): number {
		const box = this.canvas.getBoundingClientRect();
		const [from, to] = this.bounds();
		const share = Math.max(0, Math.min(1, (event.clientX - box.left) / (box.width || 1)));

		return from + (to - from) * share;
	}

	private onMove(event: PointerEvent): void {
		const time = this.timeAt(event);
		const slice = this.load.slices.find(([from, to]) => time >= from && time < to);

		if (this.drag) {
			this.drag.to = time;
			this.paint();
		}
		this.label.textContent = slice
			? `${timeText(slice[0])}–${timeText(slice[1])}: ${valueText(
					slice[2],
					this.load.type,
					this.load.unit
			  )}`
			: "";
	}

	private onUp(): void {
		const drag = this.drag;
		const [from, to] = this.bounds();

		this.drag = null;
		if (!drag) return;
		const low = Math.min(drag.from, drag.to);
		const high = Math.max(drag.from, drag.to);

		// A click chooses the slice that it meets.
		if (high - low < (to - from) / 200) {
			const slice = this.load.slices.find((one) => low >= one[0] && low < one[1]);

			if (slice) this.chosen(slice[0], slice[1], drag.base);
		} else {
			this.chosen(Math.floor(low), Math.ceil(high), drag.base);
		}
		this.paint();
	}

	private paint(): void {
		// To ask for the size of what is not there costs a layout, too.
		if (this.element.hidden) return;
		const ratio = window.devicePixelRatio || 1;
		const width = this.element.clientWidth;
		const context = this.canvas.getContext("2d");
		const [from, to] = this.bounds();
		const x = (time: number) => ((time - from) / (to - from || 1)) * width;
		// A rate, so that a wide slice is no higher than a narrow one.
		const rate = ([begin, end, value]: [number, number, number]) =>
			Math.max(value, 0) / (end - begin || 1);
		const highest = Math.max(...this.load.slices.map(rate), 1e-9);
		const style = getComputedStyle(this.element);

		if (!context || !width) return;
		this.canvas.width = width * ratio;
		this.canvas.height = HEIGHT * ratio;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${HEIGHT}px`;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		for (const slice of this.load.slices) {
			const high = (rate(slice) / highest) * (HEIGHT - 6);

			context.fillStyle = style.getPropertyValue("--load");
			context.fillRect(
				x(slice[0]),
				HEIGHT - high,
				Math.max(x(slice[1]) - x(slice[0]) - 1, 1),
				high
			);
		}
		context.fillStyle = style.color;
		context.font = "11px system-ui, sans-serif";
		context.textBaseline = "top";
		if (this.load.slices.length) {
			const whole = valueText(highest * 1000, this.load.type, this.load.unit);

			context.globalCompositeOperation = "source-over";
			context.fillText(`${whole}/s`, 6, 8);
			context.textBaseline = "bottom";
			context.fillText(timeText(from), 6, HEIGHT - 3);
			context.textAlign = "right";
			context.fillText(timeText(to), width - 6, HEIGHT - 3);
		}
		this.shade(context, this.range, "rgba(70,130,220,.25)", x);
		this.shade(context, this.base, "rgba(220,120,60,.3)", x);
		if (this.drag)
			this.shade(
				context,
				[Math.min(this.drag.from, this.drag.to), Math.max(this.drag.from, this.drag.to)],
				"rgba(120,120,120,.35)",
				x
			);
	}

	private shade(
		context: CanvasRenderingContext2D,
		range: [number, number] | null,
		colour: string,
		x: (time: number) => number
	): void {
		if (!range) return;
		context.fillStyle = colour;
		context.fillRect(x(range[0]), 0, Math.max(x(range[1]) - x(range[0]), 2), HEIGHT);
	}
}
