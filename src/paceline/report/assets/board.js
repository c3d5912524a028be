// Sorts tables by any of their columns, with the mouse and the keyboard, and says so to those who cannot see it.
// A table says `data-sortable`, its heads `data-name` and `data-better`, its cells `data-name` and `data-value`.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const board = table.closest("section");
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll("th[data-name]")];
  const status = board.querySelector("[role=status]");
  const sorter = board.querySelector(".sorter");
  const choice = sorter.querySelector("select");
  const OTHER = { ascending: "descending", descending: "ascending" };

  const value = (row, name) => {
    const text = row.querySelector(`td[data-name="${name}"]`).dataset.value;
    return text === "" ? null : Number(text);
  };

  function sort(head, direction) {
    const name = head.dataset.name, sign = direction === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row, place) => ({ row, place, at: value(row, name) }));
    // Those without the figure are last, whichever way it goes; equal ones stay in their order.
    rows.sort((a, b) => {
      if (a.at === null || b.at === null) return (a.at === null) - (b.at === null) || a.place - b.place;
      return sign * (a.at - b.at) || a.place - b.place;
    });
    body.append(...rows.map(({ row }) => row));
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    choice.value = name;
    status.textContent = `sorted by ${head.dataset.label}, ${direction === "ascending" ? "lowest" : "highest"} first`;
  }

  const best = (head) => (head.dataset.better === "lower" ? "ascending" : "descending");
  const again = (head) => {
    const now = head.getAttribute("aria-sort");
    sort(head, now ? OTHER[now] : best(head));
  };

  for (const head of heads) {
    head.dataset.label = head.firstChild.textContent.trim();
    const button = document.createElement("button"), label = document.createElement("span");
    button.type = "button";
    label.className = "label";
    label.textContent = head.dataset.label;
    head.firstChild.remove();
    button.append(label, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => again(head));
  }
  choice.addEventListener("change", () => {
    const head = heads.find((one) => one.dataset.name === choice.value);
    sort(head, best(head));
  });
  sorter.querySelector("button").addEventListener("click", () => again(heads.find((one) => one.dataset.name === choice.value)));
  sorter.hidden = false;
}
