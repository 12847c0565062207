/* What was recorded reaches the server whatever happens on the way: a lost server is asked again with growing patience until it
   answers, each part has its number so that one sent twice is stored once, and parts go in their order. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
export class Refused extends Error {}
/* The answer to a request. Throws Refused, with the server's own words, when it does not want it. */
export const post = async (path, body, onConnection = () => {}) => {
  const raw = body instanceof ArrayBuffer;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const reply = await fetch(path, { method: "POST", headers: { "content-type": raw ? "application/octet-stream" : "application/json" }, body: raw ? body : JSON.stringify(body) });
      if (reply.status >= 500) throw new Error(String(reply.status));
      const data = await reply.json().catch(() => ({}));
      onConnection(true);
      if (reply.ok) return data;
      throw new Refused(data.error ?? "The server did not take the recording. Please reload the page.");
    } catch (error) {
      if (error instanceof Refused) throw error;
      onConnection(false);
      await wait(Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
    }
  }
};
/* The parts of one take, sent one after the other. */
export const partsOf = (id, onConnection) => {
  const path = (number, first) => `/take/${id}/part/${number}?first=${first}`;
  let count = 0;
  let sent = Promise.resolve();
  let refused = null;
  return {
    add: (first, samples) => {
      const number = count;
      count += 1;
      sent = sent.then(() => (refused ? null : post(path(number, first), samples.buffer, onConnection))).catch((error) => { refused = error; });
    },
    /* While the page closes nothing can be waited for; a browser still sends this much (64 KiB). */
    last: (first, samples) => { fetch(path(count, first), { method: "POST", headers: { "content-type": "application/octet-stream" }, body: samples.buffer, keepalive: true }).catch(() => {}); count += 1; },
    count: () => count,
    done: async () => { await sent; if (refused) throw refused; },
  };
};
