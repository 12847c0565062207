/* One audio clock for what is heard and what is said: a single AudioContext plays the caller and takes the microphone, so the wait
   between both is counted in frames and needs no other clock. Every position is a frame of this context at 48 kHz. */
import { noMicrophone, noRecording } from "/asset/microphone.js";
import { t } from "/asset/asking.js";
import { partsOf, post, Refused } from "/asset/upload.js";

export { Refused };
export const RATE_HZ = 48000;
const QUANTUM = 128;
const AHEAD_S = 0.15; /* From the request to the first sample: a page that is busy for less starts its sound on the frame that was promised. */
const PART = 31744; /* Samples: 31 of the worklet's blocks, the most that a browser still sends while its page closes (64 KiB). */
const CLIPPED = 0.999;
const SLEPT_MS = 1000; /* Audio behind wall clock by so much, for a whole part: the computer slept. */
const PATIENCE_MS = 3000;
const SETTLED = RATE_HZ / 2; /* Frames without a hole before anything is recorded: a microphone that was just opened has some. */
/* Sound that the microphone gives while the context pauses waits for it: so much may come late afterwards without a hole. Without this
   Chromium had one within ten seconds of each opening, and another latency after it. */
const RESERVE_MS = 60;
const HOLE = 120; /* Zeros in a row inside sound, as in track.py: no microphone gives that. */
const GATE = RATE_HZ / 2; /* Longer silence is a microphone that is off or gated, and no hole. */
const SILENT = 2 * RATE_HZ; /* Zeros for so long are said: some systems put silence in the place of a microphone that was unplugged. */
const PROCESSING = ["echoCancellation", "noiseSuppression", "autoGainControl", "voiceIsolation"]; /* In the order of their words, `seat.processing`. */
const wanted = { channelCount: 1, ...Object.fromEntries(PROCESSING.map((name) => [name, false])) };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const within = (promise, ms) => Promise.race([promise, pause(ms)]);
const int16 = (parts, size) => {
  const out = new Int16Array(size);
  let at = 0;
  for (const part of parts) for (const value of part) { out[at] = Math.max(-32768, Math.min(32767, Math.round(value * 32768))); at += 1; }
  return out;
};
/* Looks for exact zeros: says of each block whether a hole ended in it, and whether the microphone has been silent since long. */
const zerosIn = () => {
  let zeros = GATE;
  let silent = false;
  return (samples) => {
    let hole = false;
    for (const value of samples) {
      if (value === 0) { zeros += 1; continue; }
      hole ||= zeros >= HOLE && zeros < GATE;
      zeros = 0;
      silent = false;
    }
    const fell = !silent && zeros >= SILENT;
    silent ||= fell;
    return { hole, fell };
  };
};
/* Blocks put together to parts. `give(first, samples)` gets each; a part ends where frames are missing, which shows the server the gap. */
const gathering = (give) => {
  let first = null;
  let size = 0;
  let blocks = [];
  const close = (to = give) => { if (size) to(first, int16(blocks, size)); size = 0; blocks = []; };
  return { close, add: (at, samples) => {
    if (size && (at !== first + size || size + samples.length > PART)) close();
    if (!size) first = at;
    blocks.push(samples);
    size += samples.length;
  } };
};
const opened = async (button) => {
  const cannot = noRecording(window.AudioContext && window.AudioWorkletNode);
  if (cannot) throw new Refused(cannot);
  let stream = null;
  let context = null;
  try {
    try { stream = await navigator.mediaDevices.getUserMedia({ audio: wanted }); } catch (error) { throw new Refused(noMicrophone(error, button)); }
    try { context = new AudioContext({ sampleRate: RATE_HZ, latencyHint: "playback" }); } catch { /* said below */ } /* Long buffers run dry less often, and how late they are is measured. */
    if (context?.sampleRate !== RATE_HZ) throw new Refused(t("seat.rate_browser"));
    await within(context.resume(), PATIENCE_MS);
    if (context.state !== "running") throw new Refused(t("seat.no_start", { button }));
    await context.audioWorklet.addModule("/asset/worklet.js");
    const node = new AudioWorkletNode(context, "microphone", { numberOfInputs: 1, numberOfOutputs: 1, outputChannelCount: [1], channelCount: 1, channelCountMode: "explicit" });
    let source = null;
    try { source = context.createMediaStreamSource(stream); } catch { throw new Refused(t("seat.rate_microphone")); }
    source.connect(node);
    node.connect(context.destination); /* It is silent; without this some browsers never ask it for sound. */
    return { stream, context, node, source };
  } catch (error) {
    stream?.getTracks().forEach((track) => track.stop());
    context?.close();
    throw error;
  }
};
/* `onChange(what, detail)` is called with: slept, awake, hidden, shown, unplugged, muted, unmuted, silent (two seconds of exact zeros), devices, broken, clipped, lost, connection (detail: whether it is there), refused (detail: why the server takes no more of the recording).
   `button`: the name of the one that opens. Throws Refused with a reason for the person. Call it from a click: browsers start no sound without one. */
export const openEngine = async ({ onChange = () => {}, button = "Start" } = {}) => {
  const { stream, context, node, source } = await opened(button);
  const [track] = stream.getAudioTracks();
  const settings = track.getSettings();
  let take = null; /* The one that is recorded now. */
  /* Since the last take ended: what goes wrong between two takes moves the latency of the next one as well. */
  let clock = [];
  let happenings = [];
  let reached = 0; /* One past the last frame that came. */
  let meter = { peak: 0, clipped: false };
  let settled = false;
  let soonest = null; /* Of the blocks since `since`, the one that came soonest after it was heard. */
  let since = 0;
  let least = Infinity; /* The least lateness yet, by a clock that counts sleep too. */
  let connected = true;
  let whole = 0; /* The frame of the last hole. */
  const zeros = zerosIn();
  let closed = false;
  const frame = () => Math.round(context.currentTime * RATE_HZ);
  const happened = (what, detail) => {
    if (closed || !settled) return;
    happenings.push({ what, at: frame() });
    onChange(what, detail);
  };
  const timed = () => {
    if (!soonest) return;
    clock.push([soonest.at, soonest.ms]);
    if (soonest.wall - least > SLEPT_MS) { happened("slept"); least = soonest.wall; }
    least = Math.min(least, soonest.wall);
    soonest = null;
    since = reached;
  };
  node.port.onmessage = ({ data: { first, count, samples } }) => {
    const ms = performance.now();
    const heard = ((first + count) * 1000) / RATE_HZ;
    const { hole, fell } = samples ? zeros(samples) : { hole: true, fell: false };
    const lost = reached && (first !== reached || hole);
    if (fell) happened("silent");
    reached = first + count;
    if (lost) { whole = reached; happened("lost"); }
    if (!soonest || ms - heard < soonest.late) soonest = { at: reached, ms, late: ms - heard, wall: Date.now() - heard };
    if (samples) {
      const peak = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      meter = { peak: Math.max(meter.peak, peak), clipped: meter.clipped || peak >= CLIPPED };
      if (take && peak >= CLIPPED && !take.clipped) { take.clipped = true; happened("clipped"); }
      /* What was heard before the take began is not its own. */
      if (take && first >= take.from) take.parts.add(first, samples);
    }
    if (reached - since >= PART) timed();
  };
  node.onprocessorerror = () => happened("broken");
  track.onended = () => happened("unplugged");
  track.onmute = () => happened("muted");
  track.onunmute = () => happened("unmuted");
  context.onstatechange = () => happened(context.state === "running" ? "awake" : "slept");
  navigator.mediaDevices.ondevicechange = () => happened("devices"); /* Other headphones have another latency. */
  const seen = () => {
    happened(document.visibilityState === "hidden" ? "hidden" : "shown");
    if (document.visibilityState !== "hidden" && context.state !== "running") context.resume();
  };
  const left = () => { if (take) { take.parts.close(take.upload.last); take = null; } };
  document.addEventListener("visibilitychange", seen);
  addEventListener("pagehide", left);
  const connection = (there) => { if (connected !== there) { connected = there; happened("connection", there); } };
  await context.suspend();
  await pause(RESERVE_MS);
  await context.resume();
  whole = reached;
  for (const until = Date.now() + PATIENCE_MS; reached - whole < SETTLED && Date.now() < until;) await pause(10);
  clock = [];
  least = Infinity;
  settled = true;
  return {
    settings,
    /* What the browser or the system does to the microphone's sound although it was asked not to, in words for the person. */
    processing: PROCESSING.flatMap((name, k) => (settings[name] === true || typeof settings[name] === "string" ? [t("seat.processing")[k]] : [])),
    frame,
    /* The loudest sample since the last call, and whether any was clipped. */
    level: () => { const now = meter; meter = { peak: 0, clipped: false }; return now; },
    sound: async (path) => {
      const reply = await fetch(path);
      if (!reply.ok) throw new Refused(t("seat.sound_not_fetched"));
      return context.decodeAudioData(await reply.arrayBuffer());
    },
    /* Plays a buffer from `sound`; `at` is the frame of its first sample. `ended` is when it was played. */
    play: (buffer, name) => {
      for (;;) {
        const source = new AudioBufferSourceNode(context, { buffer });
        source.connect(context.destination);
        const at = QUANTUM * Math.ceil((context.currentTime + AHEAD_S) * RATE_HZ / QUANTUM);
        source.start(at / RATE_HZ);
        if (frame() + QUANTUM < at) {
          const played = { name, at, frames: Math.round(buffer.duration * RATE_HZ) };
          take?.played.push(played);
          return { ...played, stop: () => source.stop(), ended: new Promise((done) => { source.onended = done; }) };
        }
        source.stop(); /* The page was busy for too long: the sound may have begun late. */
      }
    },
    /* Records a take until its `end`. Sound from before this call is in none. */
    record: async (of) => {
      if (take) throw new Error("one take at a time");
      const { take: id } = await post("/take", { ...of, rate_hz: RATE_HZ, settings }, connection);
      const upload = partsOf(id, connection, (why) => onChange("refused", why));
      const mine = { from: frame(), parts: gathering(upload.add), upload, played: [], clipped: false };
      take = mine;
      return {
        id,
        played: mine.played,
        end: async ({ reason, pressed = null }) => {
          const until = Date.now() + PATIENCE_MS;
          const last = frame();
          /* A context that sleeps gives no more: what came until then is sent. */
          while (take === mine && reached < last && context.state === "running" && Date.now() < until) { node.port.postMessage("post"); await pause(10); }
          if (take === mine) take = null;
          mine.parts.close();
          const ended = { played: mine.played, pressed, clock, happened: happenings, reason };
          clock = [];
          happenings = [];
          await upload.done();
          return post(`/take/${id}/end`, { ...ended, parts: upload.count() }, connection);
        },
      };
    },
    close: async () => {
      closed = true;
      left();
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("pagehide", left);
      navigator.mediaDevices.ondevicechange = null;
      track.stop();
      source.disconnect(); /* Held until here: some browsers let a source go that nobody holds. */
      await context.close();
    },
  };
};
