"use strict";

const POLL = 500;
const element = (id) => document.getElementById(id);
const currency = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });
const roundCurrency = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", maximumFractionDigits: 0 });
const number = new Intl.NumberFormat("en");
let lastRequested = 0;

async function call(path, body) {
	const options = body === undefined ? {}
		: { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
	const response = await fetch(path, options);
	const text = await response.text();
	const answer = text ? JSON.parse(text) : {};
	if (!response.ok) {
		throw new Error(answer.detail || answer.error || answer.outcome || `${path} responded with status ${response.status}`);
	}
	return answer;
}

function show(id, value) {
	element(id).textContent = number.format(value);
}

function showLedger(name, ledger, over, requested, scale) {
	element(`${name}-charged`).textContent = currency.format(ledger.amountCharged);
	element(`${name}-over`).textContent = currency.format(over);
	element(`${name}-over`).classList.toggle("bad", over > 0);
	element(`${name}-fair`).style.width = `${(ledger.amountCharged - over) / scale * 100}%`;
	element(`${name}-excess`).style.width = `${over / scale * 100}%`;
	element(`${name}-goal`).style.left = `${requested / scale * 100}%`;
	show(`${name}-deliveries`, ledger.deliveries);
	show(`${name}-charges`, ledger.charges);
}

// Shows a figure that must stay zero.
function showVerdict(id, value) {
	show(id, value);
	element(id).classList.toggle("bad", value > 0);
}

function showStatements(summary, doubled) {
	show("statements-charges", summary.protected.charges);
	["pending", "published"].forEach((figure) => show(`outbox-${figure}`, summary.outbox[figure]));
	["deliveries", "suppressed", "applied"].forEach((figure) => show(`statements-${figure}`, summary.statements[figure]));
	showVerdict("outbox-deadLetters", summary.outbox.deadLetters);
	showVerdict("statements-doubled", doubled);
	showVerdict("statements-outOfOrder", summary.statements.outOfOrder);
}

function showSummary(summary, overcharged, backlog) {
	const requested = summary.amountRequested;
	const scale = Math.max(requested, summary.protected.amountCharged, summary.unprotected.amountCharged, 1);
	if (summary.paymentsRequested < lastRequested) {
		chart.clear();
	}
	lastRequested = summary.paymentsRequested;
	element("requested").textContent = currency.format(requested);
	show("payments", summary.paymentsRequested);
	show("messages", summary.messagesSent);
	show("waiting", Object.values(backlog).reduce((sum, waiting) => sum + waiting, 0));
	["protected", "unprotected"].forEach((name) => showLedger(name, summary[name], overcharged[name], requested, scale));
	show("protected-suppressed", summary.protected.suppressed);
	["deliveries", "suppressed", "calls", "charges"].forEach((figure) => show(`gateway-${figure}`, summary.gateway[figure]));
	chart.add(Date.now(), overcharged.protected, overcharged.unprotected, (value) => roundCurrency.format(value));
}

function storeLine(store, index) {
	const guarantee = store.transactional ? "a key and its charge in the ledger commit together, so each payment is charged exactly once"
		: "a crash can repeat a call, which the card gateway recognizes by its key";
	const result = document.createElement("p");
	const name = index ? `store ${store.name}` : "default store";
	result.textContent = `Idempotency keys in ${store.product} (${name}): ${guarantee}.`;
	return result;
}

// The first store is the default one.
function showStores(stores) {
	element("stores").replaceChildren(...stores.map(storeLine));
}

function showState(text, state) {
	element("state").textContent = text;
	element("state").className = `state ${state}`;
}

async function poll() {
	try {
		const [summary, overcharged, backlog, stores, reconciliation] = await Promise.all(
			["api/summary", "api/overcharged", "api/backlog", "api/stores", "api/reconciliation"].map((path) => call(path)));
		showSummary(summary, overcharged, backlog);
		showStatements(summary, reconciliation.doubled);
		showStores(stores);
		showState("live", "live");
	}
	catch (error) {
		showState(`no response: ${error.message}`, "lost");
	}
	setTimeout(poll, POLL);
}

async function run(button, doing, action) {
	const message = element("message");
	button.disabled = true;
	message.className = "";
	message.textContent = doing;
	try {
		message.textContent = await action();
	}
	catch (error) {
		message.className = "error";
		message.textContent = error.message;
	}
	button.disabled = false;
}

element("order").addEventListener("submit", (event) => {
	event.preventDefault();
	const order = { count: element("count").valueAsNumber, duplicateRate: element("rate").valueAsNumber / 100 };
	run(element("send"), "Sending …", async () => {
		const answer = await call("api/payments", order);
		return `${number.format(answer.payments)} payments sent.`;
	});
});

element("crash").addEventListener("click", () => run(element("crash"), "Crashing …", async () => {
	await call("api/crash", {});
	await call("api/payments", { count: 1, duplicateRate: 0 });
	return "A handler of each ledger failed between debit and entry. Its record is redelivered.";
}));

poll();
