"use strict";

const ENDPOINT = "actuator/idempotency";
const KEYS_POLL = 1000;

function cell(text, className) {
	const result = document.createElement("td");
	result.textContent = text;
	result.className = className || "";
	return result;
}

function row(cells) {
	const result = document.createElement("tr");
	result.append(...cells);
	return result;
}

function showOutcomes(outcomes) {
	element("outcomes").tBodies[0].replaceChildren(...Object.entries(outcomes).map(([listener, counts]) => row([
		cell(listener), ...Object.entries(counts).map(([outcome, count]) => cell(`${outcome.replace("_", " ")} ${number.format(count)}`)),
	])));
}

async function release(store, record) {
	const message = element("keys-message");
	try {
		await call(`${ENDPOINT}/release`, { store, scope: record.scope, key: record.key });
		message.textContent = `${record.key} is released. Its next delivery can claim it immediately.`;
	}
	catch (error) {
		message.textContent = error.message;
	}
	await showKeys();
}

function keyRow(store, record, state) {
	const button = document.createElement("button");
	button.textContent = "Release";
	button.addEventListener("click", () => release(store, record));
	const last = cell("");
	// The handler has run, and its completion is about to be recorded.
	button.disabled = Boolean(record.completionPending);
	last.append(button);
	const result = row([cell(record.key), cell(store), cell(record.scope), cell(state, state), cell(record.attempt),
		cell(record.error ? record.error.type.split(".").pop() : ""), last]);
	result.dataset.key = record.key;
	return result;
}

async function keyRows(store, state) {
	const { records } = await call(`${ENDPOINT}/${state}?store=${store}`);
	return records.map((record) => keyRow(store, record, state));
}

async function showKeys() {
	const names = (await call("api/stores")).map((store) => store.name);
	const rows = (await Promise.all(["stuck", "failed"].flatMap((state) => names.map((name) => keyRows(name, state))))).flat();
	element("keys").tBodies[0].replaceChildren(...(rows.length ? rows : [row([cell("none")])]));
}

async function pollKeys() {
	try {
		showOutcomes(await call("api/outcomes"));
		await showKeys();
	}
	catch (error) {
		element("keys-message").textContent = error.message;
	}
	setTimeout(pollKeys, KEYS_POLL);
}

pollKeys();
