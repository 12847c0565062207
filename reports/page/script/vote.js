/* The quick vote: one pair after the other, without names, until there are as many votes as an answer takes; then a file to send. */
const desk = document.getElementById("vote-desk");
const letters = ["A", "B"];
const SKIP = "skip";
const spokenWords = (text) => (text.match(/\S+/g) ?? []).length;
const withoutPauses = (text) => text.replace(PAUSE, " ").replace(/\s+/g, " ").trim();
/* A part of a turn's sound: heard when it was played to its end. */
const replySound = (t, label, turn, [, , from, to], onHeard, onMissing) => {
  const audio = new Audio();
  const state = el("span", { class: "hint", role: "status" }, t("shared.not_heard_yet"));
  const button = el("button", { type: "button", class: "plain", "aria-label": t("shared.play_it", { name: t("shared.reply", { letter: label }) }) }, t("shared.play"));
  let heard = false;
  const over = () => { audio.pause(); if (!heard) { heard = true; onHeard(); } state.textContent = t("shared.heard"); button.textContent = t("shared.again"); };
  audio.addEventListener("timeupdate", () => { if (!audio.paused && audio.currentTime * 1000 >= to) over(); });
  audio.addEventListener("ended", over);
  audio.addEventListener("play", () => { if (playing && playing !== audio) playing.pause(); playing = audio; state.textContent = t("shared.sounding"); });
  audio.addEventListener("pause", () => { state.textContent = t(heard ? "shared.heard" : "shared.not_heard_yet"); });
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
  const t = wordsIn(all.words);
  const votes = votesOf(data.run);
  const told = el("p", { class: "hint", role: "status" });
  const stage = el("div");
  let rater = null;
  let presentation = data.heard_text.length ? "heard_text" : "audio";
  let wanted = 0;
  const intro = document.getElementById("vote-intro");
  const notice = document.getElementById("vote-notice");
  const named = (role) => t(role === "seeker" ? "shared.the_person" : "shared.the_listener");
  desk.replaceChildren(stage, told);
  const tell = (...parts) => { told.replaceChildren(...[...parts, votes.trouble() && t(votes.trouble())].filter(Boolean).flatMap((part) => [part, " "])); };
  const met = (asked) => (data[asked].length ? asked : asked === "audio" ? "heard_text" : "audio");
  /* What the votes of these pairs give, or why they can give nothing, which a person should know before their minutes are spent. */
  const given = (asked) => {
    if (all.notice.invited) return ""; /* Whoever is invited is asked for votes; what these give concerns the one who asks. */
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
    const about = Object.keys(rater.about ?? {}).length ? JSON.stringify(rater.about) : "";
    download(votesFile(rater), "text/csv", csv(rater.votes.map((vote, k) => ({ ...vote, consent: rater.consent, about: k ? "" : about }))));
    if (all.notice.invited) tell(t("quick_vote.send", { file: votesFile(rater) })); else tell(t("quick_vote.add"), el("code", {}, `${data.add} ${votesFile(rater)}`), t("quick_vote.names"));
  };
  /* Votes on what was read and on what was heard have a board each, as lines have. A skipped pair is stored and is no vote. */
  const mine = () => rater.votes.filter((vote) => vote.condition === data.condition && vote.presentation === presentation && vote.vote !== SKIP);
  const saver = () => el("button", { type: "button", class: "plain", onclick: save }, t("quick_vote.download", { n: rater.votes.length }));
  const backer = () => el("button", { type: "button", class: "plain", onclick: () => { votes.takeBack(rater); tell(t("quick_vote.taken_back")); ask(); } }, t("quick_vote.take_back"));
  const numbers = (asked) => [...data.asks[met(asked)].votes.map(([n, minutes]) => [n, t("quick_vote.so_many", { n, minutes })]), [0, t("quick_vote.as_many")]]
    .map(([n, text]) => el("option", { value: n }, text));
  const begin = () => {
    const known = votes.last();
    const line = all.lines.length > 1 ? el("label", {}, `${t("quick_vote.line")} `, el("select", { name: "line", onchange: (event) => { data = onLine(event.target.value); } },
      all.lines.map(({ condition: name }) => el("option", { value: name, selected: name === data.condition }, name)))) : null;
    const media = all.lines.some((of) => of.heard_text.length && of.audio.length) ? el("label", {}, `${t("quick_vote.replies")} `, el("select", { name: "presentation" },
      el("option", { value: "heard_text" }, t("quick_vote.to_read")), el("option", { value: "audio" }, t("quick_vote.to_hear")))) : null;
    const form = el("form", { class: "switches", onsubmit: (event) => {
      event.preventDefault();
      const name = form.elements.rater.value.trim();
      if (!name) { tell(t("quick_vote.name_needed")); form.elements.rater.focus(); return; }
      rater = votes.begin(name);
      presentation = form.elements.presentation?.value ?? presentation;
      if (!data[presentation].length) presentation = data.heard_text.length ? "heard_text" : "audio";
      wanted = Number(form.elements.votes.value);
      tell("");
      if (rater.consent === all.notice.consent) ask(); else agree();
    } }, el("label", {}, `${t("quick_vote.name")} `, el("input", { type: "text", name: "rater", maxlength: 80, required: true, autocomplete: "off", value: known?.name ?? "" })),
    el("label", {}, `${t("quick_vote.i_give")} `, el("select", { name: "votes" })),
    line, media, el("button", { type: "submit", class: "plain" }, t(known ? "shared.go_on" : "shared.begin")));
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
    show(form, short, el("p", { class: "hint" }, t("quick_vote.one_person")));
    tell(known ? t("quick_vote.known", { n: known.votes.length, name: known.name }) : "");
  };
  const agree = () => {
    const about = questionsAbout(t, all.notice.questions);
    const box = el("input", { type: "checkbox" });
    const go = el("button", { type: "button", class: "plain", disabled: true, onclick: () => { votes.agree(rater, all.notice.consent, about.answers()); ask(); } }, t("shared.begin"));
    box.addEventListener("change", () => { go.disabled = !box.checked; });
    intro.hidden = true;
    show(notice.content.cloneNode(true), about.node, el("label", { class: "agree" }, box, " ", t("shared.agree")), el("div", { class: "tools" }, go, el("button", { type: "button", class: "plain", onclick: begin }, t("vote.back"))));
  };
  const finish = (heading) => {
    const how = rater.votes.some((vote) => vote.presentation !== presentation) ? t(presentation === "audio" ? "quick_vote.by_hearing" : "quick_vote.by_reading") : "";
    const conversations = new Set(mine().map((vote) => vote.context)).size;
    const skipped = rater.votes.filter((vote) => vote.vote === SKIP).length;
    show(el("h3", { tabindex: -1 }, heading), el("p", {}, `${[[t("vote.given", { n: mine().length }), how, t("quick_vote.on", { n: conversations })].filter(Boolean).join(" "), all.lines.length > 1 ? t("quick_vote.on_line", { line: data.condition }) : null, skipped ? t("vote.skipped", { n: skipped }) : null].filter(Boolean).join(", ")}. ${t("shared.thanks")}.`),
      given(presentation) ? el("p", { class: "hint" }, given(presentation)) : null,
      el("div", { class: "tools" }, rater.votes.length ? saver() : null, nextPair(rater, pairs()) ? el("button", { type: "button", class: "plain", onclick: () => { wanted = 0; ask(); } }, t("vote.go_on_voting")) : null,
        rater.votes.length ? backer() : null, el("button", { type: "button", class: "plain", onclick: begin }, t("quick_vote.another"))), ...goodbye(t, all.notice));
  };
  const ask = async () => {
    const pair = nextPair(rater, pairs());
    if (!pair) { finish(t("quick_vote.every_pair")); return; }
    if (wanted && mine().length >= wanted) { finish(t("quick_vote.these_were", { n: wanted })); return; }
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
    const reason = el("textarea", { maxlength: 2000, rows: 2, "aria-label": t("vote.why") });
    const vote = (answer) => {
      const took_s = Math.max(0.1, (performance.now() - since_ms) / 1000);
      if (playing) playing.pause();
      votes.add(rater, { context: pair.context, subset: page.contexts[pair.place].subset, system_a: pair.system_a, system_b: pair.system_b, rater: rater.name,
        vote: answer, reason: reason.value.trim(), shown_first: flipped ? "b" : "a",
        seconds: Math.max(0.1, Math.round(10 * (took_s - hearing_s)) / 10), words: asAudio ? null : spokenWords(texts.join(" ")), presentation, condition: data.condition,
        draw_rate: pair.rate, run: data.run });
      tell("");
      ask();
    };
    const choices = data.options.map(([, text], k) => el("button", { type: "button", class: "plain", disabled: toHear > 0, onclick: () => vote(data.options[flipped ? 4 - k : k][0]) }, el("kbd", { "aria-hidden": "true" }, k + 1), ` ${text}`));
    const heard = () => { toHear -= 1; if (!toHear) choices.forEach((choice) => { choice.disabled = false; }); };
    const missing = () => { tell(t("quick_vote.sound_gone")); presentation = "heard_text"; if (data.heard_text.length) ask(); else finish(t("quick_vote.nothing_to_hear")); };
    intro.hidden = true;
    show(el("h3", { tabindex: -1 }, t(wanted ? "quick_vote.vote_of" : "quick_vote.vote", { number: mine().length + 1, wanted })),
      talk.situation ? el("p", { class: "hint", dir: "auto" }, talk.situation) : null,
      before.length ? el("details", { class: "more", open: !talk.situation }, el("summary", {}, t("quick_vote.said_before")), dialogue(before, named, named)) : null,
      dialogue(history.slice(-1), (role) => t("quick_vote.to_whom", { who: named(role) })),
      el("div", { class: "pair" }, sides.map((side, k) => el("article", { class: "turn", "aria-label": t("shared.reply", { letter: letters[k] }) }, el("h4", {}, t("shared.reply", { letter: letters[k] })),
        asAudio ? replySound(t, letters[k], talk.turns[side[1]], side, heard, missing) : el("p", { class: "reply", dir: "auto" }, texts[k])))),
      asAudio ? el("p", { class: "hint" }, t("vote.hear_both")) : null,
      !asAudio && texts[0] === texts[1] ? el("p", { class: "hint" }, t("quick_vote.same_words")) : null,
      el("div", { class: "options", role: "group", "aria-label": t("shared.for_this_person") }, choices),
      el("details", { class: "more" }, el("summary", {}, t("quick_vote.say_why")), reason),
      el("div", { class: "tools" }, el("button", { type: "button", class: "plain", onclick: () => vote(SKIP) }, t("vote.skip")), rater.votes.length ? backer() : null,
        el("button", { type: "button", class: "plain", onclick: () => finish(t("vote.stopped")) }, t("vote.stop"))));
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
