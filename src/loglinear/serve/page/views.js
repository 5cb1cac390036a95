// How the answer of each kind of model looks. All text is set as text, never as HTML.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const percent = (p) => (p >= 0.9995 && p < 1 ? "> 99.9%" : `${(100 * p).toFixed(1)}%`);
const signed = (x) => (x === null ? "−∞" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`);
const brackets = { "-LRB-": "(", "-RRB-": ")" }; // as treebanks write them
const shown = (word) => brackets[word] ?? word;
const button = (text, attributes = {}) => element("button", { type: "button", ...attributes }, text);

function bar(share) {
  const filled = element("i");
  filled.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
  return element("div", { class: "bar" }, filled);
}

// Names with bars, the longest filling the width; a press on a name calls `press`, one on its share calls `why`.
function bars(rows, press, why) {
  const grid = element("div", { class: "rows" });
  for (const { name, share, pressed } of rows) {
    const head = press ? button(name, { "aria-pressed": pressed ?? false }) : element("span", {}, name);
    if (press) head.addEventListener("click", () => press(name));
    const tail = why ? button(percent(share), { class: "share", "aria-label": `Why ${name}?` }) : element("span", { class: "share" }, percent(share));
    if (why) tail.addEventListener("click", () => why(name));
    grid.append(head, bar(share), tail);
  }
  return grid;
}

function table(head, rows) {
  const cells = (tag, row) => element("tr", {}, ...row.map(([text, kind]) => element(tag, kind ? { class: kind } : {}, text)));
  return element("div", { class: "scroll" }, element("table", {}, cells("th", head), ...rows.map((row) => cells("td", row))));
}

function pushTable(title, pushes, more = []) {
  const row = (name, x) => [[name], [signed(x), `n ${x < 0 ? "against" : "for"}`]];
  const rows = [...pushes.map((push) => row(push.feature, push.contribution)), ...more.map(([name, x]) => row(name, x))];
  return rows.length ? [element("h2", {}, title), table([["feature"], ["adds to the score", "n"]], rows)] : [];
}

// A colour per label, the same for B-X and I-X.
function colour(made, label) {
  const name = label.replace(/^[BIESLUM]-/, "");
  if (name === "O") return;
  let hue = 0;
  for (const letter of name) hue = (hue * 31 + letter.codePointAt(0)) % 360;
  made.style.background = `hsl(${hue} 65% var(--label-light))`;
  made.style.color = `hsl(${hue} 70% var(--label-text))`;
}

// Words in a row, each with something small beneath; the chosen one is explained below.
function words(list, { small, share, label, explain, chosen }) {
  const row = element("div", { class: "words" }), below = element("div");
  const choose = (i) => {
    [...row.children].forEach((word, j) => word.setAttribute("aria-pressed", i === j));
    below.replaceChildren(...explain(list[i]));
  };
  list.forEach((item, i) => {
    const word = button(item.token ?? item.word, { class: label ? "word labelled" : "word" });
    word.append(element("small", {}, small(item)));
    const filled = element("i");
    filled.style.width = `${100 * share(item)}%`;
    word.append(element("span", { class: "sure" }, filled));
    if (label) colour(word, label(item));
    word.addEventListener("click", () => choose(i));
    row.append(word);
  });
  if (list.length) choose(Math.min(chosen ?? 0, list.length - 1));
  return [row, below];
}

// ---- classifiers -----------------------------------------------------------------------------------------------------
const classifier = {
  about: (model) => `A classifier: ${model.n_classes} classes, ${model.n_features.toLocaleString("en")} features.`,
  prompt: (model) => (model.reads === "text" || model.reads === "tokens" ? "Type a text" : "Type an example as JSON"),
  async show(model, text, { post }) {
    const field = { text: "text", tokens: "text", features: "features", matrix: "values" }[model.reads];
    const value = field === "text" ? text : parsed(text);
    const found = await post("predict", { [field]: value, classes: 8, top: 12 });
    const below = element("div");
    const explain = (one) => below.replaceChildren(...pushTable(`Why ${one.label}?`, one.pushes, [["(intercept)", one.intercept]]));
    const rows = found.classes.map((one) => ({ name: one.label, share: one.probability }));
    explain(found.classes[0]);
    return [bars(rows, (name) => explain(found.classes.find((one) => one.label === name))), below];
  },
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('Type JSON: an object of features such as {"length": 3}, or a list of numbers.');
  }
}

// ---- taggers ---------------------------------------------------------------------------------------------------------
const tagger = {
  about: (model) => `A tagger: ${model.labels.length} labels${model.scheme ? ` in the scheme ${model.scheme.toUpperCase()}` : ""}.`,
  prompt: (model) =>
    model.reads === "attributes" ? "Type a token per line, its attributes between blanks"
      : model.n_columns > 1 ? `Type a token per line: ${model.n_columns} columns between blanks` : "Type a sentence",
  async show(model, text, { post }) {
    const asked = model.reads === "attributes"
      ? { tokens: text.split("\n").filter((line) => line.trim()).map((line) => line.trim().split(/\s+/)) } : { text };
    const found = await post("tag", { ...asked, top: 8 });
    const tokens = found.tokens.map((one) => ({ ...one, token: typeof one.token === "string" ? one.token : JSON.stringify(one.token) }));
    const parts = words(tokens, {
      small: (one) => one.label, share: (one) => one.probability, label: (one) => one.label,
      explain: (one) => [
        element("h2", {}, `Labels of “${one.token}”`), bars(one.labels.map((other) => ({ name: other.label, share: other.probability }))),
        ...pushTable(`Why ${one.label}?`, one.pushes, [["(from the labels before)", one.step], ...(one.base ? [["(base distribution)", one.base]] : [])]),
      ],
    });
    if (found.nbest.length < 2) return parts;
    const rows = found.nbest.map((one) => [[one.labels.join(" ")], [percent(one.probability), "n"]]);
    return [...parts, element("h2", {}, "Labellings of the whole sentence"), table([["labels"], ["probability", "n"]], rows)];
  },
};

// ---- language models -------------------------------------------------------------------------------------------------
const languageModel = {
  about: (model) => `A language model: order ${model.order}, ${model.n_words.toLocaleString("en")} words (${model.estimator}).`,
  prompt: () => "Type the beginning of a sentence",
  async show(model, text, { post, type }) {
    const byWords = model.reads === "words", cut = byWords ? text.search(/\S*$/) : text.length;
    const before = text.slice(0, cut), prefix = text.slice(cut);
    const [next, score] = await Promise.all([
      post("next", { text: before, prefix, k: 10 }), post("score", { text: before, top: 12 }),
    ]);
    const blank = byWords ? " " : "";
    const rows = next.words.map((one) => ({ name: one.word, share: one.probability })), below = element("div");
    const explain = (word) => {
      const one = next.words.find((other) => other.word === word);
      below.replaceChildren(...pushTable(`Why “${word}”?`, one.pushes));
    };
    const title = prefix ? `Next words that begin with “${prefix}”` : "Next words";
    const parts = [element("h2", {}, title), rows.length ? bars(rows, (word) => type(`${before}${word}${blank}`), explain) : "None is known."];
    if (rows.length) explain(rows[0].name);
    parts.push(below);
    const typed = score.tokens.slice(0, -1); // without the end of the sentence
    if (!typed.length) return parts;
    return [
      ...parts, element("h2", {}, "Probability of each word, given those before it"),
      ...words(typed, {
        small: (one) => (one.unknown ? "unknown" : percent(Math.exp(one.log_probability))),
        share: (one) => Math.exp(one.log_probability),
        explain: (one) => pushTable(`What gave “${one.word}” its log-probability of ${signed(one.log_probability)}`, one.pushes),
        chosen: typed.length - 1,
      }),
    ];
  },
};

// ---- input methods ---------------------------------------------------------------------------------------------------
let reranker = ""; // the one that is asked, among those that fit
const inputMethod = {
  rows: 2,
  about: (model) => `An input method: ${model.n_words.toLocaleString("en")} words, ${model.n_readings.toLocaleString("en")} ways to type them.`,
  prompt: (model) => (model.reads === "digits" ? "Type on the nine keys, a blank after each word" : "Type a reading"),
  async show(model, text, { post, models, repeat }) {
    const rerankers = models.filter((one) => one.kind === "reranker" && one.units === "characters").map((one) => one.name);
    if (!rerankers.includes(reranker)) reranker = "";
    const found = await post("convert", { reading: text, k: 5, ...(reranker ? { reranker } : {}) });
    const parts = [];
    if (rerankers.length) {
      const choices = element("div", { class: "words" });
      for (const name of ["", ...rerankers]) {
        const choice = button(name ? `reranked: ${name}` : "most probable", { "aria-pressed": name === reranker });
        choice.addEventListener("click", () => { reranker = name; repeat(); });
        choices.append(choice);
      }
      parts.push(choices);
    }
    found.candidates.forEach((one, i) => {
      parts.push(element("p", { class: i ? "candidate" : "candidate best" }, one.text, element("small", {}, signed(one.log_probability))));
    });
    if (!found.words.length) return parts;
    return [
      ...parts, element("h2", {}, "Why this conversion?"),
      ...words(found.words, {
        small: (one) => one.reading || "end", share: (one) => Math.exp(one.log_probability),
        explain: (one) => pushTable(`What “${one.word}” adds to the log-probability`, one.pushes),
      }),
    ];
  },
};

// ---- rerankers -------------------------------------------------------------------------------------------------------
const rerankerView = {
  rows: 6,
  about: (model) => `A reranker: ${model.n_weights.toLocaleString("en")} features have a weight, beside ${model.scores.length > 1 ? `the scores ${model.scores.join(", ")}` : "the score it is given"}.`,
  prompt: () => "Type one candidate per line, its score and a tab before it",
  async show(model, text, { post }) {
    const lines = text.split("\n").filter((line) => line.trim());
    const candidates = lines.map((line) => {
      const [first, ...rest] = line.split("\t");
      return rest.length && first.trim() && isFinite(first) ? { text: rest.join("\t"), score: Number(first) } : { text: line };
    });
    const found = await post("rerank", { candidates });
    const below = element("div"), parts = [];
    const explain = (one, i) => below.replaceChildren(
      ...(i ? pushTable("What sets it apart from the first", one.apart) : pushTable("What its score is made of", one.pushes)));
    found.candidates.forEach((one, i) => {
      const moved = one.place - i, arrow = moved > 0 ? `↑${moved}` : moved < 0 ? `↓${-moved}` : "=";
      const row = button(one.text, { class: i ? "candidate" : "candidate best" });
      row.append(element("small", {}, `${signed(one.score)}  ${arrow}`));
      row.addEventListener("click", () => explain(one, i));
      parts.push(row);
    });
    if (found.candidates.length) explain(found.candidates[0], 0);
    return [...parts, below];
  },
};

// ---- parsers ---------------------------------------------------------------------------------------------------------
const parser = {
  about: (model) => `A parser: ${model.labels.length} labels; sentences of up to ${model.longest} words.`,
  prompt: () => "Type a sentence",
  async show(model, text, { post }) {
    const found = await post("parse", { text, top: 6 });
    if (!found.tree) return [];
    const rows = found.nbest.map((one) => [[one.tree], [percent(one.probability), "n"]]);
    const list = element("div"), explained = found.parts.filter((part) => part.pushes.length);
    for (const part of explained) {
      const title = `${part.rule}: ${found.words.slice(part.begin, part.end).map(shown).join(" ")}`;
      list.append(element("details", {}, element("summary", {}, `${title} (${signed(part.score)})`), ...pushTable("Features", part.pushes).slice(1)));
    }
    return [
      drawTree(found.root), element("h2", {}, "The best trees"), table([["tree"], ["probability", "n"]], rows),
      ...(explained.length ? [element("h2", {}, "What each part adds to the score"), list] : []),
    ];
  },
};

// Words stand side by side at the bottom, each constituent above the middle of its children.
function drawTree(root) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  const draw = (tag, attributes, text) => {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    svg.append(made);
  };
  const height = (node) => (node.children ? 1 + Math.max(...node.children.map(height)) : 1);
  const step = 54, levels = height(root), bottom = levels * step;
  let x = 0;
  const place = (node, depth) => {
    const y = depth * step + 18;
    if (node.children) {
      const below = node.children.map((child) => place(child, depth + 1));
      const middle = (below[0].x + below[below.length - 1].x) / 2;
      for (const child of below) draw("line", { x1: middle, y1: y + (node.probability === null ? 6 : 19), x2: child.x, y2: child.y - 14 });
      label(node, middle, y);
      return { x: middle, y };
    }
    const width = Math.max(node.word.length, node.label.length, 4) * 9 + 14, middle = x + width / 2;
    x += width;
    draw("line", { x1: middle, y1: y + (node.probability === null ? 6 : 19), x2: middle, y2: bottom + 4 });
    label(node, middle, y);
    draw("text", { x: middle, y: bottom + 20 }, shown(node.word));
    return { x: middle, y };
  };
  const label = (node, middle, y) => {
    draw("text", { x: middle, y, class: "label" }, node.label);
    if (node.probability !== null) draw("text", { x: middle, y: y + 14, class: "share" }, percent(node.probability));
  };
  place(root, 0);
  svg.setAttribute("width", x);
  svg.setAttribute("height", bottom + 30);
  svg.setAttribute("viewBox", `0 0 ${x} ${bottom + 30}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "the best tree");
  return element("div", { class: "scroll" }, svg);
}

export const VIEWS = {
  "maxent-classifier": classifier, tagger, parser, "language-model": languageModel, "input-method": inputMethod, reranker: rerankerView,
};
