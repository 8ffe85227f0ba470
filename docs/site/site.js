// Draws the diagrams with the colours of the page, and lets the navigation fold on a narrow screen.
document.addEventListener('DOMContentLoaded', () => {
	addSizingCalculator();
	const wide = window.innerWidth > 960;
	const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
	if (document.querySelector('pre.mermaid')) {
		mermaid.initialize({
			startOnLoad: false,
			theme: dark ? 'dark' : 'neutral',
			fontFamily: getComputedStyle(document.body).fontFamily,
			flowchart: { useMaxWidth: wide },
			sequence: { useMaxWidth: wide },
			state: { useMaxWidth: wide }
		});
		mermaid.run();
	}
	const navigation = document.querySelector('#leftColumn');
	const button = document.createElement('button');
	button.type = 'button';
	button.className = 'menu';
	button.textContent = 'Menu';
	button.setAttribute('aria-expanded', 'false');
	button.addEventListener('click', () => {
		button.setAttribute('aria-expanded', String(navigation.classList.toggle('open')));
	});
	document.querySelector('#banner').append(button);
});

// The calculator of docs/sizing.md. The constants are those of the table in that page, and the formulas are the same.
function addSizingCalculator() {
	const heading = document.querySelector('h2#calculator');
	if (!heading) {
		return;
	}
	const constant = {};
	document.querySelectorAll('td:first-child > code:only-child').forEach((name) => {
		constant[name.textContent] = Number(name.parentElement.nextElementSibling.textContent.replaceAll(',', ''));
	});
	const fields = [['keys', 'new keys a day, million', 10], ['days', 'retention, days', 7], ['result', 'stored result, bytes', 0],
		['interval', 'seconds between checkpoints', 300], ['factor', 'peak, times the average', 3]];
	const form = document.createElement('form');
	form.className = 'calculator';
	const inputs = {};
	fields.forEach(([name, text, value]) => {
		const label = document.createElement('label');
		const input = document.createElement('input');
		Object.assign(input, { type: 'number', min: 0, step: 'any', value });
		input.addEventListener('input', show);
		label.append(text, input);
		form.append(label);
		inputs[name] = input;
	});
	const table = document.createElement('table');
	form.append(table);
	heading.nextElementSibling.after(form);
	form.addEventListener('submit', (event) => event.preventDefault());
	show();

	function show() {
		const value = (name) => Math.max(0, Number(inputs[name].value));
		const keys = value('keys') * 1e6;
		const rows = keys * value('days');
		const rate = keys / 86400;
		const peak = rate * value('factor');
		const c = value('interval') * constant.keys_per_leaf / (86400 * Math.max(value('days'), 0.01));
		const images = c > 0 ? (1 - Math.exp(-c)) / c : 1;
		const units = 2 * Math.ceil((constant.b_dynamodb + value('result')) / 1024);
		const wal = constant.w_claim + constant.w_deletion + images * constant.w_image;
		const lines = [
			['keys in the store', count(rows)],
			['PostgreSQL, transactional', bytes(rows * (constant.b_postgresql + value('result')))],
			['PostgreSQL, leased', bytes(rows * (constant.b_postgresql_leased + value('result')))],
			['primary key in memory', bytes(rows * 8192 / constant.keys_per_leaf)],
			['WAL a day, transactional', bytes(keys * wal)],
			['WAL a day, leased', bytes(keys * (wal + constant.w_completion))],
			['flushes and page writes a second at the peak', count(peak * (1 + images))],
			['MariaDB', bytes(rows * (constant.b_mariadb + value('result')))],
			['Redis', bytes(rows * (constant.b_redis + constant.f_redis * value('result')))],
			['DynamoDB', bytes(rows * (constant.b_dynamodb + value('result')))],
			['DynamoDB, write units a second at the peak', count(peak * units)],
			['DynamoDB, write units a month', count(keys * 30 * units)],
			['claims a second at the peak', `${count(peak)} (measured: ${count(constant.r_claims)} with two cores)`],
			['expired keys a second', `${count(rate)} (the cleanup deletes ${count(constant.r_cleanup)})`],
			['partitions of a day', count(value('days') + 2)]
		];
		table.replaceChildren(...lines.map((line) => {
			const row = document.createElement('tr');
			row.append(...line.map((text) => {
				const cell = document.createElement('td');
				cell.textContent = text;
				return cell;
			}));
			return row;
		}));
	}

	function count(number) {
		return number.toLocaleString('en', { maximumSignificantDigits: 3 });
	}

	function bytes(number) {
		const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
		const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(number, 1)) / 3)));
		return `${count(number / 1000 ** power)} ${units[power]}`;
	}
}
