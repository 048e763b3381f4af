// Makes the packages of npm: node dist/npm/build.mjs VERSION FOLDER TARGET=BINARY...
//
// `evalrs-cli-<platform>` has a binary and the platforms it runs on. `evalrs-cli` lists all of them as optional dependencies, so that
// npm installs the right one. No package runs a script when it is installed.

import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../..");
const PLATFORMS = JSON.parse(readFileSync(join(HERE, "evalrs/platforms.json"), "utf8"));
const LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"];

const [version, folder, ...built] = process.argv.slice(2);
const out = resolve(folder);
const shared = { version, license: "MIT OR Apache-2.0", publishConfig: { access: "public" } };
const work = mkdtempSync(join(tmpdir(), "evalrs-npm-"));

// What Linux on the same processor runs too: a static binary runs everywhere, one of glibc where that is.
function platformOf(target) {
  const [machine, ...rest] = target.split("-");
  const system = { linux: "linux", darwin: "darwin", windows: "win32" }[rest.find((word) => /linux|darwin|windows/.test(word))];
  return `${system}-${{ x86_64: "x64", aarch64: "arm64" }[machine]}`;
}

function write(folder, manifest) {
  for (const license of LICENSES) {
    copyFileSync(join(ROOT, license), join(folder, license));
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ ...manifest, ...shared }, null, 2) + "\n");
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: folder, shell: process.platform === "win32" });
}

for (const [target, binary] of built.map((pair) => pair.split("="))) {
  const name = platformOf(target);
  const platform = PLATFORMS[name];
  if (platform === undefined) {
    throw new Error(`platforms.json has no ${name}`);
  }
  const folder = join(work, name);
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyFileSync(binary, join(folder, platform.binary));
  chmodSync(join(folder, platform.binary), 0o755);
  const { os, cpu } = platform;
  const libc = target.endsWith("-gnu") ? { libc: ["glibc"] } : {};
  writeFileSync(join(folder, "README.md"), `The binary of evalrs for ${name}. Install the package evalrs-cli.\n`);
  write(folder, { name: platform.package, description: `The binary of evalrs for ${name}`, os, cpu, ...libc, files: ["bin"], preferUnplugged: true });
}

const launcher = join(work, "evalrs");
cpSync(join(HERE, "evalrs"), launcher, { recursive: true });
copyFileSync(join(ROOT, "README.md"), join(launcher, "README.md"));
write(launcher, {
  name: "evalrs-cli",
  description: "Evaluates AI agents the way a build system builds programs: only what changed is graded again.",
  keywords: ["llm", "evaluation", "agents", "incremental", "cli"],
  bin: { evalrs: "bin/evalrs.js" },
  files: ["bin", "platforms.json"],
  engines: { node: ">=18" },
  optionalDependencies: Object.fromEntries(Object.values(PLATFORMS).map((platform) => [platform.package, version])),
});
rmSync(work, { recursive: true });
