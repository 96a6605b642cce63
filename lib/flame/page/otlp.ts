// SPDX-License-Identifier: Apache-2.0
// OTLP: ExportProfilesServiceRequest, opentelemetry-proto 1.11.

import { asBytes, asNumber, asText, Field, message, numbers, numbersOf } from "./protobuf";
import { Counted, FrameTable, Opened } from "./stacks";

const REQUESTS_MAX = 65536; // of a file

interface Location {
	mapping: number;
	functions: number[]; // the innermost first
	attributes: number[];
}

interface Attribute {
	key: number;
	value: string;
	reference: number; // to a string, instead of `value`
}

function readAttribute(bytes: Uint8Array): Attribute {
	const attribute: Attribute = { key: 0, value: "", reference: 0 };

	message(bytes, (field, value) => {
		if (field === 1) attribute.key = asNumber(value);
		if (field === 2)
			message(asBytes(value), (inner, text) => {
				if (inner === 1) attribute.value = asText(text);
				if (inner === 8) attribute.reference = asNumber(text);
			});
	});
	return attribute;
}

function readLocation(bytes: Uint8Array): Location {
	const location: Location = { mapping: 0, functions: [], attributes: [] };

	message(bytes, (field, value) => {
		if (field === 1) location.mapping = asNumber(value);
		if (field === 3) location.functions.push(numbersOf(asBytes(value), [1])[0]);
		if (field === 4) numbers(location.attributes, value);
	});
	return location;
}

// What all profiles of a request refer to.
class Dictionary {
	private readonly strings: string[] = [];
	private readonly mappings: number[] = []; // the file's name
	private readonly locations: Location[] = [];
	private readonly functions: { name: number; source: number; line: number }[] = [];
	private readonly attributes: Attribute[] = [];
	private readonly stacks: number[][] = []; // locations, the innermost first
	private readonly frames: number[][]; // of each stack, from the root on

	constructor(bytes: Uint8Array, private readonly table: FrameTable) {
		message(bytes, (field, value) => this.take(field, value));
		const runs = this.locations.map((location) => this.runOf(location));

		this.frames = this.stacks.map((stack) => stack.reverse().flatMap((id) => runs[id] ?? []));
	}

	text(id: number | undefined): string {
		return this.strings[id ?? 0] ?? "";
	}

	// Frames from the root on.
	framesOf(stack: number): number[] {
		return this.frames[stack] ?? [];
	}

	private take(field: number, value: Field): void {
		const row = asBytes(value);

		if (field === 1) {
			this.mappings.push(numbersOf(row, [4])[0]);
		} else if (field === 2) {
			this.locations.push(readLocation(row));
		} else if (field === 3) {
			const [name, source, line] = numbersOf(row, [1, 3, 4]);

			this.functions.push({ name, source, line });
		} else if (field === 5) {
			this.strings.push(asText(row));
		} else if (field === 6) {
			this.attributes.push(readAttribute(row));
		} else if (field === 7) {
			const stack: number[] = [];

			message(row, (at, one) => at === 1 && numbers(stack, one));
			this.stacks.push(stack);
		}
	}

	private runOf(location: Location): number[] {
		const type = location.attributes
			.map((id) => this.attributes[id])
			.find((one) => one && this.text(one.key) === "profile.frame.type");
		const names = location.functions.map((id) => {
			const row = this.functions[id];

			return (
				row && {
					name: this.text(row.name),
					source: this.text(row.source),
					line: row.line,
				}
			);
		});
		const kind = type ? type.value || this.text(type.reference) : "";

		return this.table.run(this.text(this.mappings[location.mapping]), kind, names);
	}
}

// A value is the sum of those that are there, else the number of timestamps.
function readSample(bytes: Uint8Array): { stack: number; value: number } {
	const values: number[] = [];
	let stack = 0;
	let times = 0;

	message(bytes, (field, value) => {
		if (field === 1) stack = asNumber(value);
		// There the attributes stood in field 3, which is a number now.
		if (field === 3 && typeof value !== "number")
			throw new Error("it is numbered as in opentelemetry-proto 1.9 or before");
		if (field === 4) numbers(values, value);
		if (field === 5) times += typeof value === "number" ? 1 : value.length / 8;
	});
	return { stack, value: values.length ? values.reduce((a, b) => a + b, 0) : times };
}

function readProfile(bytes: Uint8Array, from: Dictionary, kinds: Map<string, Counted>): void {
	const samples: { stack: number; value: number }[] = [];
	let type = "";
	let unit = "";

	message(bytes, (field, value) => {
		if (field === 1) {
			const [typeId, unitId] = numbersOf(asBytes(value), [1, 2]);

			type = from.text(typeId);
			unit = from.text(unitId);
		}
		if (field === 2) samples.push(readSample(asBytes(value)));
	});
	if (!samples.length) return;
	const key = `${type}\0${unit}`;
	const kind = kinds.get(key) ?? { type, unit, stacks: [] };
	kinds.set(key, kind);
	for (const { stack, value } of samples)
		kind.stacks.push({ frames: from.framesOf(stack), value });
}

function readRequest(bytes: Uint8Array, table: FrameTable, kinds: Map<string, Counted>): void {
	const resources: Uint8Array[] = [];
	let dictionary: Uint8Array | null = null;

	message(bytes, (field, value) => {
		if (field === 1) resources.push(asBytes(value));
		if (field === 2) dictionary = asBytes(value);
	});
	if (!dictionary || !resources.length) throw new Error("this is no OTLP request with profiles");
	const from = new Dictionary(dictionary, table);
	for (const resource of resources)
		message(resource, (field, scope) => {
			if (field !== 2) return;
			message(asBytes(scope), (inner, profile) => {
				if (inner === 2) readProfile(asBytes(profile), from, kinds);
			});
		});
}

// The requests of a file: each behind its length in 4 bytes, the highest first, or one alone.
function requestsOf(bytes: Uint8Array): Uint8Array[] {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const found: Uint8Array[] = [];
	let at = 0;

	while (at + 4 <= bytes.length) {
		const end = at + 4 + view.getUint32(at);

		if (end > bytes.length) break;
		if (found.length >= REQUESTS_MAX) throw new Error("it has too many requests");
		found.push(bytes.subarray(at + 4, end));
		at = end;
	}
	return at === bytes.length && found.length ? found : [bytes];
}

export function readOtlp(bytes: Uint8Array, name: string): Opened {
	const table = new FrameTable();
	const kinds = new Map<string, Counted>();

	for (const request of requestsOf(bytes)) readRequest(request, table, kinds);
	// The one with most samples to begin with.
	const sorted = [...kinds.values()].sort((a, b) => b.stacks.length - a.stacks.length);

	return {
		name,
		kinds: sorted.length ? sorted : [{ type: "", unit: "", stacks: [] }],
		frames: table.frames,
	};
}
