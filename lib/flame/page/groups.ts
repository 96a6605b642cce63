// SPDX-License-Identifier: Apache-2.0
// What samples are grouped by, and the condition for one group.

import { visible } from "./text";

// What people know, in the order of the list.
const GROUPS: [string, string][] = [
	["process.executable.name", "executable"],
	["process.pid", "process"],
	["thread.name", "thread"],
	["service.name", "service"],
	["k8s.pod.name", "pod"],
	["k8s.container.name", "container"],
	["container.id", "container id"],
	["k8s.namespace.name", "namespace"],
	["k8s.deployment.name", "deployment"],
];
// Of frames and files, not of samples.
const NOT_TO_GROUP_BY =
	/^(profile\.frame\.type|process\.executable\.build_id|process\.creation\.time)/;

export function groupLabel(key: string): string {
	return GROUPS.find(([word]) => word === key)?.[1] ?? visible(key);
}

// Of @keys, which samples have, those to choose from, each with its name.
export function groupsToChoose(keys: string[]): [string, string][] {
	const others = keys.filter(
		(key) => !GROUPS.some(([word]) => word === key) && !NOT_TO_GROUP_BY.test(key)
	);

	return [
		...GROUPS.filter(([key]) => keys.includes(key)),
		...others.map((key): [string, string] => [key, visible(key)]),
	];
}

// Both conditions; @where may be empty.
export function both(where: string, condition: string): string {
	return where ? `(${where}) and ${condition}` : condition;
}

// For samples whose attribute @key, or that of their resource, is @value.
export function groupCondition(key: string, value: string): string {
	const isNumber =
		/^\d+$/.test(value) && /\.pid$|\.id$/.test(key) && key !== "container.id";
	const literal = isNumber ? value : JSON.stringify(value);
	const [resource, sample] = ["resource", "profilesample"].map(
		(level) => `${level}.attributes[${JSON.stringify(key)}] == ${literal}`
	);

	return `(${resource} or ${sample})`;
}
