// What the server writes about once a second takes the place of what was there before.
const part = document.getElementById("live");
const said = document.getElementById("live-state");
const AGAIN_MS = 5000;
let later;

function say(text, stale) {
  said.textContent = text;
  part.classList.toggle("stale", stale);
}

// Where there is no stream, the page is read anew now and then.
async function readAnew() {
  clearTimeout(later);
  try {
    const answer = await fetch("/live", { cache: "no-store" });
    if (!answer.ok) throw new Error();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    part.replaceChildren(...page.getElementById("live").childNodes);
    say("Read anew every few seconds.", false);
  } catch {
    say("The dashboard does not answer: these figures are old.", true);
  }
  later = setTimeout(readAnew, AGAIN_MS);
}

function listen() {
  const stream = new EventSource("/live/events");
  stream.addEventListener("live", (event) => {
    clearTimeout(later);
    // Who reads, or has something selected, is not disturbed.
    if (!getSelection().isCollapsed) return;
    // It was escaped where it was made, as the whole page is.
    part.innerHTML = JSON.parse(event.data).html;
    say("", false);
  });
  stream.addEventListener("error", () => {
    say("The stream was cut off; it is tried again.", true);
    if (stream.readyState === EventSource.CLOSED) readAnew();
  });
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) listen();
  }, { once: true });
}

listen();
