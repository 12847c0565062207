/* The quick vote: one pair after the other, without names, until there are as many votes as an answer takes; then a file to send. */
const desk = document.getElementById("vote-desk");
const letters = ["A", "B"];
const SKIP = "skip";
const spokenWords = (text) => (text.match(/\S+/g) ?? []).length;
const withoutPauses = (text) => text.replace(PAUSE, " ").replace(/\s+/g, " ").trim();
/* A part of a turn's sound: heard when it was played to its end. */
const replySound = (label, turn, [, , from, to], onHeard, onMissing) => {
  const audio = new Audio();
  const state = el("span", { class: "hint", role: "status" }, "not heard yet");
  const button = el("button", { type: "button", class: "plain", "aria-label": `Play reply ${label}` }, "Play");
  let heard = false;
  const over = () => { audio.pause(); if (!heard) { heard = true; onHeard(); } state.textContent = "heard"; button.textContent = "Again"; };
  audio.addEventListener("timeupdate", () => { if (!audio.paused && audio.currentTime * 1000 >= to) over(); });
  audio.addEventListener("ended", over);
  audio.addEventListener("play", () => { if (playing && playing !== audio) playing.pause(); playing = audio; state.textContent = "playing"; });
  audio.addEventListener("pause", () => { state.textContent = heard ? "heard" : "not heard yet"; });
  audio.addEventListener("error", onMissing);
  button.addEventListener("click", () => {
    if (!audio.src) audio.src = turn.audio;
    const go = () => { audio.currentTime = from / 1000; audio.play().catch(() => {}); };
    if (audio.readyState > 0) go(); else audio.addEventListener("loadedmetadata", go, { once: true });
  });
  return el("p", { class: "hear" }, button, state);
};
const voting = async () => {
  const all = await packed("vote-pairs");
  /* Each line condition has a board of its own: at first the one that the page shows, then the one that is chosen. */
  const onLine = (name) => ({ ...all, ...(all.lines.find((line) => line.condition === name) ?? all.lines[0]) });
  let data = onLine(condition);
  const votes = votesOf(data.run);
  const told = el("p", { class: "hint", role: "status" });
  const stage = el("div");
  let rater = null;
  let presentation = data.heard_text.length ? "heard_text" : "audio";
  let wanted = 0;
  const intro = document.getElementById("vote-intro");
  desk.replaceChildren(stage, told);
  const say = (...parts) => { told.replaceChildren(...[...parts, votes.trouble()].filter(Boolean).flatMap((part) => [part, " "])); };
  const met = (asked) => (data[asked].length ? asked : asked === "audio" ? "heard_text" : "audio");
  /* What the votes of these pairs give, or why they can give nothing, which a person should know before their minutes are spent. */
  const given = (asked) => {
    const how = met(asked);
    const reached = (kind) => new Set(data[kind].map(([context]) => context)).size;
    const { conversations, words } = data.asks[how];
    const open = page.contexts.length - data.left_out;
    const has = `${open}${data.left_out ? ` beside ${data.left_out} with a crisis or an illness, which ${data.left_out === 1 ? "is" : "are"} asked of nobody` : ""}`;
    const needs = `An answer takes votes on ${conversations} conversations, by one person or several`;
    if (reached(how) >= conversations) return words && `${words}.`;
    if (open < conversations) return `${needs}, and this run has ${has}.`;
    const toRead = how === "audio" && reached("heard_text") >= conversations ? ` To read, ${reached("heard_text")} have two.` : "";
    return `${needs}, and ${reached(how)} of this run's ${open} have two replies to ${how === "audio" ? "hear" : "read"}.${toRead}`;
  };
  const pairs = () => data[presentation].map(([context, one, other, rate]) => ({ condition: data.condition, presentation, context: page.contexts[context].id, system_a: data.systems[one[0]],
    system_b: data.systems[other[0]], place: context, sides: [one, other], rate }));
  const show = (...content) => {
    stage.replaceChildren(...content.filter(Boolean));
    stage.querySelector("[tabindex='-1']")?.focus({ preventScroll: true });
    if (desk.getBoundingClientRect().top < 0) desk.scrollIntoView({ behavior: "instant", block: "start" });
  };
  const save = () => {
    download(votesFile(rater), "text/csv", csv(rater.votes));
    say("To count these votes, add the file to the run, or send it to whoever has the run:", el("code", {}, `${data.add} ${votesFile(rater)}`), "It names the agents, which you were not shown.");
  };
  /* Votes on what was read and on what was heard have a board each, as lines have. A skipped pair is stored and is no vote. */
  const mine = () => rater.votes.filter((vote) => vote.condition === data.condition && vote.presentation === presentation && vote.vote !== SKIP);
  const saver = () => el("button", { type: "button", class: "plain", onclick: save }, `Download votes (${rater.votes.length})`);
  const backer = () => el("button", { type: "button", class: "plain", onclick: () => { votes.takeBack(rater); say("The last vote is taken back."); ask(); } }, "Take back the last vote");
  const numbers = (asked) => [...data.asks[met(asked)].votes.map(([n, minutes]) => [n, `${counted(n, "vote")}, ${minutes} min`]), [0, "as many as I like"]]
    .map(([n, text]) => el("option", { value: n }, text));
  const begin = () => {
    const known = votes.last();
    const line = all.lines.length > 1 ? el("label", {}, "Line ", el("select", { name: "line", onchange: (event) => { data = onLine(event.target.value); } },
      all.lines.map(({ condition: name }) => el("option", { value: name, selected: name === data.condition }, name)))) : null;
    const media = all.lines.some((of) => of.heard_text.length && of.audio.length) ? el("label", {}, "Replies ", el("select", { name: "presentation" },
      el("option", { value: "heard_text" }, "to read"), el("option", { value: "audio" }, "to hear"))) : null;
    const form = el("form", { class: "switches", onsubmit: (event) => {
      event.preventDefault();
      const name = form.elements.rater.value.trim();
      if (!name) { say("Please give a name or a pseudonym."); form.elements.rater.focus(); return; }
      rater = votes.begin(name);
      presentation = form.elements.presentation?.value ?? presentation;
      if (!data[presentation].length) presentation = data.heard_text.length ? "heard_text" : "audio";
      wanted = Number(form.elements.votes.value);
      say("");
      ask();
    } }, el("label", {}, "Your name or a pseudonym ", el("input", { type: "text", name: "rater", maxlength: 80, required: true, autocomplete: "off", value: known?.name ?? "" })),
    el("label", {}, "I give ", el("select", { name: "votes" })),
    line, media, el("button", { type: "submit", class: "plain" }, known ? "Go on" : "Begin"));
    const sounds = all.lines.some((of) => of.audio.length) && page.audio_inside;
    if (media && sounds) form.elements.presentation.value = "audio";
    const short = el("p", { class: "hint" });
    const foresee = (event) => {
      const asked = form.elements.presentation?.value ?? presentation;
      short.textContent = given(asked);
      short.hidden = !short.textContent;
      if (!event || ["line", "presentation"].includes(event.target.name)) form.elements.votes.replaceChildren(...numbers(asked));
    };
    form.addEventListener("change", foresee);
    foresee();
    intro.hidden = false;
    show(form, short, el("p", { class: "hint" }, "One person is one rater: always give the same name, and let nobody else vote under it. Votes stay in this browser until you download them."));
    say(known ? `${counted(known.votes.length, "vote")} by ${known.name} in this browser.` : "");
  };
  const finish = (heading) => {
    const how = rater.votes.some((vote) => vote.presentation !== presentation) ? ` by ${presentation === "audio" ? "hearing" : "reading"}` : "";
    const conversations = new Set(mine().map((vote) => vote.context)).size;
    const skipped = rater.votes.filter((vote) => vote.vote === SKIP).length;
    show(el("h3", { tabindex: -1 }, heading), el("p", {}, `You have given ${counted(mine().length, "vote")}${how} on ${counted(conversations, "conversation")}${all.lines.length > 1 ? `, line ${data.condition}` : ""}${skipped ? `, and skipped ${counted(skipped, "pair")}` : ""}. Thank you.`),
      given(presentation) ? el("p", { class: "hint" }, given(presentation)) : null,
      el("div", { class: "tools" }, rater.votes.length ? saver() : null, nextPair(rater, pairs()) ? el("button", { type: "button", class: "plain", onclick: () => { wanted = 0; ask(); } }, "Go on voting") : null,
        rater.votes.length ? backer() : null, el("button", { type: "button", class: "plain", onclick: begin }, "Another person, or other settings")));
  };
  const ask = async () => {
    const pair = nextPair(rater, pairs());
    if (!pair) { finish("You have voted on every pair here"); return; }
    if (wanted && mine().length >= wanted) { finish(`These were the ${wanted} votes`); return; }
    const talk = await conversation(pair.place);
    const flipped = votes.chance() < 0.5;
    const sides = flipped ? [...pair.sides].reverse() : pair.sides;
    const texts = sides.map(([, place]) => (place < talk.turns.length ? talk.turns[place].heard ?? talk.turns[place].written : talk.references[place - talk.turns.length][2]));
    const asAudio = presentation === "audio";
    const hearing_s = asAudio ? sides.reduce((all, [, , from, to]) => all + (to - from) / 1000, 0) : 0;
    const history = talk.history.map(([role, text]) => [role, withoutPauses(text)]);
    const before = history.slice(0, -1);
    let toHear = asAudio ? 2 : 0;
    let since_ms = performance.now();
    const reason = el("textarea", { maxlength: 2000, rows: 2, "aria-label": "Why?" });
    const vote = (answer) => {
      const took_s = Math.max(0.1, (performance.now() - since_ms) / 1000);
      if (playing) playing.pause();
      votes.add(rater, { context: pair.context, subset: page.contexts[pair.place].subset, system_a: pair.system_a, system_b: pair.system_b, rater: rater.name,
        vote: answer, reason: reason.value.trim(), shown_first: flipped ? "b" : "a",
        seconds: Math.max(0.1, Math.round(10 * (took_s - hearing_s)) / 10), words: asAudio ? null : spokenWords(texts.join(" ")), presentation, condition: data.condition,
        draw_rate: pair.rate, run: data.run });
      say("");
      ask();
    };
    const choices = data.options.map(([, text], k) => el("button", { type: "button", class: "plain", disabled: toHear > 0, onclick: () => vote(data.options[flipped ? 4 - k : k][0]) }, el("kbd", { "aria-hidden": "true" }, k + 1), ` ${text}`));
    const heard = () => { toHear -= 1; if (!toHear) choices.forEach((choice) => { choice.disabled = false; }); };
    const missing = () => { say("The sound is not beside the page, so these replies are for reading."); presentation = "heard_text"; if (data.heard_text.length) ask(); else finish("There is nothing to hear"); };
    intro.hidden = true;
    show(el("h3", { tabindex: -1 }, `Vote ${mine().length + 1}${wanted ? ` of ${wanted}` : ""}`),
      talk.situation ? el("p", { class: "hint", dir: "auto" }, talk.situation) : null,
      before.length ? el("details", { class: "more", open: !talk.situation }, el("summary", {}, "What was said before"), dialogue(before, (role) => role)) : null,
      dialogue(history.slice(-1), (role) => `${role}, to whom both reply`),
      el("div", { class: "pair" }, sides.map((side, k) => el("article", { class: "turn", "aria-label": `Reply ${letters[k]}` }, el("h4", {}, `Reply ${letters[k]}`),
        asAudio ? replySound(letters[k], talk.turns[side[1]], side, heard, missing) : el("p", { class: "reply", dir: "auto" }, texts[k])))),
      asAudio ? el("p", { class: "hint" }, "Hear both, then choose.") : null,
      !asAudio && texts[0] === texts[1] ? el("p", { class: "hint" }, "Both replies are the same, word for word.") : null,
      el("div", { class: "options", role: "group", "aria-label": "For this person, in this moment" }, choices),
      el("details", { class: "more" }, el("summary", {}, "Say why (before you choose; it may be left out)"), reason),
      el("div", { class: "tools" }, el("button", { type: "button", class: "plain", onclick: () => vote(SKIP) }, "Skip this pair"), rater.votes.length ? backer() : null,
        el("button", { type: "button", class: "plain", onclick: () => finish("Stopped") }, "Stop")));
    since_ms = performance.now();
  };
  desk.addEventListener("keydown", (event) => {
    const k = ["1", "2", "3", "4", "5"].indexOf(event.key);
    if (k < 0 || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("textarea, input, select")) return;
    stage.querySelectorAll(".options button")[k]?.click();
  });
  /* The same page in another tab: what was voted there counts here too. */
  addEventListener("storage", (event) => { if (event.key === votes.key) { votes.load(); if (playing) playing.pause(); begin(); } });
  jointForm?.elements.condition?.addEventListener("input", (event) => {
    const line = stage.querySelector("[name=line]");
    if (!line || !all.lines.some((of) => of.condition === event.target.value)) return;
    line.value = event.target.value;
    line.dispatchEvent(new Event("change", { bubbles: true }));
  });
  begin();
};
if (desk) voting();
