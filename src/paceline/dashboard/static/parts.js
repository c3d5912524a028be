// Small parts of pages that are made by scripts. All text goes in as text, never as markup.

/** An element with a class and with children, which are elements or text. */
export function make(tag, className = "", ...children) {
  const found = document.createElement(tag);
  if (className) found.className = className;
  found.append(...children);
  return found;
}

/** A number with so many digits after the point and commas between thousands; a dash where there is none. */
export function shown(value, digits = 0) {
  if (value === null || value === undefined) return "\u2013";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A duration in ms as people read it: `52 ms`, `1.24 s`. */
export function duration(ms) {
  return ms < 1000 ? [shown(ms), "ms"] : [shown(ms / 1000, 2), "s"];
}

/** A mark on an axis of time, without digits that say nothing: `0`, `500 ms`, `1.5 s`. */
export function mark(ms) {
  return ms === 0 ? "0" : ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

/** A meter of a list of meters; `set(text, unit, open)` changes it only where it differs. */
export function meter(name) {
  const value = make("dd", "open", "\u2013");
  const box = make("div", "", make("dt", "", name), value);
  let now = "";
  return {
    box,
    set(text, unit = "", open = false) {
      const next = `${text}|${unit}|${open}`;
      if (next === now) return;
      now = next;
      value.replaceChildren(text, ...(unit ? [" ", make("small", "", unit)] : []));
      value.classList.toggle("open", open);
    },
  };
}

/** Text that grows at its end; the view follows while it is at its end. */
export function follow(box, change) {
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}
