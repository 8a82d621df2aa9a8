// Rows of the leaderboard by corpus, language, run and tokenizer. Options that no row has under the
// other filters are off.

const FILTERS = ["corpus", "language", "run"];
const lines = [...document.querySelectorAll("#board tbody tr")];
const field = (name) => document.getElementById(`filter-${name}`);
const parts = (row, name) => row.dataset[name].split(" ");

function holds(row, except) {
  const word = field("tokenizer").value.trim().toLowerCase();
  return (
    row.cells[0].textContent.toLowerCase().includes(word) &&
    FILTERS.every((name) => name === except || field(name).value === "" || parts(row, name).includes(field(name).value))
  );
}

function filterRows() {
  for (const name of FILTERS) {
    const there = new Set(lines.filter((row) => holds(row, name)).flatMap((row) => parts(row, name)));
    for (const option of field(name).options) option.disabled = option.value !== "" && !there.has(option.value);
  }
  let shown = 0;
  for (const row of lines) {
    row.hidden = !holds(row);
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("shown").textContent = `${shown} of ${lines.length} rows`;
}

for (const name of FILTERS) field(name).addEventListener("change", filterRows);
field("tokenizer").addEventListener("input", filterRows);
if (lines.length > 0) {
  field("corpus").value = lines[0].dataset.corpus;
  field("language").value = lines[0].dataset.language;
}
filterRows();
