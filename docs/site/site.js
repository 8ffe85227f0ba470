// Draws the diagrams with the colours of the page, and lets the navigation fold on a narrow screen.
document.addEventListener('DOMContentLoaded', () => {
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
