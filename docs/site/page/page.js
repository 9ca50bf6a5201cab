// The page: an editor, a worker that runs the check, and what it found, marked in the editor.
const $ = (id) => document.getElementById(id);
const settings = await (await fetch("settings.json")).json();
let limit = settings.seconds; // after which a run is ended
let frame, files, timer, editor;
let running = false;
let ready = false;

function say(text) {
  $("status").textContent = text;
}

// ---- Python, in a frame of an origin of its own: code has none of this page's storage or network ----

// Each file must have the hash that the page was built with, from wherever it comes.
async function load() {
  const named = Object.entries(settings.files).map(async ([address, integrity]) => {
    const answer = await fetch(address, { integrity, credentials: "omit" });
    if (!answer.ok) throw new Error(`${address} is not there`);
    return [address.split("/").at(-1), await answer.arrayBuffer()];
  });
  return { ...Object.fromEntries(await Promise.all(named)), frame: await (await fetch("frame.html")).text() };
}

async function start() {
  ready = running = false;
  update();
  frame?.remove();
  const made = (frame = document.createElement("iframe"));
  try {
    files ??= await load();
  } catch (error) {
    return say(`Python could not be loaded: ${error.message}`);
  }
  if (made !== frame) return; // it was started anew meanwhile
  made.hidden = true;
  made.setAttribute("sandbox", "allow-scripts");
  made.srcdoc = files.frame;
  made.onload = () => made.contentWindow.postMessage({ kind: "load", ...settings, files }, "*");
  document.body.append(made);
}

window.addEventListener("message", ({ source, data }) => {
  if (source !== frame?.contentWindow) return;
  if (data.kind === "ready" && !ready) {
    ready = true;
    limit = Math.ceil(settings.seconds * Math.max(1, data.seconds / settings.first));
    say("Ready");
  } else if (data.kind === "loading" && !ready) say(data.text);
  else if (data.kind === "answer" && running) finish(JSON.parse(data.answer), data.seconds);
  else if (data.kind === "failed" && !ready) say(`Python could not be loaded: ${data.text}`);
  update();
});

function update() {
  $("run").disabled = !ready || running;
  $("stop").hidden = !running;
}

function run() {
  if (!ready || running) return;
  running = true;
  update();
  editor.mark([]);
  say("Running …");
  timer = setTimeout(() => stop(`Stopped after ${limit} seconds: does a loop not end?`), 1000 * limit);
  frame.contentWindow.postMessage({ kind: "check", code: editor.get() }, "*");
}

function stop(text) {
  clearTimeout(timer);
  show({ ok: null, text, marks: [], printed: "" });
  start();
  say(`${text} Python starts anew …`);
}

function finish(answer, seconds) {
  clearTimeout(timer);
  running = false;
  say(`Took ${seconds.toFixed(1)} seconds`);
  show(answer);
  if (location.hash) start(); // what a link brought has no say in the next check
}

// ---- what was found --------------------------------------------------------------------------

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function note(mark) {
  const box = element("div", "", "note");
  box.append(element("strong", mark.name));
  if (mark.right) {
    box.append(element("span", " should be "), element("code", mark.right));
    const use = element("button", "Use it");
    use.type = "button";
    use.onclick = () => repair(mark);
    box.append(" ", use);
  } else box.append(element("span", ` ${mark.evidence}`));
  return box;
}

function repair(mark) {
  const line = editor.get().split("\n")[mark.line - 1];
  if (!line.includes(mark.wrong)) {
    say(`Line ${mark.line} has changed since the check: run it again`);
    return;
  }
  editor.replaceLine(mark.line, line.replace(mark.wrong, () => mark.right));
  run();
}

function show({ ok, text, marks, printed }) {
  $("result").hidden = false;
  $("result").dataset.ok = String(ok);
  $("verdict").textContent = { true: "All gradients are right", false: "A gradient is wrong" }[ok] ?? "No verdict";
  const causes = marks.filter((mark, k) => marks.findIndex((m) => m.evidence === mark.evidence) === k);
  const items = causes.map((mark) => {
    const item = element("li", "");
    if (mark.line) item.append(element("span", `Line ${mark.line}: `));
    item.append(element("strong", mark.name), ` ${mark.evidence}`);
    return item;
  });
  $("causes").replaceChildren(...items);
  $("report").textContent = text;
  $("printed").hidden = !printed;
  $("printed").lastElementChild.textContent = printed;
  editor.mark(marks.filter(({ line }) => line).map((mark) => ({ line: mark.line, note: () => note(mark) })));
}

// ---- the editor ------------------------------------------------------------------------------

function plainEditor() {
  const area = $("plain");
  const notes = element("div", "", "plain-notes");
  area.after(notes);
  area.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  };
  return {
    get: () => area.value,
    set: (text) => {
      area.value = text;
      notes.replaceChildren();
    },
    replaceLine: (number, text) => (area.value = area.value.split("\n").with(number - 1, text).join("\n")),
    mark(items) {
      notes.replaceChildren(...items.map(({ note }) => note()));
      if (!items.length) return;
      const before = area.value.split("\n").slice(0, items[0].line - 1).join("\n").length;
      const end = area.value.indexOf("\n", before + 1);
      area.setSelectionRange(before + (items[0].line > 1), end < 0 ? area.value.length : end);
    },
  };
}

async function makeEditor() {
  try {
    if (new URLSearchParams(location.search).has("plain")) throw new Error("asked for");
    const { createEditor } = await import("./codemirror.js");
    const made = createEditor($("editor"), run);
    $("plain").remove();
    return made;
  } catch {
    return plainEditor();
  }
}

// ---- the link: the code is in the fragment, which browsers send to no server --------------------

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function link(code) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(code));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `#code=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

async function codeOfLink() {
  const letters = location.hash.match(/^#code=([\w-]+)$/)?.[1];
  if (!letters) return null;
  try {
    const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder();
    let code = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      code += decoder.decode(part.value, { stream: true });
      if (code.length > settings.longest) {
        reader.cancel();
        throw new Error(`it holds more than ${settings.longest} letters`);
      }
    }
    return code + decoder.decode();
  } catch (error) {
    said = `This link is damaged: ${error.message?.startsWith("it holds") ? error.message : "it holds no code"}`;
    return null;
  }
}

async function share() {
  history.replaceState(null, "", await link(editor.get()));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is on the clipboard, and in the address bar");
  } catch {
    say("The link is in the address bar");
  }
}

async function open(name) {
  editor.set(await (await fetch(`examples/${name}.py`)).text());
  $("result").hidden = true;
  history.replaceState(null, "", location.pathname + location.search);
}

// ---- all of it -------------------------------------------------------------------------------

async function serviceWorker() {
  if (!("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("offline.js");
    const controlled = new Promise((done) => {
      if (navigator.serviceWorker.controller) done();
      navigator.serviceWorker.addEventListener("controllerchange", done, { once: true });
    });
    await Promise.race([controlled, new Promise((done) => setTimeout(done, 1500))]);
  } catch {
    // without it the page works, only not offline
  }
}

const keeping = serviceWorker(); // before Python is loaded, so that it is kept
editor = await makeEditor();
for (const [name, title] of Object.entries(settings.examples)) {
  const button = element("button", title);
  button.type = "button";
  button.onclick = () => open(name);
  $("examples").append(button);
}
let said = "";
const linked = await codeOfLink();
if (linked === null) await open(Object.keys(settings.examples)[0]);
else editor.set(linked);
window.addEventListener("hashchange", async () => {
  const code = await codeOfLink();
  if (code !== null) editor.set(code);
  else say(said);
});
$("run").onclick = run;
$("stop").onclick = () => stop("Stopped.");
$("share").onclick = share;
document.body.dataset.editor = $("plain") ? "plain" : "codemirror";
await keeping;
start();
