// A text that comes token by token, as a function of time alone: nothing here waits or knows a clock.

/** What has come of one text, and what a reader has read of it, at any moment. Times are ms from the sending. */
export class Stream {
  /** `pieces`: `[ms, tokens, text]` of each event, in order. `pace_tok_s`: of the reader. */
  constructor(pieces, pace_tok_s) {
    this.at = Float64Array.from(pieces, (one) => one[0]);
    this.text = pieces.map((one) => one[2]).join("");
    this.pace = pace_tok_s;
    this.tokensTo = new Float64Array(pieces.length + 1);
    this.charsTo = new Uint32Array(pieces.length + 1);
    // How far a steady reader would be at time 0, had it only ever waited as long as for the events so far.
    this.least = new Float64Array(pieces.length + 1).fill(Infinity);
    pieces.forEach(([ms, tokens, text], i) => {
      this.tokensTo[i + 1] = this.tokensTo[i] + tokens;
      this.charsTo[i + 1] = this.charsTo[i] + text.length;
      this.least[i + 1] = Math.min(this.least[i], this.tokensTo[i] - (pace_tok_s * ms) / 1000);
    });
  }

  /** Evenly spaced tokens: token j, from 0, at `ttft_ms + j / rate`. */
  static even(tokens, tok_s, ttft_ms, pace_tok_s) {
    return new Stream(
      tokens.map((text, j) => [ttft_ms + (1000 * j) / tok_s, 1, text]),
      pace_tok_s,
    );
  }

  /** When the last piece comes, ms. */
  get endMs() {
    return this.at.length ? this.at[this.at.length - 1] : 0;
  }

  /** Pieces that have come by then. */
  pieces(ms) {
    let [low, high] = [0, this.at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[middle] <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** `{tokens, chars, readTokens, readChars, ended}` at a moment. */
  state(ms) {
    const n = this.pieces(ms);
    const tokens = this.tokensTo[n];
    const readTokens = n ? Math.max(Math.min(tokens, this.least[n] + (this.pace * ms) / 1000), 0) : 0;
    return { tokens, chars: this.charsTo[n], readTokens, readChars: this.charOf(readTokens), ended: n === this.at.length };
  }

  /** The character at which so many tokens end, at the end of a word. */
  charOf(tokens) {
    let [low, high] = [0, this.at.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tokensTo[middle + 1] <= tokens) low = middle + 1;
      else high = middle;
    }
    const whole = this.charsTo[low];
    if (low === this.at.length) return whole;
    const size = this.tokensTo[low + 1] - this.tokensTo[low];
    const at = whole + Math.floor(((tokens - this.tokensTo[low]) / size) * (this.charsTo[low + 1] - whole));
    // Between two words, or not in this piece at all.
    return this.text[at] === " " ? at : Math.max(this.text.lastIndexOf(" ", at), 0);
  }
}

/** When each of several begins, ms: together, or each when the one before has ended and a breath was taken. */
export function begins(streams, together, breath_ms = 700) {
  let next = 0;
  return streams.map((one) => {
    const mine = next;
    if (!together) next += one.endMs + breath_ms;
    return mine;
  });
}
