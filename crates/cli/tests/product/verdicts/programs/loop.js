// An event loop that serves a timer every 5 ms, and each 100 ms computes for 60 ms when it is asked to: of CPU time, so that a busy machine
// makes no difference. It measures how much that was.
const spent = () => process.cpuUsage().user + process.cpuUsage().system;
let blocked = 0;
function summarise() {
  const begun = spent();
  while (spent() - begun < 60_000);
  blocked += (spent() - begun) * 1000;
}
let reports = 0;
const answer = setInterval(() => {}, 5);
const report = setInterval(() => {
  if (process.argv[2] == 'blocked') summarise();
  if (++reports < 15) return;
  clearInterval(answer);
  clearInterval(report);
  console.log('truth blocked_ns', blocked);
}, 100);
