"""How a report looks: light or dark as the reader prefers, readable on a phone and on paper."""

STYLE = """
:root {
  --paper: #fff; --ink: #1b1d20; --soft: #5c636b; --faint: #d9dce0; --band: #f6f7f8;
  --right: #00664b; --wrong: #b3261e; --quick: #8a5300;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181b; --ink: #e6e7e9; --soft: #a4abb3; --faint: #3a3f45; --band: #1e2125;
    --right: #5fd3a9; --wrong: #ff8a80; --quick: #f0b35a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 74rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--faint); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 0; }
h3 + p { margin: 0 0 .5rem; color: var(--soft); }
p, dl, figcaption { max-width: 46rem; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .15rem .75rem; margin: 1rem 0; }
dd { margin: 0; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .86em; }
.verdict { font-size: 1.1rem; font-weight: 600; }
.right { color: var(--right); }
.wrong { color: var(--wrong); font-weight: 700; }
.quick { color: var(--quick); border-left: 3px solid; padding-left: .75rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
table.narrow { width: auto; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--faint); font-weight: 600; white-space: nowrap; }
thead th:nth-child(n+2):nth-child(-n+5), table.narrow thead th:nth-child(n+2) { text-align: right; }
table.verdicts thead th:nth-child(n+4) { text-align: left; }
tbody tr { border-bottom: 1px solid var(--faint); }
tbody tr:nth-child(even) { background: var(--band); }
tbody tr:target { outline: 2px solid var(--quick); }
tbody th { font-weight: 400; white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { min-width: 18rem; color: var(--soft); }
table.narrow td:last-child { min-width: 0; color: inherit; }
figure { margin: 1.5rem 0 2.25rem; max-width: 52rem; }
figure svg { width: 100%; height: auto; color: var(--ink); font-family: inherit; }
figcaption { font-size: .92rem; color: var(--soft); margin-top: .35rem; }
figcaption b { color: var(--ink); font-weight: 600; }
@media print { main { max-width: none; padding: 0; } figure, tr { break-inside: avoid; } }
"""
