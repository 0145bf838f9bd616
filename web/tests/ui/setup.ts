// Records four programs and an instruction trace, serves them with `dwell view`, and provides the address. Without root, a
// browser or a dwell, it gives the reason why the tests are skipped.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

export interface Served {
  /** Origin of the page; empty: tests are skipped. */
  origin: string;
  /** The token of the printed address. */
  token: string;
  dwell: string;
  folder: string;
  /** An instruction trace in the folder; empty without QEMU. */
  trace: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    served: Served;
  }
}

const BROWSER = '/usr/bin/chromium';
const NOTHING: Served = { origin: '', token: '', dwell: '', folder: '', trace: '' };

export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const dwell = resolve(process.env.DWELL ?? '../target/debug/dwell');
  const missing = reason(dwell);
  if (missing) {
    process.stderr.write(`SKIP: every test of the screens: ${missing}\n`);
    project.provide('served', NOTHING);
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'dwell-ui-'));
  const record = (name: string, options: string[], ...command: string[]) =>
    execFileSync(dwell, ['collect', 'threading', '--result-dir', join(folder, name), ...options, '--', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
    });
  record('r000th', [], resolve('../samples/bin/convoy'));
  record('r001th', [], 'python3', resolve('tests/ui/program.py'));
  // Tasks by probes, counters of the machine.
  const tasks = ['push=uprobe:push_item', 'update=uprobe:update_queue'].flatMap((probe) => ['--task-probe', probe]);
  record('r002th', ['--analyze', 'system', ...tasks], resolve('../samples/bin/convoy'));
  // A client and a server whose small messages wait for delayed acknowledgements.
  record('r003th', ['--analyze', 'threading,sockets'], resolve('../samples/bin/tcp_commands'));
  const trace = traced(dwell, folder);
  const server = spawn(dwell, ['view', '--no-browser', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = new URL(await printed(server));
  project.provide('served', { origin: url.origin, token: url.hash.replace('#token=', ''), dwell, folder, trace });
  return () => {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Traces the instructions of a small program. */
function traced(dwell: string, folder: string): string {
  const emulator = '/usr/bin/qemu-x86_64';
  if (!existsSync(emulator) || !execFileSync(emulator, ['-help']).includes('-plugin')) {
    process.stderr.write(`SKIP: the screens of instruction traces: there is no ${emulator} that takes plug-ins\n`);
    return '';
  }
  const name = 'true.dwt';
  execFileSync(dwell, ['anatomy', 'run', '--trace', join(folder, name), '--', '/bin/true'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 120_000,
  });
  return name;
}

function reason(dwell: string): string | null {
  if (process.getuid?.() !== 0) return 'recording needs root';
  if (!existsSync(BROWSER)) return `there is no ${BROWSER}`;
  if (!existsSync(dwell)) return `there is no ${dwell}: cargo build -p dwell`;
  if (!existsSync('../samples/bin/convoy')) return 'the samples are not built: make samples';
  return null;
}

/** The address that `dwell view` prints. */
function printed(server: ChildProcess): Promise<string> {
  return new Promise((done, fail) => {
    let text = '';
    server.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const url = /https?:\/\/\S+token=\S+/.exec(text)?.[0];
      if (url) done(url);
    });
    server.on('exit', (status) => fail(new Error(`dwell view ended with ${status}: ${text}`)));
  });
}
