/* oxlint-disable vitest/no-standalone-expect -- what several test files share */
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxExit, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Isolation, Mount, SandboxLimits, SandboxTemplate, Zygote } from '../../src/pool/ports/template.ts';
import { exchange, NEVER } from '../contract/sandbox-fixture.ts';
import { BubblewrapContext, type ContextOptions } from '../support/bubblewrap-context.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';

const MEBIBYTE = 2 ** 20;
const LIMITS: SandboxLimits = {
  memoryBytes: 128 * MEBIBYTE,
  processes: 32,
  cpus: 2,
  diskBytes: 16 * MEBIBYTE,
  lifetimeSeconds: 3600,
};
export const RUNNER = path.join(import.meta.dirname, '../../runner');
const { executable, mounts } = pythonInterpreter();

/** The interpreter of the forked sandboxes, and what they see of the host. */
export const PYTHON = executable;
export const FORKED_MOUNTS: readonly Mount[] = [...mounts, { source: RUNNER, target: '/runner' }];
export const ZYGOTE: Zygote = { python: executable, program: '/runner/zygote.py', imports: [], isRequired: true };

/** Answers every line with the same line, and so shows that its sandbox is as it was. */
export const ECHO = ['sh', '-c', 'cat'] as const;

/** Raw system calls for the attackers: `call` gives 0 or the error's name, whatever C library and Python would have made of it. */
const TOOLS = `
import ctypes, errno, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return result if result >= 0 else errno.errorcode[ctypes.get_errno()]
def asked(name, *arguments):
    """The same by a function of the C library."""
    return 'done' if getattr(libc, name)(*arguments) == 0 else errno.errorcode[ctypes.get_errno()]
def refused(act, *arguments):
    """None when it worked, else the error's name."""
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
`;

export interface Ended {
  readonly exit: SandboxExit;
  readonly stdout: string;
  readonly stderr: string;
}

/** The ways that sandboxes start, which the walls are the same for. */
export const WAYS = ['forked', 'plain'] as const;

/** Real sandboxes of one provider, forked unless it is said otherwise: a neighbour that has to go on answering, and attackers. */
export class AttackFixture implements AsyncDisposable {
  readonly context: BubblewrapContext;
  readonly provider: SandboxProvider;
  readonly #zygote: Zygote | undefined;
  #count = 0;

  private constructor(context: BubblewrapContext, zygote: Zygote | undefined) {
    this.context = context;
    this.#zygote = zygote;
    this.provider = context.provider();
  }

  static async open({
    start = 'forked',
    ...options
  }: ContextOptions & { readonly start?: (typeof WAYS)[number] } = {}): Promise<AttackFixture> {
    const zygote = start === 'forked' ? (options.zygote ?? ZYGOTE) : undefined;
    return new AttackFixture(await BubblewrapContext.open(FORKED_MOUNTS, { ...options, zygote }), zygote);
  }

  template(command: readonly string[], changes: Partial<SandboxTemplate> = {}): SandboxTemplate {
    const rest = { environment: {}, mounts: FORKED_MOUNTS, network: 'none', limits: LIMITS, demands: [] } as const;
    return { name: 'attacked', command, ...rest, ...(this.#zygote ? { zygote: this.#zygote } : {}), ...changes };
  }

  create(command: readonly string[], changes: Partial<SandboxTemplate> = {}, signal = NEVER): Promise<Sandbox> {
    const id = parseSandboxId(`s${(this.#count += 1)}`);
    return this.provider.create({ id, template: this.template(command, changes) }, signal);
  }

  /** A sandbox that runs this Python program. */
  attacker(source: string, limits: Partial<SandboxLimits> = {}): Promise<Sandbox> {
    return this.create([PYTHON, '-I', '-c', TOOLS + source], { limits: { ...LIMITS, ...limits } });
  }

  /** Runs it to its end, with nothing on stdin. */
  async run(source: string, limits: Partial<SandboxLimits> = {}): Promise<Ended> {
    const sandbox = await this.attacker(source, limits);
    sandbox.stdin.end();
    const [stdout, stderr, exit] = await Promise.all([text(sandbox.stdout), text(sandbox.stderr), sandbox.exit]);
    return { exit, stdout: stdout.trim(), stderr };
  }

  /** What it prints as JSON on its last line; it must end with code 0 and say nothing else on stderr. */
  async report(source: string, limits: Partial<SandboxLimits> = {}): Promise<unknown> {
    const { exit, stdout, stderr } = await this.run(`import json\n${source}`, limits);
    expect({ exit, stderr }).toEqual({ exit: { kind: 'exited', code: 0 }, stderr: '' });
    return JSON.parse(stdout.split('\n').at(-1) ?? '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    expect(this.context.clock.pending, 'timers that were left').toBe(0);
    expect(await this.context.traces()).toEqual([]);
    await this.context[Symbol.asyncDispose]();
  }
}

/** A sandbox that attacks may not touch. */
export class Neighbour {
  readonly sandbox: Sandbox;
  #questions = 0;

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  async answers(): Promise<void> {
    await exchange(this.sandbox, `still there? ${(this.#questions += 1)}\n`);
  }
}

/** What holds the limits of forked sandboxes on this machine. */
export async function limitsHere(): Promise<Isolation['limits']> {
  await using fixture = await AttackFixture.open();
  return (await fixture.provider.describe(fixture.template(ECHO))).limits;
}
