// Python in a worker, so that an endless loop can be ended with it. All its files are given to it:
// it stands in a frame of an origin of its own, which has no network, no caches and no storage.
self.importScripts = () => {
  throw new TypeError("scripts are imported as modules"); // as Pyodide asks; in such a frame this worker can be none
};
const BASE = "https://pyodide.invalid/";
const TYPES = { wasm: "application/wasm", json: "application/json" };
let check;

async function load({ files, packages, wheel }) {
  const typed = (name) => ({ type: TYPES[name.split(".").at(-1)] ?? "text/javascript" });
  self.fetch = async (address) => {
    const name = String(address.url ?? address).split("/").at(-1);
    if (!(name in files)) throw new TypeError(`${name} is not among the files of the page`);
    return new Response(new Blob([files[name]], typed(name)));
  };
  const module = (name) => import(URL.createObjectURL(new Blob([files[name]], typed(name))));
  const { loadPyodide } = await module("pyodide.mjs");
  const compiled = Object.keys(files).find((name) => name.startsWith("pyodide.asm.") && !name.endsWith(".wasm"));
  const createPyodideModule = (await module(compiled)).default;
  const python = await loadPyodide({ indexURL: BASE, packages, createPyodideModule });
  python.unpackArchive(files[wheel], "wheel");
  postMessage({ kind: "loading", text: "Loading the checker …" });
  python.FS.writeFile("/home/pyodide/checking.py", new Uint8Array(files["checking.py"]));
  check = python.runPython("import checking; checking.check");
  const start = performance.now();
  check(WARM_UP); // its modules are imported by the first check
  return (performance.now() - start) / 1000;
}

const WARM_UP = `# check: f --input "x=3,2"
def f_forward(x):
    return x * x, x
def f_backward(dout, x):
    return dout * x
`;

self.onmessage = async ({ data }) => {
  if (data.kind === "load") {
    try {
      postMessage({ kind: "ready", seconds: await load(data) });
    } catch (error) {
      postMessage({ kind: "failed", text: error.message });
    }
    return;
  }
  const start = performance.now();
  const answer = check(data.code);
  postMessage({ kind: "answer", answer, seconds: (performance.now() - start) / 1000 });
};
