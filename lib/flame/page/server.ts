// SPDX-License-Identifier: Apache-2.0
// What the exporter `web` is asked for. docs/web.md has the formats.

import { serverQuery, State } from "./state";
import type { Load } from "./strip";
import type { FlameJson } from "./tree";

export interface Status {
	version: string;
	now: number;
	from: number;
	to: number;
	retention_ms: number;
	memory: number;
	memory_max: number;
	samples: { kept: number; expired: number; evicted: number; refused: number };
	kinds: { type: string; unit: string; value: number }[];
	keys: string[];
	account: { kind: string; id: string; outcome: string; cause: string; samples: number }[];
}

export interface Answer {
	flame: FlameJson;
	status: Status;
	load: Load;
}

async function get<T>(path: string): Promise<T> {
	const reply = await fetch(path, { headers: { accept: "application/json" } });

	if (!reply.ok)
		throw new Error((await reply.text()).trim() || `the server says ${reply.status}`);
	return (await reply.json()) as T;
}

// All that the page shows of @state. Fails with the server's own words.
export async function ask(state: State): Promise<Answer> {
	const [flame, status, load] = await Promise.all([
		get<FlameJson>(`api/flame.json?${serverQuery(state, true)}`),
		get<Status>("api/status.json"),
		get<Load>(`api/load.json?${new URLSearchParams({ type: state.type })}`),
	]);

	return { flame, status, load };
}
