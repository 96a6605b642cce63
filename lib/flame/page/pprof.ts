// SPDX-License-Identifier: Apache-2.0
// pprof files: google/pprof, proto/profile.proto.

import { asBytes, asNumber, asText, Field, message, numbers, numbersOf } from "./protobuf";
import { Counted, FrameTable, Opened } from "./stacks";

interface Sample {
	locations: number[]; // the innermost first
	values: number[];
}

interface Location {
	mapping: number;
	functions: number[]; // the innermost first
}

// Rows of the file's tables, by their ids where they have some.
class Tables {
	readonly strings: string[] = [];
	readonly types: [number, number][] = [];
	readonly samples: Sample[] = [];
	readonly mappings = new Map<number, number>(); // the file's name
	readonly functions = new Map<number, { name: number; source: number; line: number }>();
	readonly locations = new Map<number, Location>();
	chosen = 0; // the type to begin with, or 0

	take(field: number, value: Field): void {
		if (field === 1) {
			const [type, unit] = numbersOf(asBytes(value), [1, 2]);

			this.types.push([type, unit]);
		} else if (field === 2) {
			this.takeSample(asBytes(value));
		} else if (field === 3) {
			const [id, file] = numbersOf(asBytes(value), [1, 5]);

			this.mappings.set(id, file);
		} else if (field === 4) {
			this.takeLocation(asBytes(value));
		} else if (field === 5) {
			const [id, name, source, line] = numbersOf(asBytes(value), [1, 2, 4, 5]);

			this.functions.set(id, { name, source, line });
		} else if (field === 6) {
			this.strings.push(asText(value));
		} else if (field === 14) {
			this.chosen = asNumber(value);
		}
	}

	text(id: number | undefined): string {
		return this.strings[id ?? 0] ?? "";
	}

	private takeSample(bytes: Uint8Array): void {
		const sample: Sample = { locations: [], values: [] };

		message(bytes, (field, value) => {
			if (field === 1) numbers(sample.locations, value);
			if (field === 2) numbers(sample.values, value);
		});
		this.samples.push(sample);
	}

	private takeLocation(bytes: Uint8Array): void {
		const location: Location = { mapping: 0, functions: [] };
		let id = 0;

		message(bytes, (field, value) => {
			if (field === 1) id = asNumber(value);
			if (field === 2) location.mapping = asNumber(value);
			if (field === 4) location.functions.push(numbersOf(asBytes(value), [1])[0]);
		});
		this.locations.set(id, location);
	}
}

export function readPprof(bytes: Uint8Array, name: string): Opened {
	const tables = new Tables();

	message(bytes, (field, value) => tables.take(field, value));
	if (!tables.types.length || tables.strings[0] !== "") throw new Error("this is no pprof file");
	const table = new FrameTable();
	const runs = new Map<number, number[]>();
	for (const [id, { mapping, functions }] of tables.locations) {
		const names = functions.map((fn) => {
			const row = tables.functions.get(fn);

			return (
				row && {
					name: tables.text(row.name),
					source: tables.text(row.source),
					line: row.line,
				}
			);
		});

		runs.set(id, table.run(tables.text(tables.mappings.get(mapping)), "", names));
	}
	const kinds = tables.types.map(([type, unit]): Counted => {
		return { type: tables.text(type), unit: tables.text(unit), stacks: [] };
	});
	for (const sample of tables.samples) {
		const frames = sample.locations.reverse().flatMap((id) => runs.get(id) ?? []);

		kinds.forEach((kind, i) => {
			const value = sample.values[i] ?? 0;

			if (value) kind.stacks.push({ frames, value });
		});
	}
	// The one that the file names, else the first with anything in it.
	const isChosen = (_: Counted, i: number) => tables.chosen && tables.types[i][0] === tables.chosen;
	const first = kinds.find(isChosen) ?? kinds.find((kind) => kind.stacks.length) ?? kinds[0];
	return {
		name,
		kinds: [first, ...kinds.filter((kind) => kind !== first)],
		frames: table.frames,
	};
}
