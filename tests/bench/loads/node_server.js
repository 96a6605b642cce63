// SPDX-License-Identifier: Apache-2.0
// An HTTP server that answers with JSON, and its clients in the same process: `node_server.js SECONDS`.
"use strict";
const http = require("http");

const CLIENTS = 8;
const end = Date.now() + 1000 * parseInt(process.argv[2], 10);
const stock = Array.from({ length: 200 }, (_, id) => ({
	id,
	name: `article ${(id * 7919) % 1000}`,
	price: ((id * 31) % 97) / 4,
	words: ["red", "green", "blue"].map((word) => word + id),
}));

function findArticles(text) {
	const wanted = new RegExp(`${text}\\d`);

	return stock.filter((article) => wanted.test(article.name) || article.words.some((word) => wanted.test(word)));
}

function comparePrices(a, b) {
	return a.price - b.price || a.id - b.id;
}

function summarize(articles) {
	const sums = new Map();

	for (const { price, words } of articles)
		for (const word of words) sums.set(word[0], (sums.get(word[0]) || 0) + price);
	return Object.fromEntries(sums);
}

function answer(body) {
	const articles = findArticles(body.text).sort(comparePrices);

	return JSON.stringify({ articles, sums: summarize(articles) });
}

const server = http.createServer((request, response) => {
	const pieces = [];

	request.on("data", (piece) => pieces.push(piece));
	request.on("end", () => {
		response.setHeader("content-type", "application/json");
		response.end(answer(JSON.parse(Buffer.concat(pieces).toString())));
	});
});

const agent = new http.Agent({ keepAlive: true });
let asking = CLIENTS;

function ask(count) {
	if (Date.now() > end) {
		if (--asking) return;
		agent.destroy();
		server.close();
		return;
	}
	const request = http.request({ agent, port: server.address().port, method: "POST" }, (response) => {
		let text = "";

		response.setEncoding("utf8");
		response.on("data", (piece) => {
			text += piece;
		});
		response.on("end", () => {
			if (!Array.isArray(JSON.parse(text).articles)) throw new Error("no articles");
			ask(count + 1);
		});
	});

	request.end(JSON.stringify({ text: ["red", "article", "blue1", "n"][count % 4] }));
}

server.listen(0, "127.0.0.1", () => {
	for (let i = 0; i < CLIENTS; i++) ask(i);
});
