// SPDX-License-Identifier: Apache-2.0
// Files that are dropped onto the page: pprof, OTLP, folded stacks, or our own JSON. They are
// anybody's: whatever does not fit ends in an error with a sentence.

import { Frame, FlameJson, kindOf, Tree, TreeBuilder, treeOfJson } from "./tree";

const MAX_BYTES = 512 << 20;
const MAX_DEPTH = 2048;

export interface Opened {
	name: string;
	type: string;
	unit: string;
	stacks: Stack[];
	frames: Frame[];
}

interface Stack {
	frames: number[]; // from the root on
	value: number;
}

// ---- Protocol Buffers ----

class Reader {
	private at = 0;

	constructor(private readonly bytes: Uint8Array) {}

	get done(): boolean {
		return this.at >= this.bytes.length;
	}

	varint(): number {
		let value = 0;
		let scale = 1;

		for (let i = 0; i < 10; i++) {
			if (this.at >= this.bytes.length) throw new Error("the file ends early");
			const byte = this.bytes[this.at++];

			value += (byte & 127) * scale;
			scale *= 128;
			// Negative numbers are those above 2^63.
			if (byte < 128)
				return value >= 9223372036854775808 ? value - 18446744073709551616 : value;
		}
		throw new Error("a number is too long");
	}

	chunk(length: number): Uint8Array {
		if (length < 0 || length > this.bytes.length - this.at)
			throw new Error("the file ends early");
		this.at += length;
		return this.bytes.subarray(this.at - length, this.at);
	}
}

type Field = number | Uint8Array;

// Calls @take for each field; numbers of wire types 1 and 5 are skipped but for 8-byte times.
function message(bytes: Uint8Array, take: (field: number, value: Field) => void): void {
	const reader = new Reader(bytes);

	while (!reader.done) {
		const tag = reader.varint();
		const field = Math.floor(tag / 8);

		switch (tag % 8) {
			case 0:
				take(field, reader.varint());
				break;
			case 1:
				take(field, reader.chunk(8));
				break;
			case 2:
				take(field, reader.chunk(reader.varint()));
				break;
			case 5:
				reader.chunk(4);
				break;
			default:
				throw new Error("this is neither pprof nor OTLP nor folded stacks");
		}
	}
}

// Packed or not.
function numbers(into: number[], value: Field): void {
	if (typeof value === "number") {
		into.push(value);
		return;
	}
	for (const reader = new Reader(value); !reader.done; ) into.push(reader.varint());
}

const decoder = new TextDecoder();

function asBytes(value: Field): Uint8Array {
	if (typeof value === "number") throw new Error("a field has another type than it should");
	return value;
}

function asNumber(value: Field): number {
	return typeof value === "number" ? value : 0;
}

// ---- pprof ----

function readPprof(bytes: Uint8Array, name: string): Opened {
	const strings: string[] = [];
	const types: [number, number][] = [];
	const samples: { locations: number[]; values: number[] }[] = [];
	const mappings = new Map<number, number>();
	const functions = new Map<number, { name: number; file: number; line: number }>();
	const locations = new Map<number, { mapping: number; lines: number[] }>();
	let chosen = 0;

	message(bytes, (field, value) => {
		switch (field) {
			case 1: {
				const type: [number, number] = [0, 0];

				message(asBytes(value), (at, one) => at <= 2 && (type[at - 1] = asNumber(one)));
				types.push(type);
				break;
			}
			case 2: {
				const sample = { locations: [] as number[], values: [] as number[] };

				message(asBytes(value), (at, one) => {
					if (at === 1) numbers(sample.locations, one);
					if (at === 2) numbers(sample.values, one);
				});
				samples.push(sample);
				break;
			}
			case 3: {
				let id = 0;
				let file = 0;

				message(asBytes(value), (at, one) => {
					if (at === 1) id = asNumber(one);
					if (at === 5) file = asNumber(one);
				});
				mappings.set(id, file);
				break;
			}
			case 4: {
				let id = 0;
				const location = { mapping: 0, lines: [] as number[] };

				message(asBytes(value), (at, one) => {
					if (at === 1) id = asNumber(one);
					if (at === 2) location.mapping = asNumber(one);
					if (at === 4)
						message(
							asBytes(one),
							(inner, fn) => inner === 1 && location.lines.push(asNumber(fn))
						);
				});
				locations.set(id, location);
				break;
			}
			case 5: {
				let id = 0;
				const fn = { name: 0, file: 0, line: 0 };

				message(asBytes(value), (at, one) => {
					if (at === 1) id = asNumber(one);
					if (at === 2) fn.name = asNumber(one);
					if (at === 4) fn.file = asNumber(one);
					if (at === 5) fn.line = asNumber(one);
				});
				functions.set(id, fn);
				break;
			}
			case 6:
				strings.push(decoder.decode(asBytes(value)));
				break;
			case 14:
				chosen = asNumber(value);
				break;
		}
	});
	if (!types.length || strings[0] !== "") throw new Error("this is no pprof file");
	const column = Math.max(
		types.findIndex((type) => type[0] === chosen && chosen),
		0
	);
	const table = new FrameTable();
	const runs = new Map<number, number[]>();
	for (const [id, location] of locations) {
		const file = strings[mappings.get(location.mapping) ?? 0] ?? "";
		const run = location.lines.map((line, i) => {
			const fn = functions.get(line);
			const source = strings[fn?.file ?? 0] ?? "";

			return table.id({
				name: strings[fn?.name ?? 0] ?? "",
				file,
				kind: kindOf(file, source),
				source,
				line: fn?.line ?? 0,
				inlined: i + 1 < location.lines.length,
			});
		});

		if (!run.length) {
			const kind = kindOf(file, "");

			run.push(table.id({ name: "", file, kind, source: "", line: 0, inlined: false }));
		}
		runs.set(id, run.reverse());
	}
	const stacks = samples.map((sample) => ({
		frames: sample.locations.reverse().flatMap((id) => runs.get(id) ?? []),
		value: sample.values[column] ?? 0,
	}));

	return {
		name,
		type: strings[types[column][0]] ?? "",
		unit: strings[types[column][1]] ?? "",
		stacks,
		frames: table.frames,
	};
}

class FrameTable {
	readonly frames: Frame[] = [
		{ name: "all", file: "", source: "", line: 0, kind: "root", inlined: false },
	];
	private readonly ids = new Map<string, number>();

	id(frame: Frame): number {
		const key = JSON.stringify(frame);
		let id = this.ids.get(key);

		if (id === undefined) {
			id = this.frames.push(frame) - 1;
			this.ids.set(key, id);
		}
		return id;
	}
}

// ---- OTLP: ExportProfilesServiceRequest, opentelemetry-proto 1.11 ----

function readOtlp(bytes: Uint8Array, name: string): Opened {
	const resources: Uint8Array[] = [];
	let dictionary: Uint8Array | null = null;

	message(bytes, (field, value) => {
		if (field === 1) resources.push(asBytes(value));
		if (field === 2) dictionary = asBytes(value);
	});
	if (!dictionary || !resources.length) throw new Error("this is no OTLP request with profiles");
	const tables = readDictionary(dictionary);
	const kinds = new Map<string, Stack[]>();
	for (const resource of resources)
		message(resource, (field, scope) => {
			if (field !== 2) return;
			message(asBytes(scope), (inner, profile) => {
				if (inner === 2) readProfile(asBytes(profile), tables, kinds);
			});
		});
	const [kind, stacks] = [...kinds].sort((a, b) => b[1].length - a[1].length)[0] ?? ["\0", []];
	const [type, unit] = kind.split("\0");

	return { name, type, unit, stacks, frames: tables.table.frames };
}

interface Tables {
	strings: string[];
	stacks: number[][]; // frames, from the root on
	table: FrameTable;
}

function readDictionary(bytes: Uint8Array): Tables {
	const strings: string[] = [];
	const mappings: number[] = [];
	const locations: { mapping: number; lines: number[]; attributes: number[] }[] = [];
	const functions: { name: number; file: number; line: number }[] = [];
	const attributes: { key: number; value: string; reference: number }[] = [];
	const stacks: number[][] = [];
	const table = new FrameTable();

	message(bytes, (field, value) => {
		const row = asBytes(value);

		switch (field) {
			case 1: {
				let file = 0;

				message(row, (at, one) => at === 4 && (file = asNumber(one)));
				mappings.push(file);
				break;
			}
			case 2: {
				const location = { mapping: 0, lines: [] as number[], attributes: [] as number[] };

				message(row, (at, one) => {
					if (at === 1) location.mapping = asNumber(one);
					if (at === 3) {
						let fn = 0;

						message(asBytes(one), (inner, id) => inner === 1 && (fn = asNumber(id)));
						location.lines.push(fn);
					}
					if (at === 4) numbers(location.attributes, one);
				});
				locations.push(location);
				break;
			}
			case 3: {
				const fn = { name: 0, file: 0, line: 0 };

				message(row, (at, one) => {
					if (at === 1) fn.name = asNumber(one);
					if (at === 3) fn.file = asNumber(one);
					if (at === 4) fn.line = asNumber(one);
				});
				functions.push(fn);
				break;
			}
			case 5:
				strings.push(decoder.decode(row));
				break;
			case 6: {
				const attribute = { key: 0, value: "", reference: 0 };

				message(row, (at, one) => {
					if (at === 1) attribute.key = asNumber(one);
					if (at === 2)
						message(asBytes(one), (inner, text) => {
							if (inner === 1) attribute.value = decoder.decode(asBytes(text));
							if (inner === 8) attribute.reference = asNumber(text);
						});
				});
				attributes.push(attribute);
				break;
			}
			case 7: {
				const stack: number[] = [];

				message(row, (at, one) => at === 1 && numbers(stack, one));
				stacks.push(stack);
				break;
			}
		}
	});
	const runs = locations.map((location) => {
		const file = strings[mappings[location.mapping] ?? 0] ?? "";
		const type = location.attributes
			.map((id) => attributes[id])
			.find((one) => one && strings[one.key] === "profile.frame.type");
		const kind = type ? type.value || (strings[type.reference] ?? "") : "";
		const run = location.lines.map((id, i) => {
			const fn = functions[id];

			return table.id({
				name: strings[fn?.name ?? 0] ?? "",
				file,
				kind,
				source: strings[fn?.file ?? 0] ?? "",
				line: fn?.line ?? 0,
				inlined: i + 1 < location.lines.length,
			});
		});

		if (!run.length)
			run.push(table.id({ name: "", file, kind, source: "", line: 0, inlined: false }));
		return run.reverse();
	});

	return {
		strings,
		table,
		stacks: stacks.map((stack) => stack.reverse().flatMap((id) => runs[id] ?? [])),
	};
}

function readProfile(bytes: Uint8Array, tables: Tables, kinds: Map<string, Stack[]>): void {
	const samples: { stack: number; value: number }[] = [];
	let type = 0;
	let unit = 0;

	message(bytes, (field, value) => {
		if (field === 1)
			message(asBytes(value), (at, one) => {
				if (at === 1) type = asNumber(one);
				if (at === 2) unit = asNumber(one);
			});
		if (field === 2) {
			const values: number[] = [];
			let stack = 0;
			let times = 0;

			message(asBytes(value), (at, one) => {
				if (at === 1) stack = asNumber(one);
				if (at === 4) numbers(values, one);
				if (at === 5) times += typeof one === "number" ? 1 : one.length / 8;
			});
			samples.push({
				stack,
				value: values.length ? values.reduce((a, b) => a + b, 0) : times,
			});
		}
	});
	const key = `${tables.strings[type] ?? ""}\0${tables.strings[unit] ?? ""}`;
	const stacks = kinds.get(key) ?? [];
	for (const sample of samples)
		stacks.push({ frames: tables.stacks[sample.stack] ?? [], value: sample.value });
	if (samples.length) kinds.set(key, stacks);
}

// ---- folded stacks ----

function readFolded(text: string, name: string): Opened {
	const table = new FrameTable();
	const stacks: Stack[] = [];

	for (const line of text.split("\n")) {
		const match = /^(.*\S)\s+(\d+)\s*$/.exec(line);

		if (!match) {
			if (line.trim())
				throw new Error("a line is no folded stack: it has no number at its end");
			continue;
		}
		const frames = match[1].split(";").map((word) => {
			const kernel = word.endsWith("_[k]");

			return table.id({
				name: kernel ? word.slice(0, -4) : word,
				file: "",
				source: "",
				line: 0,
				kind: kernel ? "kernel" : "",
				inlined: word.endsWith("_[i]"),
			});
		});
		stacks.push({ frames, value: Number(match[2]) });
	}
	if (!stacks.length) throw new Error("there are no stacks in it");
	return { name, type: "samples", unit: "count", stacks, frames: table.frames };
}

// ---- all of them ----

// Browsers have it; the types of this TypeScript do not yet.
declare const DecompressionStream: new (format: "gzip") => ReadableWritablePair<
	Uint8Array,
	Uint8Array
>;

async function gunzip(bytes: Uint8Array): Promise<Uint8Array> {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	const parts: Uint8Array[] = [];
	let length = 0;

	for (const reader = stream.getReader(); ; ) {
		const { done, value } = await reader.read();

		if (done) break;
		length += value.length;
		if (length > MAX_BYTES) throw new Error("it is larger than 512 MiB");
		parts.push(value);
	}
	const all = new Uint8Array(length);
	let at = 0;
	for (const part of parts) {
		all.set(part, at);
		at += part.length;
	}
	return all;
}

function readAny(bytes: Uint8Array, name: string): Opened | FlameJson {
	const start = decoder.decode(bytes.subarray(0, 64));

	if (start.startsWith('{"format":')) return JSON.parse(decoder.decode(bytes)) as FlameJson;
	// Text has no bytes below the blank but these; both messages begin with some.
	if (
		!/[\u0000-\u0008\u000e-\u001f]/.test(start) &&
		/;| \d/.test(decoder.decode(bytes.subarray(0, 1 << 16)))
	)
		return readFolded(decoder.decode(bytes), name);
	try {
		return readPprof(bytes, name);
	} catch {
		try {
			return readOtlp(bytes, name);
		} catch (error) {
			throw new Error(
				`it is neither a pprof file, nor OTLP, nor folded stacks (${
					(error as Error).message
				})`
			);
		}
	}
}

export async function openFile(file: File): Promise<Opened | FlameJson> {
	if (file.size > MAX_BYTES) throw new Error("it is larger than 512 MiB");
	let bytes = new Uint8Array(await file.arrayBuffer());

	if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await gunzip(bytes);
	return readAny(bytes, file.name);
}

export function isJson(opened: Opened | FlameJson): opened is FlameJson {
	return "nodes" in opened;
}

// One file, or two for a difference.
export function treeOfFiles(now: Opened | FlameJson, base: Opened | null): Tree {
	if (isJson(now)) return treeOfJson(now);
	const frames = now.frames.slice();
	const ids = new Map(frames.map((frame, id) => [JSON.stringify(frame), id]));
	const ofBase = (base?.frames ?? []).map((frame) => {
		const key = JSON.stringify(frame);
		let id = ids.get(key);

		if (id === undefined) {
			id = frames.push(frame) - 1;
			ids.set(key, id);
		}
		return id;
	});
	const builder = new TreeBuilder(frames, base !== null);
	const add = (stacks: Stack[], map: number[] | null) => {
		for (const stack of stacks) {
			let at = 0;

			for (const id of stack.frames.slice(0, MAX_DEPTH))
				at = builder.child(at, map ? map[id] : id);
			builder.count(at, map ? 0 : stack.value, map ? stack.value : 0);
		}
	};

	add(now.stacks, null);
	if (base) add(base.stacks, ofBase);
	return builder.finish();
}
