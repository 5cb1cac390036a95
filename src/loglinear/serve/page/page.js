// The page: choose a model, type, and see its answer. Every keystroke asks anew; an answer that was overtaken is dropped.
import { VIEWS, element } from "./views.js";

const byId = (id) => document.getElementById(id);
const input = byId("input"), answer = byId("answer"), problem = byId("problem");
const texts = new Map(); // what was typed, by model
let models = [], chosen = null, asking = null;

async function start() {
  const found = await (await fetch("models")).json();
  models = found.models;
  for (const model of models) {
    const tab = element("button", { role: "tab", id: `tab-${model.name}` }, model.name);
    tab.addEventListener("click", () => choose(model));
    byId("models").append(tab);
  }
  input.addEventListener("input", () => ask());
  choose(models.find((model) => model.name === decodeURIComponent(location.hash.slice(1))) ?? models[0]);
}

function choose(model) {
  if (chosen) texts.set(chosen.name, input.value);
  chosen = model;
  history.replaceState(null, "", `#${encodeURIComponent(model.name)}`);
  for (const tab of byId("models").children) tab.setAttribute("aria-selected", tab.id === `tab-${model.name}`);
  const view = VIEWS[model.kind];
  byId("about").textContent = view.about(model);
  byId("prompt").textContent = view.prompt(model);
  input.value = texts.get(model.name) ?? model.example;
  input.rows = view.rows ?? 3;
  input.inputMode = model.reads === "digits" ? "numeric" : "text";
  showKeys(model.reads === "digits");
  answer.replaceChildren();
  byId("took").textContent = "";
  ask();
}

function showKeys(wanted) {
  const keys = byId("keys");
  keys.hidden = !wanted;
  if (!wanted || keys.children.length) return;
  const letters = ["", "abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz"];
  const add = (name, small, press) => {
    const key = element("button", { type: "button" }, name, element("small", {}, small));
    key.addEventListener("click", () => { press(); ask(); });
    keys.append(key);
  };
  letters.forEach((some, i) => add(String(i + 1), some || "\u00a0", () => { input.value += i + 1; }));
  add("\u232b", "delete", () => { input.value = input.value.slice(0, -1); });
  add("0", "blank", () => { input.value += " "; });
  add("C", "clear", () => { input.value = ""; });
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const model = chosen, signal = asking.signal, began = performance.now();
  const post = async (operation, body) => {
    const response = await fetch(`models/${encodeURIComponent(model.name)}/${operation}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
    });
    const value = await response.json();
    if (!response.ok) throw new Error(value.error);
    return value;
  };
  answer.classList.add("old");
  try {
    const parts = await VIEWS[model.kind].show(model, input.value, { post, models, type, repeat: ask });
    if (signal.aborted) return;
    answer.replaceChildren(...parts);
    problem.hidden = true;
    const took = performance.now() - began;
    byId("took").textContent = `answered in ${took.toFixed(0)} ms`;
    answer.dataset.took = took.toFixed(1);
  } catch (error) {
    if (signal.aborted) return;
    problem.textContent = error instanceof TypeError ? "The server does not answer. Is it still running?" : error.message;
    problem.hidden = false;
  }
  answer.classList.remove("old");
}

function type(text) {
  input.value = text;
  input.focus();
  ask();
}

start();
