// The token that `paceline dashboard` has printed: whatever changes something, or costs money, is sent with it.
const NAME = "paceline-token";
export const HEADER = "x-paceline-token";

/** The token, or "" where nobody has given it to this browser. */
export function token() {
  try {
    return localStorage.getItem(NAME) || "";
  } catch {
    return "";
  }
}

/** Keep a token for this address. */
export function keepToken(text) {
  try {
    localStorage.setItem(NAME, text);
  } catch {
    // Storage is off: it has to be given again.
  }
}

/** Forget it: it was of another start of the dashboard. */
export function forgetToken() {
  try {
    localStorage.removeItem(NAME);
  } catch {
    // Nothing was kept.
  }
}

/** The token of the address `#token=...`, which is kept and taken out of the address; null where there is none. */
export function takeToken() {
  const found = /^#token=([\x21-\x7e]+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname + location.search);
  let text;
  try {
    text = decodeURIComponent(found[1]);
  } catch {
    // No address of ours: what was kept stays.
    return null;
  }
  keepToken(text);
  return text;
}

/** POST JSON with the token; the answer as fetch gives it. 401: the token is missing or of another start. */
export function post(path, body, options = {}) {
  return fetch(path, {
    ...options,
    method: "POST",
    headers: { "content-type": "application/json", [HEADER]: token() },
    body: JSON.stringify(body),
  });
}

/** Show the token; true where it is the one. Where reading needs it, pages can be read from then on. */
export async function enter() {
  const answer = await post("/enter", {});
  if (answer.status === 401) forgetToken();
  return answer.ok;
}
