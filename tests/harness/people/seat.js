/* The least page that uses the engine: the tests call it from outside. */
import { openEngine, Refused } from "/asset/engine.js";

window.changes = [];
window.open_ = async () => {
  try { window.engine = await openEngine({ onChange: (what, detail) => window.changes.push([what, detail ?? null]) }); return null; } catch (error) { return error instanceof Refused ? error.message : `not said: ${error}`; }
};
/* One take: the sound is played and, `after_s` after its end, the take too. */
window.take = async (kind, sound, after_s) => {
  const buffer = await window.engine.sound(sound);
  const take = await window.engine.record({ kind, of: null });
  await window.engine.play(buffer, sound).ended;
  await new Promise((done) => setTimeout(done, after_s * 1000));
  await take.end({ reason: "pressed" });
  return take.id;
};
