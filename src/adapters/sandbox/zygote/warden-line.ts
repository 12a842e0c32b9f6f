import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { getMessage } from '../../../kernel/errors.ts';
import { RecentText } from '../../../kernel/recent-text.ts';
import { type WardenOrder, type WardenReport, wardenReportSchema } from './warden-messages.ts';

/** A warden's process, as it was spawned. */
export interface WardenProcess {
  readonly process: {
    kill(signal: 'SIGKILL'): boolean;
    /** When the event 'close' occurs, all of its output has been read. */
    once(event: 'close', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  };
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

interface WardenListeners {
  readonly onReport: (report: WardenReport) => void;
  /** Called once. @param how the process ended, with what it said. */
  readonly onEnd: (how: string) => void;
}

/** Longest line that the warden writes: messages of errors are cut well below. */
const REPORT_MAX_CHARACTERS = 64 * 1024;
/** Characters of its error output that are kept for the message when it fails. */
const SAID_MAX_CHARACTERS = 4096;

/** The process of a warden: takes orders and gives reports, a line of JSON each, until it ends. */
export class WardenLine {
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
  readonly #process: WardenProcess;
  readonly #listeners: WardenListeners;
  readonly #said = new RecentText(SAID_MAX_CHARACTERS);
  #problem: string | undefined;
  #hasEnded = false;

  constructor(process: WardenProcess, listeners: WardenListeners) {
    this.#process = process;
    this.#listeners = listeners;
    process.stderr.setEncoding('utf8').on('data', (text: string) => this.#said.append(text));
    process.stdin.on('error', () => {});
    createInterface({ input: process.stdout, crlfDelay: Infinity }).on('line', (line) => this.#handleReport(line));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    process.process.once('close', (code, signal) => {
      this.#hasEnded = true;
      listeners.onEnd(this.withOutput(this.#problem ?? `the zygote ended (${signal ?? `exit code ${code ?? 'unknown'}`})`));
      resolve();
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Why it was ended; undefined while it was not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  order(order: WardenOrder): void {
    if (!this.#hasEnded) this.#process.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** Kills the process, and its sandboxes with it: all of them get the first reason when it has ended. */
  end(problem: string): void {
    this.#problem ??= problem;
    this.#process.process.kill('SIGKILL');
  }

  /** Adds what the process has said since the last time. */
  withOutput(problem: string): string {
    const said = this.#said.take().trim();
    return said === '' ? problem : `${problem}; it said: ${said.slice(-2000)}`;
  }

  #handleReport(line: string): void {
    if (this.#problem !== undefined) return;
    try {
      if (line.length > REPORT_MAX_CHARACTERS) throw new RangeError(`a report of ${line.length} characters`);
      this.#listeners.onReport(wardenReportSchema.parse(JSON.parse(line)));
    } catch (error) {
      this.end(`the zygote said what makes no sense: ${getMessage(error).slice(0, 500)}`);
    }
  }
}
