// node run.mjs PYODIDE CHECKOUT SITE_PACKAGES PROGRAM: a Python program under Pyodide, without a network.
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, checkout, sitePackages, program] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")).href);
const pyodide = await loadPyodide({ indexURL: folder + "/" });
await pyodide.loadPackage(["numpy", "scipy", "matplotlib", "threadpoolctl", "ipython"], {
  messageCallback() {},
});
pyodide.FS.mkdirTree("/checkout");
pyodide.mountNodeFS("/checkout", checkout);
pyodide.FS.mkdirTree("/others"); // tqdm, which this Pyodide lacks and the published one has
pyodide.mountNodeFS("/others", sitePackages);
pyodide.runPython("import sys; sys.path[:0] = ['/checkout', '/packages']; sys.dont_write_bytecode = True");
pyodide.runPython("import os, shutil; shutil.copytree('/others/tqdm', '/packages/tqdm')");
pyodide.runPython(`import os; os.environ.update({"LESSON": "${process.argv[6] ?? ""}"})`);
try {
  await pyodide.runPythonAsync(readFileSync(program, "utf8"));
} catch (error) {
  console.error(error.message); // the whole of it would show Pyodide's source
  process.exitCode = 1;
}
