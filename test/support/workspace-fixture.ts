import path from 'node:path';
import { createWorkspaceTemplate } from '../../src/adapters/sandbox/local/template/workspace-template.ts';
import type { Command, CommandResult } from '../../src/agents/workspace/command.ts';
import { WorkspaceSession } from '../../src/agents/workspace/workspace-session.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseSandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { Mount, SandboxLimits } from '../../src/pool/ports/template.ts';
import { BubblewrapContext } from './bubblewrap-context.ts';

const PROJECT = path.join(import.meta.dirname, '../..');
export const LIMITS: SandboxLimits = { memoryBytes: 512 * 2 ** 20, processes: 64, cpus: 2, diskBytes: 64 * 2 ** 20, lifetimeSeconds: 300 };
export const ENVIRONMENT = { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' };

export interface WorkspaceOptions {
  readonly root?: string;
  readonly writable?: readonly string[];
  readonly limits?: Partial<SandboxLimits>;
  readonly start?: 'forked' | 'plain';
  readonly mounts?: readonly Mount[];
}

/** Workspaces on this machine, each in a real sandbox; gone, and looked for, with the fixture. */
export class WorkspaceFixture implements AsyncDisposable {
  readonly context: BubblewrapContext;
  readonly #provider: SandboxProvider;
  #made = 0;

  private constructor(context: BubblewrapContext) {
    this.context = context;
    this.#provider = context.provider();
  }

  static async open(): Promise<WorkspaceFixture> {
    return new WorkspaceFixture(await BubblewrapContext.open([]));
  }

  async workspace({ root, writable = ['/app'], limits = {}, start = 'forked', mounts = [] }: WorkspaceOptions = {}): Promise<{
    sandbox: Sandbox;
    session: WorkspaceSession;
  }> {
    const settings = { root, writable, limits: { ...LIMITS, ...limits }, demands: [], mounts, start };
    const signal = AbortSignal.timeout(60_000);
    const template = await createWorkspaceTemplate('workspace', settings, { projectDirectory: PROJECT, signal });
    const sandbox = await this.#provider.create({ id: parseSandboxId(`w${(this.#made += 1)}`), template }, signal);
    return { sandbox, session: await WorkspaceSession.open(sandbox, systemClock, signal) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
    await this.context[Symbol.asyncDispose]();
  }
}

/** Runs a command of /bin/sh. */
export function shell(session: WorkspaceSession, script: string, changes: Partial<Command> = {}): Promise<CommandResult> {
  return session.run({ ...commandOf(['/bin/sh', '-c', script]), ...changes }, AbortSignal.timeout(120_000));
}

export function commandOf(argv: readonly string[]): Command {
  return { argv, directory: '/app', environment: ENVIRONMENT, seconds: 20, output: { head: 65_536, tail: 65_536, most: 2 ** 24 } };
}
