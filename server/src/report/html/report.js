"use strict";
// Tables: sorted by their headings, filtered by words, copied with exact numbers.
for (const table of document.querySelectorAll(".table > table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  const names = new Intl.Collator("en", { numeric: true });
  const exact = (cell) => cell.dataset.value ?? cell.textContent;

  // What is not there stands last, whichever way it goes.
  const sort = (column, isDown) => {
    const isNumber = headings[column].classList.contains("number");
    const compare = (a, b) => {
      const [left, right] = [exact(a.cells[column]), exact(b.cells[column])];
      if (!left || !right) return Boolean(right) - Boolean(left);
      const order = isNumber ? left.replaceAll(",", "") - right.replaceAll(",", "") : names.compare(left, right);
      return isDown ? -order : order;
    };
    rows.sort(compare);
    body.append(...rows);
    headings.forEach((heading, at) => {
      heading.setAttribute("aria-sort", at === column ? (isDown ? "descending" : "ascending") : "none");
    });
  };
  if (rows.length > 1) {
    headings.forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      heading.setAttribute("aria-sort", "none");
      // The largest numbers first, and words from A to Z.
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        const isDown = now === "none" ? heading.classList.contains("number") : now === "ascending";
        sort(column, isDown);
      });
    });
  }

  if (rows.length <= 10) continue;
  const tools = document.createElement("div");
  tools.className = "tools";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter";
  filter.setAttribute("aria-label", "Filter the rows of the table below");
  const count = document.createElement("output");
  const copy = document.createElement("button");
  copy.type = "button";
  copy.textContent = "Copy";
  copy.title = "Copy the rows shown with exact numbers, for a spreadsheet";
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  };
  filter.addEventListener("input", show);
  copy.addEventListener("click", () => {
    const lines = [headings, ...rows.filter((row) => !row.hidden).map((row) => [...row.cells])];
    const text = lines.map((cells) => cells.map(exact).join("\t")).join("\n");
    // Works from a file as well, where the newer way is not allowed everywhere.
    const give = (event) => {
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
    };
    document.addEventListener("copy", give, { once: true });
    const isCopied = document.execCommand("copy");
    document.removeEventListener("copy", give);
    copy.textContent = isCopied ? "Copied" : "Cannot copy";
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });
  tools.append(filter, count, copy);
  table.parentElement.before(tools);
  show();
}
