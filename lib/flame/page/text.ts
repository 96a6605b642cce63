// SPDX-License-Identifier: Apache-2.0
// Numbers and names as they are shown. Names are anybody's: nothing in them may turn a line around.

import type { Frame } from "./tree";

// Marks that change the direction of text, and what has no glyph.
const INVISIBLE =
	/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function visible(text: string): string {
	return text.replace(INVISIBLE, "\ufffd");
}

export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

export function frameName(frame: Frame): string {
	if (frame.name) return visible(frame.name);
	if (frame.kind === "group") return "(none)";
	return frame.file ? `[${visible(baseName(frame.file))}]` : "[unknown]";
}

// What compilers append to the name of a function.
const SUFFIX = /^(\d|cold\b|part\b|isra\b|constprop\b|llvm\b|lto_priv\b)/;
const PART_MAX = 1000; // characters; longer ways are not looked through

// Where parts of a name begin: after ::, . and /, but for those in brackets.
function partStarts(name: string): number[] {
	const starts: number[] = [];
	let depth = 0;

	for (let i = 0; i < Math.min(name.length, PART_MAX); i++) {
		const letter = name[i];

		if ("(<[{".includes(letter)) depth++;
		else if (")>]}".includes(letter)) depth = Math.max(depth - 1, 0);
		else if (depth || i + 1 >= name.length) continue;
		else if (letter === "." || letter === "/") starts.push(i + 1);
		else if (letter === ":" && name[i + 1] === ":") starts.push(++i + 1);
	}
	// What is as short as the ".js" of a file says nothing.
	return starts.filter(
		(at) => at + 2 < name.length && !SUFFIX.test(name.slice(at, at + 12)) && name[at] !== "."
	);
}

// As much of the end of a qualified name as has @room, in characters: of "cmd/go/run.Run" "run.Run".
export function fitted(name: string, room: number): string {
	if (name.length <= room) return name;
	const starts = partStarts(name);
	const at = starts.find((start) => name.length - start <= room) ?? starts[starts.length - 1];
	const text = name.slice(at ?? 0);

	return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function scaled(value: number, steps: [number, string][]): string {
	for (const [size, name] of steps)
		if (Math.abs(value) >= size) {
			const shown = value / size;

			return `${shown.toFixed(
				Math.abs(shown) < 10 ? 2 : Math.abs(shown) < 100 ? 1 : 0
			)} ${name}`;
		}
	return `${integer.format(value)} ${steps[steps.length - 1][1]}`;
}

// With its unit, always.
export function valueText(value: number, type: string, unit: string): string {
	switch (unit) {
		case "nanoseconds":
			return scaled(value, [
				[3.6e12, "h"],
				[6e10, "min"],
				[1e9, "s"],
				[1e6, "ms"],
				[1e3, "µs"],
				[1, "ns"],
			]);
		case "bytes":
			return scaled(value, [
				[2 ** 30, "GiB"],
				[2 ** 20, "MiB"],
				[2 ** 10, "KiB"],
				[1, "B"],
			]);
		case "count":
			return `${integer.format(value)} ${visible(type) || "events"}`;
		default:
			return `${integer.format(value)} ${visible(unit) || "(no unit)"}`;
	}
}

export function shareText(part: number, whole: number): string {
	if (!whole) return "–";
	const percent = (100 * part) / whole;

	return `${percent.toFixed(Math.abs(percent) < 10 ? 2 : 1)}\u00a0%`;
}

// The change from @base to @now, both as shares of their sides.
export function changeText(now: number, nowWhole: number, base: number, baseWhole: number): string {
	const points = 100 * (now / (nowWhole || 1) - base / (baseWhole || 1));

	return `${points > 0 ? "+" : points < 0 ? "−" : ""}${Math.abs(points).toFixed(2)} points`;
}

// With the day, unless it is today.
export function timeText(ms: number): string {
	const date = new Date(ms);
	const time = date.toLocaleTimeString([], {
		hour: "2-digit",
		minute: "2-digit",
		second: "2-digit",
		hourCycle: "h23",
	});

	if (date.toDateString() === new Date().toDateString()) return time;
	return `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

// From one time to another; the day is said once.
export function rangeText(from: number, to: number): string {
	const end = timeText(to);
	const isOneDay = new Date(from).toDateString() === new Date(to).toDateString();

	return `${timeText(from)}–${isOneDay ? end.slice(end.lastIndexOf(" ") + 1) : end}`;
}

export function spanText(ms: number): string {
	const seconds = Math.round(ms / 1000);

	if (seconds < 120) return `${seconds} s`;
	if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
	return `${(seconds / 3600).toFixed(1)} h`;
}

// A small hash, for colours.
export function hash(text: string): number {
	let sum = 2166136261;

	for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619);
	return (sum >>> 0) / 4294967296;
}
