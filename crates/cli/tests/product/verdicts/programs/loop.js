// An event loop that serves a timer every 5 ms, and each 100 ms computes for 60 ms when it is asked to. It measures its own delay.
const { monitorEventLoopDelay } = require('node:perf_hooks');
const delay = monitorEventLoopDelay({ resolution: 5 });
let blocked = 0;
function summarise() {
  const begun = process.hrtime.bigint();
  while (process.hrtime.bigint() - begun < 60_000_000n);
  blocked += Number(process.hrtime.bigint() - begun);
}
let reports = 0;
delay.enable();
const answer = setInterval(() => {}, 5);
const report = setInterval(() => {
  if (process.argv[2] == 'blocked') summarise();
  if (++reports < 15) return;
  clearInterval(answer);
  clearInterval(report);
  console.log('truth blocked_ns', blocked);
  console.log('truth longest_ns', delay.max);
}, 100);
