/* The microphone's sound on the audio clock. Every block carries its own frame, so that a lost one shows, and a block that has no
   input is posted too, without samples: silence in the place of sound must not look like sound. */
const BLOCK = 1024; /* About 47 messages a second: a page can take that many, and not the 375 of a browser's own blocks. */
registerProcessor("microphone", class extends AudioWorkletProcessor {
  constructor() {
    super();
    this.empty(0);
    this.port.onmessage = () => this.post();
  }

  empty(first) { this.first = first; this.count = 0; this.absent = false; this.samples = new Float32Array(BLOCK); }

  post() {
    if (!this.count) return;
    const samples = this.absent ? null : this.samples.slice(0, this.count);
    this.port.postMessage({ first: this.first, count: this.count, samples }, samples ? [samples.buffer] : []);
    this.empty(this.first + this.count);
  }

  process([heard], [[played]]) {
    const size = played.length;
    const absent = !heard?.length;
    if (currentFrame !== this.first + this.count || absent !== this.absent || this.count + size > BLOCK) {
      this.post();
      this.empty(currentFrame);
      this.absent = absent;
    }
    if (!absent) this.samples.set(heard[0], this.count);
    this.count += size;
    if (this.count === BLOCK) { this.post(); }
    return true;
  }
});
