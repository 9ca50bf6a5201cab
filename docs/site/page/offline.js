// Keeps what the page has loaded, so that it opens without a network afterwards.
const CACHE = "deepnlp-check-2"; // of version 1 nothing is kept: code of a link could write to it
const KEPT = /\/(pyodide[^/]*)\/|\.whl(\?|$)/; // these have a version in their addresses

// What the page loads before this worker is there; the rest passes through it.
async function keepThePage() {
  const cache = await caches.open(CACHE);
  const { examples } = await (await fetch("settings.json")).json();
  const names = Object.keys(examples).map((name) => `examples/${name}.py`);
  await cache.addAll(["./", "index.html", "page.js", "style.css", "settings.json", "frame.html", ...names]);
  await cache.add("codemirror.js").catch(() => {}); // where there is none the page has a textarea
  await self.skipWaiting();
}

self.addEventListener("install", (event) => event.waitUntil(keepThePage()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function takeOver() {
  for (const name of await caches.keys()) if (name.startsWith("deepnlp-check") && name !== CACHE) await caches.delete(name);
  await self.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, { ignoreSearch: request.mode === "navigate" });
  if (kept && KEPT.test(request.url)) return kept;
  try {
    const fresh = await fetch(request);
    if (fresh.ok && fresh.type !== "opaque") await cache.put(request, fresh.clone());
    return fresh;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});
