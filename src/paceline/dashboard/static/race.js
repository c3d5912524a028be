// The page of races. Every time that is shown was taken by the server as the bytes arrived.
import { events } from "./events.js";
import { duration, follow, make, mark, meter, shown } from "./parts.js";
import { post } from "./token.js";

const LETTERS = "ABCD";
const KINDS = { answer: "", reasoning: "reasoning", tool: "tool" };
const form = document.getElementById("race");
const said = document.getElementById("said");
const track = document.getElementById("track");
const grid = document.getElementById("lanes");
const results = document.getElementById("results");
let leaving = null;
let lanes = [];

// What a screen reader is told: milestones, not tokens.
function say(text, wrong = false) {
  said.textContent = text;
  said.classList.toggle("wrong", wrong);
}

function letter(number) {
  return make("span", `letter lane-${number}`, LETTERS[number]);
}

class Lane {
  constructor(given) {
    this.number = given.lane;
    this.name = LETTERS[given.lane];
    this.label = given.label;
    this.ttft = meter("TTFT");
    this.rate = meter("tok/s");
    this.tokens = meter("tokens");
    this.words = make("div", "words");
    this.words.tabIndex = 0;
    this.words.setAttribute("role", "region");
    this.words.setAttribute("aria-label", `Answer of ${this.name}`);
    this.end = make("p", "end quiet", "connecting");
    const head = make("header", "", letter(this.number), make("h2", "", given.label));
    const meters = make("dl", "meters", this.ttft.box, this.rate.box, this.tokens.box);
    this.box = make(
      "article",
      `lane lane-${this.number}`,
      head,
      make("p", "where", `${given.endpoint}, ${given.protocol}`),
      meters,
      this.words,
      this.end,
    );
    this.box.setAttribute("aria-label", `${this.name}: ${given.label}`);
    this.last = null;
    this.ms = 0;
    this.firstMs = null;
    this.done = false;
    this.wait = make("div", "wait");
    this.write = make("div", "write");
    this.rail = make("div", `rail lane-${this.number}`, this.wait, this.write);
  }

  take(given) {
    this.ms = given.ms;
    if (given.events.length) this.add(given.events);
    if (given.ttft_ms !== undefined) {
      if (this.firstMs === null) say(`${this.name}: first token after ${duration(given.ttft_ms).join(" ")}`);
      this.firstMs = given.ttft_ms;
      this.ttft.set(...duration(given.ttft_ms));
      const about = given.approximate ? "~" : "";
      this.tokens.set(about + shown(given.tokens));
      this.rate.set(given.tok_s === null ? "\u2013" : about + shown(given.tok_s, given.tok_s < 10 ? 1 : 0), "", given.tok_s === null);
    } else {
      this.ttft.set(...duration(given.ms), true);
    }
    this.words.classList.toggle("writing", given.state === "streaming");
    this.end.textContent = given.state === "waiting" ? "waiting for the first token" : given.state;
    // What stands below the text grows.
    if (given.result) follow(this.words, () => this.finish(given.result));
  }

  add(list) {
    follow(this.words, () => {
      for (const [, kind, text] of list) {
        if (!this.last || this.last.kind !== kind) {
          this.last = { kind, node: make("span", KINDS[kind] ?? "") };
          this.words.append(this.last.node);
        }
        // Many models begin with a blank.
        this.last.node.append(this.words.textContent ? text : text.trimStart());
      }
    });
  }

  finish(result) {
    this.done = true;
    const ok = result.outcome === "ok";
    if (ok) {
      const about = result.approximate ? "~" : "";
      this.rate.set(result.output_tok_s === null ? "\u2013" : about + shown(result.output_tok_s, result.output_tok_s < 10 ? 1 : 0));
      this.tokens.set(about + shown(result.tokens));
      this.ms = result.e2e_ms;
      const limit = result.finish_reason && /length|max/.test(result.finish_reason) ? ", at the limit of tokens" : "";
      this.end.textContent = `done after ${duration(result.e2e_ms).join(" ")}${limit}`;
      say(`${this.name} is done after ${duration(result.e2e_ms).join(" ")}`);
    } else {
      this.end.textContent = [result.said, result.error].filter(Boolean).join(": ");
      this.end.classList.replace("quiet", "wrong");
      if (this.firstMs === null) this.ttft.set("\u2013", "", true);
      say(`${this.name}: ${result.said}`, true);
    }
    this.words.classList.remove("writing");
    for (const note of result.notes) this.end.append(make("br"), note);
  }

  stop() {
    if (this.done) return;
    this.words.classList.remove("writing");
    this.end.textContent = "stopped";
  }

  draw(most) {
    const first = this.firstMs ?? this.ms;
    this.wait.style.width = `${(100 * first) / most}%`;
    this.write.style.left = `${(100 * first) / most}%`;
    this.write.style.width = `${(100 * Math.max(this.ms - first, 0)) / most}%`;
  }
}

function drawTrack(axis) {
  // The axis grows in steps, so that bars do not seem to shrink all the time.
  const now = Math.max(...lanes.map((lane) => lane.ms), 1);
  const step = 10 ** Math.floor(Math.log10(now));
  const most = [1, 2, 4, 6, 10].map((n) => n * step).find((n) => n >= now);
  for (const lane of lanes) lane.draw(most);
  axis.replaceChildren(...[0, most / 2, most].map((ms) => make("span", "", mark(ms))));
}

function begin(given) {
  lanes = given.lanes.map((one) => new Lane(one));
  grid.dataset.n = String(lanes.length);
  grid.replaceChildren(...lanes.map((lane) => lane.box));
  const axis = make("div", "axis");
  const legend = make("p", "legend-line", "Outlined: until the first token. Full: while it writes. One axis of time, from the first byte of each request.");
  track.replaceChildren(...lanes.flatMap((lane) => [letter(lane.number), lane.rail]), axis, legend);
  track.hidden = false;
  said.scrollIntoView({ block: "nearest" });
  return axis;
}

function cell(text, name, best = false, more = "") {
  const found = make("td", best ? "best" : "", text);
  found.dataset.name = name;
  if (more) found.append(make("span", "ci", more));
  return found;
}

function row(lane, result, leads) {
  const best = (name) => leads[name] === lane.number;
  const about = result.approximate ? "~" : "";
  const ok = result.outcome === "ok";
  const cost = result.cost;
  return make(
    "tr",
    "",
    (() => {
      const head = make("th", "", letter(lane.number), lane.label);
      head.scope = "row";
      return head;
    })(),
    ok ? cell(shown(result.e2e_ms / 1000, 2), "done, s", best("e2e_ms")) : cell(result.said, "done, s"),
    cell(shown(result.ttft_ms), "TTFT, ms", best("ttft_ms"), result.connect_ms === null || !ok ? "" : `and ${shown(result.connect_ms, result.connect_ms < 10 ? 1 : 0)} to connect`),
    cell(result.output_tok_s === null ? "\u2013" : about + shown(result.output_tok_s, 1), "tok/s", best("output_tok_s")),
    cell(about + shown(result.tokens), "tokens", false, result.reasoning_tokens ? `${shown(result.reasoning_tokens)} reasoning` : ""),
    cell(shown(result.longest_stall_ms), "stall, ms"),
    cost.usd === null ? cell("unknown", "cost, USD") : cell(cost.usd === 0 ? "0" : cost.usd.toPrecision(3), "cost, USD"),
  );
}

/** Where costs come from, or why there is none; sides of which the same is to be said together. */
function costNotes(found) {
  const said = new Map();
  const add = (text, lane) => said.set(text, [...(said.get(text) ?? []), lane.name]);
  const hints = new Set();
  for (const lane of lanes) {
    const cost = found[lane.number].cost;
    add(cost.usd === null ? `unknown: ${cost.why}` : `by ${cost.source}`, lane);
    if (cost.hint) hints.add(cost.hint);
  }
  const lines = [...said].map(([text, names]) => `Cost of ${names.join(", ")} ${text}.`);
  const [hint] = hints;
  return hint ? [...lines, `To know it, ${hint}.`] : lines;
}

function finish(given, found) {
  const ranked = given.order.e2e_ms;
  const rest = lanes.map((lane) => lane.number).filter((number) => !ranked.includes(number));
  const rows = [...ranked, ...rest].map((number) => row(lanes[number], found[number], given.leads));
  document.getElementById("rows").replaceChildren(...rows);
  document.getElementById("notes").replaceChildren(...[...given.notes, ...costNotes(found)].map((note) => make("li", "", note)));
  results.hidden = false;
  const words = ranked.map((number) => LETTERS[number]).join(", ");
  say(ranked.length > 1 ? `Done, in this order: ${words}. One race is one sample.` : ranked.length ? `Only ${words} came to its end.` : "No side came to its end.");
}

function running(on) {
  form.querySelector("#start").disabled = on;
  form.querySelector("#stop").disabled = !on;
}

async function failure(answer) {
  if (answer.status === 401) return "This needs the token that `paceline dashboard` printed at its start: open the address with #token= that stands there.";
  const type = answer.headers.get("content-type") ?? "";
  if (!type.startsWith("application/json")) return (await answer.text()).trim() || `The dashboard refused (${answer.status}).`;
  const found = await answer.json();
  return [found.error, found.hint].filter(Boolean).join(". To do: ");
}

async function watch(answer) {
  let axis = null;
  const found = {};
  for await (const [name, data] of events(answer)) {
    if (name === "start") axis = begin(data);
    else if (name === "error") return say(data.message, true);
    else if (name === "end") return finish(data, found);
    else if (name === "tick") {
      for (const given of data.lanes) {
        lanes[given.lane].take(given);
        if (given.result) found[given.lane] = given.result;
      }
      drawTrack(axis);
    }
  }
  return say("The dashboard has ended.", true);
}

async function race() {
  if (leaving || !form.reportValidity()) return;
  const fields = new FormData(form);
  const order = {
    lanes: fields.getAll("lane").filter(Boolean),
    prompt: fields.get("prompt"),
    max_tokens: Number(fields.get("max_tokens")),
    max_seconds: Number(fields.get("max_seconds")),
  };
  leaving = new AbortController();
  running(true);
  results.hidden = true;
  track.hidden = true;
  grid.dataset.n = "0";
  say("Starting");
  try {
    const answer = await post("/race/start", order, { signal: leaving.signal });
    if (answer.ok) await watch(answer);
    else say(await failure(answer), true);
  } catch (error) {
    if (error.name === "AbortError") {
      say("Stopped. The sides were hung up on.");
      for (const lane of lanes) lane.stop();
    } else say("The dashboard does not answer: does it still run?", true);
  } finally {
    leaving = null;
    running(false);
  }
}

function stop() {
  leaving?.abort();
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    race();
  });
  form.querySelector("#stop").addEventListener("click", stop);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) race();
    else if (event.key === "Escape" && leaving && !document.querySelector("dialog[open]")) stop();
  });
  window.addEventListener("pagehide", stop);
}
