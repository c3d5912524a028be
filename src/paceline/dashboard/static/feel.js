// The page "feel it": draws what `player.js` says that has come, at each frame by the time that has passed.
import { duration, follow, make, meter, shown } from "./parts.js";
import { Stream, begins } from "./player.js";

const given = JSON.parse(document.getElementById("given").textContent);
const form = document.getElementById("feel");
const grid = document.getElementById("lanes");
const said = document.getElementById("said");
let turn = 0;

class Lane {
  constructor(name, where, stream, colour, withReader) {
    this.stream = stream;
    this.withReader = withReader;
    this.elapsed = meter("time");
    this.tokens = meter("tokens");
    this.unread = meter("unread");
    this.read = document.createTextNode("");
    this.rest = document.createTextNode("");
    this.mark = make("span", "read", this.read);
    this.words = make("div", "words", this.mark, this.rest);
    this.words.tabIndex = 0;
    this.words.setAttribute("role", "region");
    this.words.setAttribute("aria-label", `Text at ${name}`);
    const meters = make("dl", "meters", this.elapsed.box, this.tokens.box, this.unread.box);
    this.box = make("article", `lane lane-${colour}`, make("header", "", make("h2", "", name)), make("p", "where", where), meters, this.words);
    this.box.setAttribute("aria-label", name);
    this.chars = -1;
    this.readChars = -1;
  }

  draw(ms) {
    const started = ms >= 0;
    const now = this.stream.state(started ? ms : -1);
    this.box.classList.toggle("now", started && !now.ended);
    this.words.classList.toggle("writing", started && !now.ended && now.chars > 0);
    if (started) this.elapsed.set(...duration(Math.min(ms, this.stream.endMs)), !now.chars);
    this.tokens.set(shown(now.tokens), "", !now.tokens);
    const words = Math.floor((now.tokens - now.readTokens) * given.words_per_token);
    if (now.tokens) this.unread.set(shown(words), words === 1 ? "word" : "words");
    if (now.chars === this.chars && now.readChars === this.readChars) return !now.ended;
    [this.chars, this.readChars] = [now.chars, now.readChars];
    const change = () => {
      this.read.data = this.stream.text.slice(0, now.readChars);
      this.rest.data = this.stream.text.slice(now.readChars, now.chars);
    };
    if (this.withReader) {
      change();
      const below = this.mark.offsetHeight - this.words.scrollTop - this.words.clientHeight / 2;
      if (below > 0) this.words.scrollTop += below;
    } else follow(this.words, change);
    return !now.ended;
  }
}

/** A stored answer; its text is the corpus's where the run has not kept its own. */
async function stored(offer, texts) {
  const where = `TTFT ${shown(offer.ttft_ms)} ms, ${shown(offer.output_tok_s)} tok/s in the median; ${offer.workload}, ${offer.load}`;
  if (offer.run_id === null) {
    const stream = Stream.even(texts, offer.output_tok_s, offer.ttft_ms, given.reading_tok_s);
    return [offer.label, `${where}; at an even pace`, stream];
  }
  const answer = await fetch(`/feel/replay/${encodeURIComponent(offer.run_id)}`);
  if (!answer.ok) throw new Error(`${offer.label}: its stored answer cannot be had.`);
  const found = await answer.json();
  let next = 0;
  const pieces = found.events.map(([ms, tokens, text]) => {
    const own = given.tokens.slice(next, next + tokens).join("");
    next += tokens;
    return [ms, tokens, text ?? own];
  });
  return [offer.label, `${where}; one answer of run ${found.run}`, new Stream(pieces, given.reading_tok_s)];
}

async function chosen() {
  const fields = new FormData(form);
  const texts = given.tokens.slice(0, Number(fields.get("length")));
  const ttft_ms = Number(fields.get("ttft_ms"));
  const even = fields.getAll("speed").map((text) => {
    const speed = Number(text);
    return [`${shown(speed)} tok/s`, `TTFT ${shown(ttft_ms)} ms`, Stream.even(texts, speed, ttft_ms, given.reading_tok_s)];
  });
  const own = await Promise.all(fields.getAll("offer").map((place) => stored(given.offers[Number(place)], texts)));
  return { lanes: [...even, ...own], together: fields.get("order") === "together", withReader: fields.get("view") === "reader" };
}

function running(on) {
  form.querySelector("#stop").disabled = !on;
}

async function play() {
  const mine = ++turn;
  said.classList.remove("wrong");
  let found;
  try {
    found = await chosen();
  } catch (error) {
    said.textContent = error.message;
    said.classList.add("wrong");
    return;
  }
  if (!found.lanes.length) {
    said.textContent = "Choose a speed first.";
    return;
  }
  const lanes = found.lanes.map(([name, where, stream], i) => new Lane(name, where, stream, i % 5, found.withReader));
  const from = begins(lanes.map((lane) => lane.stream), found.together);
  grid.replaceChildren(...lanes.map((lane) => lane.box));
  grid.dataset.n = String(lanes.length);
  grid.classList.toggle("one", !found.together);
  said.textContent = "Playing";
  said.scrollIntoView({ block: "nearest" });
  running(true);
  const start = performance.now();
  const frame = () => {
    if (mine !== turn) return;
    const ms = performance.now() - start;
    const going = lanes.map((lane, i) => lane.draw(ms - from[i]));
    if (going.some(Boolean)) requestAnimationFrame(frame);
    else {
      said.textContent = "Done";
      running(false);
    }
  };
  requestAnimationFrame(frame);
}

function stop() {
  turn += 1;
  said.textContent = "Stopped";
  running(false);
  for (const box of grid.querySelectorAll(".writing")) box.classList.remove("writing");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  play();
});
form.querySelector("#stop").addEventListener("click", stop);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) play();
  else if (event.key === "Escape" && !form.querySelector("#stop").disabled && !document.querySelector("dialog[open]")) stop();
});
