'use strict';
// A full pool: four reads of devices that are not there yet (FIFOs which nobody writes) occupy all four threads of the
// pool, and a quick stat of a plain file queues behind them. The event loop itself is never blocked.
const fs = require('fs');

const PERIOD_MS = 3000;
const now = () => process.hrtime.bigint();

async function statConfig() {
  const begun = now();
  await fs.promises.stat(__filename);
  return now() - begun;
}

async function main() {
  const begun = now();
  let waited = 0n;
  const readDevice = async (path) => {
    await fs.promises.readFile(path);
    waited += now() - begun;
  };
  const devices = process.argv.slice(2).map(readDevice);
  while (now() - begun < PERIOD_MS * 1e6) {
    waited += await statConfig();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await Promise.all(devices);
  console.log(`truth waited_ns ${waited}`);
}

main();
