// Server-sent events of an answer to a POST, which EventSource cannot make.

/** `[name, data]` of each event in an answer of fetch, in order. */
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += value;
      for (let end = waiting.indexOf("\n\n"); end >= 0; end = waiting.indexOf("\n\n")) {
        const lines = waiting.slice(0, end).split("\n");
        waiting = waiting.slice(end + 2);
        const field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length);
        yield [field("event: "), JSON.parse(field("data: "))];
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
