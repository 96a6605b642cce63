// SPDX-License-Identifier: Apache-2.0
// What the parts of the page know of the whole, and may ask it for.

import type { Status } from "./server";
import type { Opened } from "./stacks";
import type { State } from "./state";
import type { Frame, Tree } from "./tree";

export interface Shell {
	readonly state: State;
	readonly hasServer: boolean;
	readonly isServed: boolean; // a server's profiles are shown, not files
	readonly isLive: boolean;
	readonly status: Status | null; // what the server last said of itself
	readonly opened: Opened[]; // files that are shown
	readonly whole: Tree | null; // as it came
	readonly shown: Tree | null; // as it is drawn
	readonly selected: number; // a node of `shown`; -1 = none
	readonly zoom: number; // the node that is zoomed into; 0 = the root
	readonly type: string; // what is counted
	readonly unit: string;

	// A value of what is counted, with its unit.
	text(value: number): string;
	// What the answer covers, in ms since 1970; null = nothing, or a file.
	covered(side: "" | "base_"): [number, number] | null;
	// Goes into the address; with @asks the server is asked anew.
	change(change: Partial<State>, asks?: boolean): void;
	showFunction(frame: Frame): void;
	select(node: number): void;
	zoomTo(node: number): void;
	openFiles(files: File[]): Promise<void>;
	closeFiles(): void;
	toggleHelp(): void;
}
