// SPDX-License-Identifier: Apache-2.0
// Files that are dropped onto the page: pprof, OTLP, folded stacks, or our own JSON. They are
// anybody's: whatever does not fit ends in an error with a sentence.

import { readOtlp } from "./otlp";
import { readPprof } from "./pprof";
import { FrameTable, Opened, Stack } from "./stacks";
import type { FlameJson } from "./tree";

const MAX_BYTES = 512 << 20;

const decoder = new TextDecoder();

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
	return { name, kinds: [{ type: "samples", unit: "count", stacks }], frames: table.frames };
}

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
