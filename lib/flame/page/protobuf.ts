// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers, as far as pprof and OTLP need them. Bytes are anybody's: what does not fit ends in
// an error.

export class Reader {
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

export type Field = number | Uint8Array;

// Calls @take for each field; 4-byte numbers are skipped, 8-byte ones come as bytes.
export function message(bytes: Uint8Array, take: (field: number, value: Field) => void): void {
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

// The numbers of a message by their fields, 0 where there is none.
export function numbersOf(bytes: Uint8Array, fields: number[]): number[] {
	const found = fields.map(() => 0);

	message(bytes, (field, value) => {
		const at = fields.indexOf(field);

		if (at >= 0) found[at] = asNumber(value);
	});
	return found;
}

// Packed or not.
export function numbers(into: number[], value: Field): void {
	if (typeof value === "number") {
		into.push(value);
		return;
	}
	for (const reader = new Reader(value); !reader.done; ) into.push(reader.varint());
}

const decoder = new TextDecoder();

export function asText(value: Field): string {
	return decoder.decode(asBytes(value));
}

export function asBytes(value: Field): Uint8Array {
	if (typeof value === "number") throw new Error("a field has another type than it should");
	return value;
}

export function asNumber(value: Field): number {
	return typeof value === "number" ? value : 0;
}
