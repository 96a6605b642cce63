// SPDX-License-Identifier: Apache-2.0
// What colours of frames say.

import { isOfProgram, Tree } from "./tree";

// By profile.frame.type, as OpenTelemetry's conventions have them.
export const KINDS = new Map<string, { hue: number; label: string }>([
	["native", { hue: 30, label: "native" }],
	["", { hue: 30, label: "code" }],
	["kernel", { hue: 350, label: "kernel" }],
	["abort-marker", { hue: 280, label: "stack was cut" }],
	["go", { hue: 190, label: "Go" }],
	["cpython", { hue: 95, label: "Python" }],
	["jvm", { hue: 160, label: "Java" }],
	["v8js", { hue: 60, label: "JavaScript" }],
	["rust", { hue: 15, label: "Rust" }],
	["dotnet", { hue: 265, label: ".NET" }],
	["ruby", { hue: 330, label: "Ruby" }],
	["php", { hue: 235, label: "PHP" }],
	["phpjit", { hue: 235, label: "PHP" }],
	["perl", { hue: 210, label: "Perl" }],
	["beam", { hue: 300, label: "Erlang" }],
	["luajit", { hue: 220, label: "Lua" }],
]);
const OTHER_KIND = { hue: 320, label: "other languages" };

export function kindHue(kind: string): number {
	return (KINDS.get(kind) ?? OTHER_KIND).hue;
}

// Of yellow and green a darker one, so that white letters can be read.
export function lightness(hue: number, dark: boolean): number {
	if (!dark) return 68;
	return hue > 40 && hue < 200 ? 23 : 32;
}

const DIFFERENCE = { more: 5, less: 215 }; // hues

// Of @change from -1, all is gone, to 1, all is new; with @strength 0 it is grey.
export function differenceColour(change: number, dark: boolean, strength: number, pale: number): string {
	const hue = change > 0 ? DIFFERENCE.more : DIFFERENCE.less;
	const light = (dark ? 38 : 90 - 30 * Math.abs(change)) + pale;

	return `hsl(${hue} ${(75 * Math.abs(change) * strength).toFixed(0)}% ${light.toFixed(0)}%)`;
}

// [what, colour] for the ends and the middle.
export function differenceColours(dark: boolean): [string, string][] {
	return [
		["less", differenceColour(-1, dark, 1, 0)],
		["as before", differenceColour(0, dark, 1, 0)],
		["more", differenceColour(1, dark, 1, 0)],
	];
}

// [what, colour] for all kinds of frames that are there.
export function kindColours(tree: Tree, dark: boolean): [string, string][] {
	const colours = new Map<string, string>();
	const has = new Set(tree.frames.filter(isOfProgram).map((frame) => frame.kind));

	for (const kind of [...KINDS.keys(), ...has]) {
		const { hue, label } = KINDS.get(kind) ?? OTHER_KIND;

		if (has.has(kind)) colours.set(label, `hsl(${hue} 62% ${lightness(hue, dark)}%)`);
	}
	return [...colours];
}
