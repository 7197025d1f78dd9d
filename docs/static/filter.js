// A box above each table of the reference that leaves only the rows with all of its words.
"use strict";

for (const table of document.querySelectorAll("table.filtered, .filtered table")) {
  const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
  const box = document.createElement("input");
  box.type = "search";
  box.className = "table-filter";
  box.placeholder = `Filter ${rows.length} rows`;
  box.setAttribute("aria-label", "Filter the rows of the table");
  const count = document.createElement("p");
  count.className = "table-filter-count";
  count.setAttribute("role", "status");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
  const place = table.closest(".table-wrapper") ?? table;
  place.before(box, count);
}
