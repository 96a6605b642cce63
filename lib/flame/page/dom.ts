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

// What a control is called, for people.
function labelOf(element: Element): string {
	return element.getAttribute("aria-label") ?? element.textContent ?? "";
}

// The focus, and what is typed but not taken yet, go to the control that took the place of @old.
function takeOver(old: Element, root: Element): void {
	const controls = root.querySelectorAll<HTMLElement>("button, select, input, summary, a");
	const now = [...controls].find((one) => labelOf(one) === labelOf(old));

	if (
		old instanceof HTMLInputElement &&
		now instanceof HTMLInputElement &&
		old !== now &&
		old.defaultValue === now.defaultValue
	) {
		now.value = old.value;
		now.setSelectionRange(old.selectionStart, old.selectionEnd);
	}
	now?.focus({ preventScroll: true });
}

function openMenus(element: Element, added: Node[]): void {
	const open = [...element.querySelectorAll("details")]
		.filter((menu) => menu.open)
		.map((menu) => menu.querySelector("summary")?.textContent);

	for (const menu of added)
		if (
			menu instanceof HTMLDetailsElement &&
			open.includes(menu.querySelector("summary")?.textContent)
		)
			menu.open = true;
}

// As replace(), for what is drawn anew while somebody is at it: open menus, what is scrolled (of
// class "scrolls") and the focus stay as they are, and all of it if nothing is new.
export function redraw(element: Element, ...children: Child[]): void {
	const added = children
		.filter((child): child is Node | string => Boolean(child))
		.map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
	const active = element.contains(document.activeElement) ? document.activeElement : null;
	const scrolled = [...element.querySelectorAll(".scrolls")].map((one) => one.scrollTop);
	const old = [...element.childNodes];

	openMenus(element, added);
	if (added.length === old.length && added.every((child, i) => child.isEqualNode(old[i]))) return;
	element.replaceChildren(...added);
	element.querySelectorAll(".scrolls").forEach((one, i) => (one.scrollTop = scrolled[i] ?? 0));
	if (active && active !== document.activeElement) takeOver(active, element);
}
