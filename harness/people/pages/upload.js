/* What was recorded reaches the server whatever happens on the way: a lost server is asked again with growing patience until it
   answers, each part has its number so that one sent twice is stored once, and parts go in their order. A server whose disk is full
   is not lost, and is not asked again: it says what to do. */
import { t } from "/asset/asking.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;
const DISK_FULL = 507;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
export class Refused extends Error {}
/* The answer to a request. Throws Refused, with the server's own words, when it does not want it. */
export const post = async (path, body, onConnection = () => {}) => {
  const raw = body instanceof ArrayBuffer;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const reply = await fetch(path, { method: "POST", headers: { "content-type": raw ? "application/octet-stream" : "application/json" }, body: raw ? body : JSON.stringify(body) });
      if (reply.status >= 500 && reply.status !== DISK_FULL) throw new Error(String(reply.status));
      const data = await reply.json().catch(() => ({}));
      onConnection(true);
      if (reply.ok) return data;
      throw new Refused(data.error ?? t("seat.not_taken"));
    } catch (error) {
      if (error instanceof Refused) throw error;
      onConnection(false);
      await wait(Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS));
    }
  }
};
/* The parts of one take, sent one after the other; `onRefused` is called with the reason if one is not taken. */
export const partsOf = (id, onConnection, onRefused = () => {}) => {
  const path = (number, first) => `/take/${id}/part/${number}?first=${first}`;
  let count = 0;
  let sent = Promise.resolve();
  let refused = null;
  return {
    add: (first, samples) => {
      const number = count;
      count += 1;
      sent = sent.then(() => (refused ? null : post(path(number, first), samples.buffer, onConnection))).catch((error) => { refused = error; onRefused(error.message); });
    },
    /* While the page closes nothing can be waited for; a browser still sends this much (64 KiB). */
    last: (first, samples) => { fetch(path(count, first), { method: "POST", headers: { "content-type": "application/octet-stream" }, body: samples.buffer, keepalive: true }).catch(() => {}); count += 1; },
    count: () => count,
    done: async () => { await sent; if (refused) throw refused; },
  };
};
