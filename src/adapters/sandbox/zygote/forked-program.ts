import type { SandboxUsage } from '../../../kernel/sandbox-usage.ts';
import { ProgramInput } from '../local/program/program-input.ts';
import { ProgramOutput } from '../local/program/program-output.ts';
import type { ProgramEnd, SandboxedProgram } from '../local/program/sandboxed-program.ts';
import type { ProgramStreams } from './stream-gate.ts';
import type { SandboxReport } from './warden-messages.ts';

/** A program that was forked from a zygote. It ends with the warden, which holds it. */
export class ForkedProgram implements SandboxedProgram {
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  readonly ended: Promise<ProgramEnd>;
  readonly #kill: () => void;

  /** @param ended resolves when nothing of the sandbox is left. */
  constructor(streams: ProgramStreams, ended: Promise<ProgramEnd>, kill: () => void) {
    this.stdin = new ProgramInput(streams.stdin);
    this.stdout = new ProgramOutput(streams.stdout);
    this.stderr = new ProgramOutput(streams.stderr);
    this.ended = ended;
    this.#kill = kill;
    // Sockets go both ways; each of these is for one.
    streams.stdin.resume();
    streams.stdout.end();
    streams.stderr.end();
    void ended.then(() => streams.stdin.destroy());
  }

  kill(): void {
    this.#kill();
  }

  async waitUntilGone(): Promise<void> {
    await this.ended;
  }
}

/** Converts the last report of a sandbox. */
export function toProgramEnd(report: Exclude<SandboxReport, { readonly type: 'started' }>): ProgramEnd {
  const usage = toUsage(report);
  switch (report.type) {
    case 'ended': {
      const code = report.signal === undefined ? (report.code ?? 0) : 128 + report.signal;
      return { kind: 'exited', code, ...(report.groups_removed === true && { areGroupsRemoved: true }), ...usage };
    }
    case 'lost':
    case 'failed':
    case 'unforked':
      return { kind: 'lost', detail: report.message, wasKilled: report.type === 'lost', ...usage };
  }
}

function toUsage({
  cpu_seconds,
  peak_memory_bytes,
}: SandboxReport & { cpu_seconds?: number | undefined; peak_memory_bytes?: number | undefined }): { readonly usage?: SandboxUsage } {
  if (cpu_seconds === undefined || peak_memory_bytes === undefined) return {};
  return { usage: { cpuSeconds: cpu_seconds, peakMemoryBytes: peak_memory_bytes } };
}
