
/* One person's votes: agree, one pair after the other, a file to send. Nothing here knows whose a reply is. What a person meets
   (where they begin, which reply is first, where the checks are) follows from who they are, so that a page that was closed goes on
   as it was with the votes alone. */
const data = JSON.parse(document.getElementById("asked").textContent);
const byId = (id) => document.getElementById(id);
const stage = byId("stage");
const heard = data.presentation === "audio";
const LETTERS = ["A", "B"];
const tell = (text) => { byId("problem").textContent = text ?? ""; byId("problem").hidden = !text; };
const now = () => `${new Date().toISOString().slice(0, 19)}+00:00`;
const t = wordsIn(data.words);

/* A number from 0 to 1, as good as drawn, and always the same for the same words. */
const drawn = (...words) => {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const letter of [data.file, ...words].join("\n")) {
    a = Math.imul(a ^ letter.codePointAt(0), 2654435761);
    b = Math.imul(b ^ letter.codePointAt(0), 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)) / 2 ** 53;
};

/* The browser's store, where it has one. */
const shelf = {
  works: true,
  get: (key) => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } },
  put: (key, value) => { try { localStorage.setItem(key, JSON.stringify(value)); } catch { shelf.works = false; } },
};
const clean = (text) => text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 64);
const named = (() => {
  const given = new URLSearchParams(location.search);
  return ["PROLIFIC_PID", "workerId", "participantId", "rater"].map((name) => clean(given.get(name) ?? "")).find(Boolean) ?? "";
})();
const newName = () => `p-${[...crypto.getRandomValues(new Uint8Array(6))].map((n) => n.toString(16).padStart(2, "0")).join("")}`;
const LAST = `heart-votes:${data.file}`;
const keyOf = (participant) => `${LAST}:${participant}`;
let state = null;
const open = (participant) => {
  const known = shelf.get(keyOf(participant));
  state = Array.isArray(known?.votes) ? known : { participant, about: {}, started: "", ended: "", more: false, sent: 0, votes: [] };
};
const save = () => { shelf.put(LAST, state.participant); shelf.put(keyOf(state.participant), state); };

/* What is due. */
const answers = () => state.votes.filter((vote) => vote.check === null);
const given = () => answers().filter((vote) => vote.vote !== "skip").length;
const order = () => {
  const start = Math.floor(drawn(state.participant, "start") * data.pairs.length);
  return [...data.pairs.slice(start), ...data.pairs.slice(0, start)];
};
const nextPair = () => {
  const done = new Set(answers().map((vote) => vote.pair));
  return order().find(([id]) => !done.has(id));
};
/* One check in each block of votes, somewhere after its beginning: a pair as any other, with the wish for one of the options among
   its sentences. Whoever has met a pair may not read it again, so it is the last that this person would come to. */
const dueCheck = () => {
  const before = answers();
  const block = Math.floor(before.length / data.check_every);
  const size = Math.min(data.check_every, data.pairs.length - block * data.check_every);
  const made = state.votes.length - before.length;
  const at = 2 + Math.floor(drawn(state.participant, "check", block) * (size - 2));
  if (size < data.fewest_for_check || made > block || before.length % data.check_every < at) return null;
  const [option, choice] = data.options.filter(([name]) => name !== "same")[Math.floor(drawn(state.participant, "option", block) * 4)];
  return { pair: order().at(-1 - made), option, wish: t("vote.check", { choice }), in_first: drawn(state.participant, "in first", block) < 0.5 };
};
/* A text with a sentence more after its first one. */
const withSentence = (text, more) => {
  const first = /^[\s\S]*?[.!?…]+(?=\s)/.exec(text)?.[0] ?? text;
  return `${first} ${more}${text.slice(first.length)}`;
};
const enough = () => given() >= data.asked || !nextPair();

/* One reply to hear: heard when it has played to its end. */
let sounding = null;
const sourceOf = (k) => {
  if (data.sounds.length) return data.sounds[k];
  const bytes = Uint8Array.from(atob(byId(`sound-${k}`).textContent), (letter) => letter.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type: "audio/mpeg" }));
};
const player = (label, k, onHeard) => {
  const bar = el("progress", { max: 1, value: 0, "aria-label": t("shared.played", { name: t("shared.reply", { letter: label }) }) });
  const note = el("span", { class: "state" }, t("shared.not_heard_yet"));
  const button = el("button", { type: "button", "aria-label": t("shared.play_it", { name: t("shared.reply", { letter: label }) }) }, t("shared.play"));
  const audio = new Audio();
  let over = false;
  const rest = () => { note.textContent = over ? t("shared.heard") : t("shared.not_heard_yet"); button.textContent = over ? t("shared.again") : t("shared.play"); };
  audio.addEventListener("timeupdate", () => { if (audio.duration && !audio.paused) bar.value = audio.currentTime / audio.duration; });
  audio.addEventListener("ended", () => { bar.value = 1; if (!over) { over = true; onHeard(); } rest(); });
  audio.addEventListener("play", () => { if (sounding && sounding !== audio) sounding.pause(); sounding = audio; note.textContent = t("shared.sounding"); button.textContent = t("vote.pause"); });
  audio.addEventListener("pause", rest);
  audio.addEventListener("error", () => tell(t("vote.no_sound")));
  button.addEventListener("click", () => {
    if (!audio.paused) { audio.pause(); return; }
    if (!audio.src) audio.src = sourceOf(k);
    audio.play().catch(() => tell(t("vote.sound_refused")));
  });
  return el("div", { class: "hear" }, button, bar, note);
};

/* Time counts only while the page is in sight. */
const clock = () => {
  let passed_ms = 0;
  let since_ms = performance.now();
  const watch = () => { if (document.hidden) { passed_ms += performance.now() - since_ms; since_ms = null; } else since_ms = performance.now(); };
  document.addEventListener("visibilitychange", watch);
  return { stop: () => { document.removeEventListener("visibilitychange", watch); return (passed_ms + (since_ms === null ? 0 : performance.now() - since_ms)) / 1000; } };
};
let timer = null;
const leave = () => { timer?.stop(); timer = null; sounding?.pause(); };

const show = (...content) => {
  stage.replaceChildren(...content);
  byId("welcome").hidden = true;
  /* A box that scrolls can be reached by keyboard. */
  for (const box of stage.querySelectorAll(".box")) { box.scrollTop = box.matches(".said-before") ? box.scrollHeight : 0; if (box.scrollHeight > box.clientHeight) box.tabIndex = 0; }
  scrollTo(0, 0);
  stage.querySelector("h1")?.focus({ preventScroll: true });
};
const ask = () => {
  leave();
  if (enough() && !(state.more && nextPair())) { finish(t("shared.thanks")); return; }
  const check = dueCheck();
  const [id, talk, ...sides] = check?.pair ?? nextPair();
  const flipped = drawn(state.participant, id, check ? "check" : "side") < 0.5;
  const replies = (flipped ? [...sides].reverse() : sides).map((k) => ({ k, ...data.replies[k] }));
  const said = data.talks[talk].map((turn) => [...turn]);
  /* Sounds cannot be changed here, and what was said is read there. */
  if (check && heard) said.at(-1)[1] = withSentence(said.at(-1)[1], check.wish);
  else if (check) { const one = replies[check.in_first ? 0 : 1]; one.text = withSentence(one.text, check.wish); }
  const hearing_s = heard ? replies.reduce((all, reply) => all + reply.seconds, 0) : 0;
  const watch = clock();
  timer = watch;
  let toHear = heard ? 2 : 0;
  const reason = el("textarea", { maxlength: 2000, "aria-label": t("vote.why"), placeholder: t("vote.why_hint"), hidden: true });
  const vote = (chosen) => {
    const seconds = Math.max(0.1, Math.round(10 * (watch.stop() - (chosen === "skip" ? 0 : hearing_s))) / 10);
    state.votes.push({ pair: id, shown_first: flipped ? "b" : "a", vote: chosen, seconds, reason: reason.value.trim(), check: check?.option ?? null, presentation: data.presentation });
    save();
    tell(shelf.works ? "" : t("vote.keeps_nothing"));
    ask();
  };
  const choices = data.options.map(([name, words], n) => el("button", { type: "button", disabled: toHear > 0, onclick: () => vote(name) }, el("kbd", { "aria-hidden": "true" }, n + 1), words));
  const hint = el("p", { class: "quiet" }, toHear ? t("vote.hear_both") : `${t("shared.for_this_person")}:`);
  const over = () => { toHear -= 1; if (toHear) return; hint.textContent = `${t("shared.for_this_person")}:`; choices.forEach((choice) => { choice.disabled = false; }); };
  const tool = (words, onclick, more) => el("button", { type: "button", class: `link ${more ?? ""}`, onclick }, words);
  const number = answers().length + 1;
  const goal = Math.max(state.more ? data.pairs.length : data.asked, number);
  show(el("div", { class: "asking" },
    el("div", { class: "top" }, el("progress", { max: goal, value: number - 1, "aria-label": t("shared.how_far") }), el("span", { class: "count" }, t("vote.place", { number, goal })), tool(t("vote.stop"), () => { leave(); finish(t("vote.stopped")); })),
    el("h1", { class: "small", tabindex: -1 }, t("shared.which_is_better")),
    el("div", { class: "said-before box", role: "group", "aria-label": t("shared.what_was_said") },
      el("ol", { class: "talk" }, said.map(([role, text]) => el("li", { class: role, dir: "auto" }, el("b", {}, t(role === "seeker" ? "shared.the_person" : "shared.the_listener")), text)))),
    el("div", { class: `pair${heard ? " heard" : ""}` }, replies.map((reply, n) => el("article", { class: "box", "aria-label": t("shared.reply", { letter: LETTERS[n] }) }, el("h2", {}, t("shared.reply", { letter: LETTERS[n] })),
      heard ? player(LETTERS[n], reply.k, over) : el("p", { class: "said", dir: "auto" }, reply.text)))),
    el("div", { class: "answer" }, hint,
      el("div", { class: "choices", role: "group", "aria-label": t("shared.for_this_person") }, choices)),
    el("div", { class: "tools" }, reason, state.votes.length ? tool(t("vote.back"), () => { state.votes.pop(); save(); ask(); }) : null,
      tool(t("vote.say_why"), (event) => { reason.hidden = false; event.target.hidden = true; reason.focus(); }), tool(t("vote.skip"), () => vote("skip"), "last"))));
};
document.addEventListener("keydown", (event) => {
  const n = ["1", "2", "3", "4", "5"].indexOf(event.key);
  if (n < 0 || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("textarea, input")) return;
  stage.querySelectorAll(".choices button")[n]?.click();
});

/* The end: the votes, posted or as a file, and the code. */
const file = () => ({ schema: 1, kind: "heart-votes", file: data.file, participant: state.participant, about: state.about, consent: data.notice.consent, started: state.started, ended: state.ended,
  completion_code: enough() ? data.code : "", votes: state.votes });
const asFile = () => new File([`${JSON.stringify(file(), null, 1)}\n`], `votes-${state.participant}.json`, { type: "application/json" });
const download = () => {
  const votes = asFile();
  const link = el("a", { href: URL.createObjectURL(votes), download: votes.name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const canShare = () => { try { return navigator.canShare?.({ files: [asFile()] }) === true; } catch { return false; } };
const saver = () => el("div", {}, el("p", {}, t("vote.in_a_file")),
  el("button", { type: "button", class: "main", onclick: download }, t("vote.save")),
  canShare() ? el("button", { type: "button", onclick: () => navigator.share({ files: [asFile()] }).catch(() => {}) }, t("vote.share")) : null);
const post = async (place) => {
  place.replaceChildren(el("p", { role: "status" }, t("vote.sending")));
  try {
    const reply = await fetch(data.post, { method: "POST", headers: { "content-type": "application/json" }, credentials: "omit", signal: AbortSignal.timeout(20000), body: JSON.stringify(file()) });
    if (!reply.ok) throw new Error(String(reply.status));
    state.sent = state.votes.length;
    save();
    place.replaceChildren(el("p", { role: "status" }, t("vote.arrived")));
  } catch {
    place.replaceChildren(el("p", { class: "note", role: "alert" }, t("vote.not_sent")), el("button", { type: "button", class: "main", onclick: () => post(place) }, t("vote.try_again")), saver());
  }
};
const finish = (heading) => {
  state.ended = now();
  save();
  const complete = enough();
  const place = el("div", { class: "card" });
  const skipped = answers().length - given();
  const on = nextPair() ? el("button", { type: "button", class: "link", onclick: () => { state.more = complete; ask(); } }, t(complete ? "vote.more" : "vote.go_on_voting")) : null;
  show(el("h1", { tabindex: -1 }, heading), el("p", {}, `${[t("vote.given", { n: given() }), skipped ? t("vote.skipped", { n: skipped }) : null].filter(Boolean).join(", ")}.`),
    state.votes.length ? place : "",
    complete ? el("div", { class: "card" }, el("p", {}, t("study.code")), el("p", { class: "code" }, data.code), data.notice.way_back ? el("p", {}, el("a", { href: data.notice.way_back }, t("study.way_back"))) : null) : el("p", { class: "quiet" }, t("vote.code_after", { n: data.asked })),
    on ?? "", el("p", { class: "quiet" }, t("vote.your_id", { id: state.participant })), ...goodbye(t, data.notice));
  if (!data.post) place.replaceChildren(saver()); else if (state.sent !== state.votes.length) post(place); else place.replaceChildren(el("p", {}, t("vote.arrived")));
};

/* The beginning. */
const about = questionsAbout(t, data.notice.questions);
const welcome = () => {
  leave();
  stage.replaceChildren();
  const known = state.votes.length;
  const length = [t("vote.votes", { n: data.asked }), t("vote.minutes", { n: data.minutes }), ...(heard ? [t("vote.headphones_help")] : [])].join(", ");
  byId("length").textContent = known ? t("vote.goes_on", { n: known }) : `${length}. ${t("vote.go_on_later")}`;
  byId("begin").textContent = t(known ? "shared.go_on" : "shared.begin");
  byId("about").hidden = known > 0;
  byId("consent").checked = known > 0;
  byId("begin").disabled = !known;
  byId("other").hidden = !known || Boolean(named);
  byId("welcome").hidden = false;
};
byId("consent").addEventListener("change", () => { byId("begin").disabled = !byId("consent").checked; });
byId("about").append(about.node ?? "");
byId("begin").addEventListener("click", () => { state.started ||= now(); if (!state.votes.length) state.about = about.answers(); save(); ask(); });
byId("other").addEventListener("click", () => { open(newName()); save(); welcome(); });
/* The same page in another tab: what was voted there counts here too. */
addEventListener("storage", (event) => { if (event.key === keyOf(state.participant)) { open(state.participant); welcome(); } });
addEventListener("beforeunload", (event) => { if (!shelf.works && state.votes.length) event.preventDefault(); });
const last = shelf.get(LAST);
open(named || (typeof last === "string" && clean(last)) || newName());
welcome();
