"use strict";

// Draws the overcharged amount of the last two minutes, with one point per response of the service.
const chart = (() => {
	const WINDOW = 120_000;
	const MARGIN = { left: 88, right: 12, top: 10, bottom: 22 };
	const svg = document.getElementById("chart");
	let points = [];

	function add(time, overProtected, overUnprotected, money) {
		points.push({ time, overProtected, overUnprotected });
		// Keeps one point that is older than the window, so that the line starts at the left edge.
		while (points.length > 1 && points[1].time < time - WINDOW) {
			points.shift();
		}
		draw(time, money);
	}

	function clear() {
		points = [];
	}

	// Returns the smallest 1, 2 or 5 times a power of ten of which four steps cover the value.
	function step(value) {
		const power = 10 ** Math.floor(Math.log10(Math.max(value, 4) / 4));
		return [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate * 4 >= value);
	}

	function draw(now, money) {
		const width = svg.clientWidth;
		const height = svg.clientHeight;
		const unit = step(Math.max(...points.map((point) => Math.max(point.overProtected, point.overUnprotected))));
		const x = (time) => MARGIN.left + (1 - (now - time) / WINDOW) * (width - MARGIN.left - MARGIN.right);
		const y = (value) => height - MARGIN.bottom - value / (4 * unit) * (height - MARGIN.top - MARGIN.bottom);
		const line = (value) => points
			.map((point) => `${Math.max(x(point.time), MARGIN.left).toFixed(1)},${y(value(point)).toFixed(1)}`)
			.join(" ");
		const unprotectedLine = line((point) => point.overUnprotected);
		const left = Math.max(x(points[0].time), MARGIN.left);
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		svg.innerHTML = [0, 1, 2, 3, 4].map((tick) => horizontal(y(tick * unit), width, money(tick * unit))).join("")
			+ [120, 90, 60, 30, 0].map((ago) => below(x(now - ago * 1000), height, ago)).join("")
			+ `<polygon points="${left},${y(0)} ${unprotectedLine} ${x(now)},${y(0)}"/>`
			+ `<polyline class="unprotected" points="${unprotectedLine}"/>`
			+ `<polyline class="protected" points="${line((point) => point.overProtected)}"/>`;
	}

	function horizontal(y, width, label) {
		return `<line class="grid" x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${y}" y2="${y}"/>`
			+ `<text x="${MARGIN.left - 8}" y="${y + 4}" text-anchor="end">${label}</text>`;
	}

	function below(x, height, ago) {
		const anchor = ago === 0 ? "end" : "middle";
		return `<text x="${x}" y="${height - 5}" text-anchor="${anchor}">${ago === 0 ? "now" : `−${ago} s`}</text>`;
	}

	return { add, clear };
})();
