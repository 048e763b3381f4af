#!/usr/bin/env node
// Starts the binary of this platform, and ends as it ends. EVALRS_BINARY names another binary.

"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const PLATFORMS = require("../platforms.json");

function binary() {
  if (process.env.EVALRS_BINARY) {
    return process.env.EVALRS_BINARY;
  }
  const name = `${process.platform}-${process.arch}`;
  const platform = PLATFORMS[name];
  if (platform === undefined) {
    throw new Error(`there is no binary for ${name}: build it with cargo, and name it in EVALRS_BINARY`);
  }
  try {
    return require.resolve(`${platform.package}/${platform.binary}`);
  } catch {
    throw new Error(`the package ${platform.package} is missing: install evalrs-cli without --omit=optional, on the platform that runs it`);
  }
}

function main() {
  const child = spawn(binary(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });
  // A terminal sends SIGINT to the binary too, which decides how to end. Other senders reach this process alone.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) {
        child.kill(signal);
      }
    });
  }
  child.on("error", fail);
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

function fail(error) {
  console.error(`evalrs: ${error.message}`);
  process.exit(2);
}

try {
  main();
} catch (error) {
  fail(error);
}
