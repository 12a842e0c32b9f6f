/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { readFile, readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxExit, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { SandboxLimits, SandboxTemplate } from '../../src/pool/ports/template.ts';
import { eventually } from '../support/eventually.ts';
import type { SandboxCommands } from './sandbox-commands.ts';
import type { SandboxContext, SandboxProviderSubject } from './sandbox-provider.ts';

const LIMITS: SandboxLimits = { memoryBytes: 256 * 2 ** 20, processes: 32, cpus: 2, diskBytes: 128 * 2 ** 20, lifetimeSeconds: 3600 };

/** What a scenario acts on: a fresh context with one provider, and the acts that most scenarios share. */
export class SandboxFixture implements AsyncDisposable {
  readonly context: SandboxContext;
  readonly commands: SandboxCommands;
  readonly provider: SandboxProvider;
  /** Unlike anything else in the process table. */
  readonly marker = `marker-${process.pid}-${Math.floor(performance.now() * 1000)}`;
  readonly #subject: SandboxProviderSubject;
  readonly #providers: SandboxProvider[] = [];
  #count = 0;

  constructor(subject: SandboxProviderSubject, context: SandboxContext) {
    this.#subject = subject;
    this.context = context;
    this.commands = subject.commands;
    this.provider = this.anotherProvider();
  }

  anotherProvider(): SandboxProvider {
    const provider = this.context.provider();
    this.#providers.push(provider);
    return provider;
  }

  template(command: readonly string[], limits: Partial<SandboxLimits> = {}, demands: SandboxTemplate['demands'] = []): SandboxTemplate {
    const { mounts, zygote } = this.#subject;
    const rest = { environment: {}, mounts, network: 'none', limits: { ...LIMITS, ...limits }, demands } as const;
    return { name: 'contract', command, ...rest, ...(zygote ? { zygote } : {}), ...this.context.additions };
  }

  create(command: readonly string[], limits: Partial<SandboxLimits> = {}, provider = this.provider, signal = NEVER): Promise<Sandbox> {
    const id = parseSandboxId(`s${(this.#count += 1)}`);
    return provider.create({ id, template: this.template(command, limits) }, signal);
  }

  /** Runs a command to its end, with nothing on stdin. */
  async run(
    command: readonly string[],
    limits: Partial<SandboxLimits> = {},
  ): Promise<{ exit: SandboxExit; stdout: string; stderr: string }> {
    const sandbox = await this.create(command, limits);
    sandbox.stdin.end();
    const [stdout, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exit]);
    await sandbox.destroy();
    return { exit, stdout, stderr };
  }

  /** What a Python program printed; it must end with code 0. */
  async python(source: string, limits: Partial<SandboxLimits> = {}): Promise<string> {
    const { exit, stdout, stderr } = await this.run(this.commands.python(source), limits);
    expect({ exit, stderr }, `the program, which ended with ${JSON.stringify(exit)}:\n${stderr}`).toEqual({
      exit: { kind: 'exited', code: 0 },
      stderr: '',
    });
    return stdout.trim();
  }

  /** Something that goes wrong in one sandbox must not be felt by its neighbour, nor leave anything. */
  async withUnaffectedNeighbour(act: () => Promise<void>): Promise<void> {
    const neighbour = await this.create(this.commands.echo());
    await act();
    await exchange(neighbour, 'still there?\n');
    await neighbour.destroy();
    await this.expectNothingLeft();
  }

  /** No process that carries the marker, and no other trace of a sandbox. */
  async expectNothingLeft(): Promise<void> {
    await eventually('no process with the marker is left', async () => (await this.markedProcesses()).length === 0);
    expect(await this.context.traces()).toEqual([]);
  }

  async markedProcesses(): Promise<readonly string[]> {
    if (this.context.markedProcesses) return this.context.markedProcesses(this.marker);
    const found: string[] = [];
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
      // bubblewrap's own processes carry the program's arguments behind theirs.
      if (argv.includes(this.marker) && argv[0] === 'sh') found.push(pid);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#providers) await provider[Symbol.asyncDispose]();
    expect(this.context.clock.pending, 'timers that were left').toBe(0);
    await this.context[Symbol.asyncDispose]();
  }
}

/** A signal that is never aborted. */
export const NEVER = new AbortController().signal;

/** Sends a line and waits until it has come back. */
export async function exchange(sandbox: Sandbox, line: string): Promise<void> {
  sandbox.stdin.write(line);
  expect(await firstLine(sandbox)).toBe(line);
}

/** The next line of output, with its line break, leaving the stream open. Lines come singly in the scenarios that use it. */
export async function firstLine(sandbox: Sandbox): Promise<string> {
  let line = '';
  while (!line.endsWith('\n')) {
    const chunk: unknown = sandbox.stdout.read();
    if (Buffer.isBuffer(chunk)) line += chunk.toString();
    else if (sandbox.stdout.readableEnded) return line;
    else await moreToRead(sandbox.stdout);
  }
  return line;
}

async function moreToRead(output: Readable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  output.once('readable', resolve).once('end', resolve);
  await promise;
  output.off('readable', resolve).off('end', resolve);
}
