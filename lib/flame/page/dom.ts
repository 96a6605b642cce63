// SPDX-License-Identifier: Apache-2.0
// Elements. Text only ever becomes text: nothing here takes HTML.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

// el("button", { class: "a", onclick: f }, "text"): what begins with "on" is a listener.
export function el<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	attributes: Attributes = {},
	...children: Child[]
): HTMLElementTagNameMap[K] {
	const element = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function")
			element.addEventListener(name.slice(2), value as EventListener);
		else if (value === true) element.setAttribute(name, "");
		else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
	}
	for (const child of children) if (child) element.append(child);
	return element;
}

export function replace(element: Element, ...children: Child[]): void {
	element.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}
