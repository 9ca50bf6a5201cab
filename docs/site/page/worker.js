// Python in a worker, so that an endless loop can be ended with it.
let check;

async function load({ pyodide: base, packages, wheel }) {
  const index = new URL(base, self.location.href).href;
  const { loadPyodide } = await import(`${index}pyodide.mjs`);
  const wheelBytes = fetch(wheel).then((answer) => answer.arrayBuffer());
  const program = fetch("checking.py").then((answer) => answer.text());
  const python = await loadPyodide({ indexURL: index, packages });
  python.unpackArchive(await wheelBytes, "wheel");
  postMessage({ kind: "loading", text: "Loading the checker …" });
  python.FS.writeFile("/home/pyodide/checking.py", await program);
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
      postMessage({ kind: "ready", seconds: await load(data.settings) });
    } catch (error) {
      postMessage({ kind: "failed", text: error.message });
    }
    return;
  }
  const start = performance.now();
  const answer = check(data.code);
  postMessage({ kind: "answer", answer, seconds: (performance.now() - start) / 1000 });
};
