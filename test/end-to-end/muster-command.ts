import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { clearTimeout, setTimeout } from 'node:timers';
import path from 'node:path';
import { vi } from 'vitest';
import { dependent } from '../../scripts/dependent-process.ts';
import { eventually } from '../support/eventually.ts';
import { summarySchema, type Summary } from '../../src/orchestrator/results/summary.ts';

export interface MusterCommandOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Put before the command: `unshare -m`, say. */
  readonly under?: readonly string[];
  /** One that runs for longer is ended, so that no process of it outlives its parent. */
  readonly deadlineMs?: number;
}

/** Somewhat less than a test may take. */
const DEADLINE_MS = 170_000;

/** `./muster` as a shell starts it from a terminal: in a process group of its own, with nothing of this process's environment that Muster heeds. */
export class MusterCommand implements AsyncDisposable {
  readonly ended: Promise<MusterResult>;
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #deadline: NodeJS.Timeout;
  stdout = '';
  stderr = '';

  constructor(command: readonly string[], { environment = {}, under = [], deadlineMs = DEADLINE_MS }: MusterCommandOptions) {
    const [program = '', ...args] = [...under, ...command];
    const { PATH = '', HOME = '/' } = process.env;
    const child = spawn(...dependent(program, args), {
      cwd: path.join(import.meta.dirname, '../..'),
      env: { PATH, HOME, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    if (child.pid === undefined) throw new Error(`${program} could not be started`);
    this.pid = child.pid;
    this.#process = child;
    this.#deadline = setTimeout(() => this.signalGroup('SIGKILL'), deadlineMs);
    this.ended = this.#end();
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Waits for something that happens only while it runs. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    await eventually(what, async () => {
      if (this.hasEnded) throw new Error(`Muster ended before this: ${what}; stderr:\n${this.stderr}`);
      return condition();
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** As a terminal does on Ctrl-C: everything in the foreground gets it. */
  signalGroup(name: NodeJS.Signals): void {
    process.kill(-this.pid, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) this.signalGroup('SIGKILL');
    await this.ended;
  }

  async #end(): Promise<MusterResult> {
    await once(this.#process, 'close');
    clearTimeout(this.#deadline);
    const { exitCode, signalCode } = this.#process;
    return new MusterResult(exitCode, signalCode, this.stdout, this.stderr);
  }
}

/**
 * What `./muster` does, in this process: for what a process of its own would show no more of, at the cost of a start for each. Commands run one
 * after the other.
 */
export async function runInProcess(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<MusterResult> {
  const { runMuster } = await import('../../src/cli/program.ts');
  const { env, exitCode } = process;
  const { PATH = '', HOME = '/' } = env;
  using stdout = captureText(process.stdout);
  using stderr = captureText(process.stderr);
  process.env = { PATH, HOME, ...environment };
  process.exitCode = undefined;
  try {
    await runMuster(args);
    return new MusterResult(readExitCode(), null, stdout.text, stderr.text);
  } finally {
    process.env = env;
    process.exitCode = exitCode;
  }
}

function readExitCode(): number {
  return Number(process.exitCode ?? 0);
}

function captureText(stream: NodeJS.WriteStream): Disposable & { readonly text: string } {
  const chunks: string[] = [];
  const spy = vi.spyOn(stream, 'write').mockImplementation((chunk, encoding, callback) => {
    chunks.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
    const done = typeof encoding === 'function' ? encoding : callback;
    done?.();
    return true;
  });
  return {
    get text() {
      return chunks.join('');
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

/** Every five seconds there is one, on a machine that is slow enough. */
const PROGRESS = /^.+: ([\d,]+ of ~?[\d,]+ episodes .*; mean .*; sandboxes: .*|[\d,]+ pairs? · .*)\n/gm;

export class MusterResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What it has on stderr beside its progress. */
  readonly notices: string;

  constructor(exitCode: number | null, signal: NodeJS.Signals | null, stdout: string, stderr: string) {
    this.exitCode = exitCode;
    this.signal = signal;
    this.stdout = stdout;
    this.stderr = stderr;
    this.notices = stderr.replaceAll(PROGRESS, '');
  }

  /** @throws when stdout is not exactly one valid summary. */
  summary(): Summary {
    try {
      return summarySchema.parse(JSON.parse(this.stdout));
    } catch (error) {
      throw new Error(`no summary on stdout; exit code ${this.exitCode}, stderr:\n${this.stderr}`, { cause: error });
    }
  }
}
