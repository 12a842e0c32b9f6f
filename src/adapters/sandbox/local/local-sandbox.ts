import { rm, rmdir } from 'node:fs/promises';
import { type Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { PastExposure } from '../../../pool/ports/exposure.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { SandboxUsage } from '../../../kernel/sandbox-usage.ts';
import { Once } from '../../../kernel/once.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import type { Inbox } from './inbox.ts';
import type { ProgramInput } from './program/program-input.ts';
import type { ProgramOutput } from './program/program-output.ts';
import type { SandboxCgroup } from './cgroups/sandbox-cgroup.ts';
import { EXIT_KILLED, type ProgramEnd, type SandboxedProgram } from './program/sandboxed-program.ts';

/** A sandbox's resources outside of itself. */
export interface SandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly directory: string;
  readonly inbox: Inbox;
  readonly cgroup: SandboxCgroup | undefined;
  readonly program: SandboxedProgram;
  readonly shares: ReadonlySet<string>;
  readonly past: PastExposure;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Called once, when nothing of it is left. */
  readonly onGone: () => void;
}

interface Ended {
  /** Why Muster ended it, if it did. */
  readonly verdict: SandboxExit | undefined;
  readonly end: ProgramEnd;
  /** The number of processes that the memory limit has ended. */
  readonly memoryKills: number;
}

/**
 * A program on this machine and its resources.
 *
 * It runs from construction until the program has ended, for whatever reason; then its control group and directory are removed automatically and
 * `exit` resolves. `destroy` only hastens that end. The first reason for the end counts.
 */
export class LocalSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly shares: ReadonlySet<string>;
  readonly past: PastExposure;
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: Required<Pick<SandboxCapabilities, 'remove' | 'usage'>> = {
    remove: (path) => this.#remove(path),
    usage: async () => this.#used ?? (await this.#readCgroupUsage()),
  };
  readonly #parts: SandboxParts;
  readonly #lifetime: Disposable;
  /** Resolves when the program has ended, with its control group's figures, which are not read afterwards. */
  readonly #ended: Promise<Ended>;
  /** Why Muster ended it, if it did. */
  #verdict: SandboxExit | undefined;
  #hasEnded = false;
  /** It is set once the sandbox has ended. */
  #used: SandboxUsage | undefined;
  readonly #release = new Once(() => this.#clear());

  constructor(parts: SandboxParts) {
    const { program, clock, lifetimeSeconds } = parts;
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.shares = parts.shares;
    this.past = parts.past;
    this.#parts = parts;
    this.stdin = program.stdin;
    this.stdout = program.stdout;
    this.stderr = program.stderr;
    this.#lifetime = clock.after(lifetimeSeconds * 1000, () => this.#kill({ kind: 'lifetime' }));
    this.#ended = this.#account();
    this.exit = this.#finish();
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#parts.inbox.receive(path, content, signal);
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#parts.inbox.remove(path);
    } catch (error) {
      throw new InfrastructureError('sandbox.upload', `"${path}" could not be removed: ${getMessage(error)}`, { cause: error });
    }
  }

  async destroy(): Promise<void> {
    this.#kill({ kind: 'destroyed' });
    await this.#ended;
    await this.#release.run();
  }

  async #account(): Promise<Ended> {
    const end = await this.#parts.program.ended;
    this.#hasEnded = true;
    const verdict = this.#verdict;
    this.#lifetime[Symbol.dispose]();
    this.#used = { ...end.usage };
    // Muster knows why it ended it, and hundreds may end at a time.
    if (verdict) return { verdict, end, memoryKills: 0 };
    const memoryKills = (await this.#parts.cgroup?.countMemoryKills().catch(() => 0)) ?? 0;
    this.#used = { ...this.#used, ...(await this.#readCgroupUsage().catch(() => ({}))) };
    return { verdict, end, memoryKills };
  }

  /** Never rejects: the caller of `destroy` gets the removal's error, and a later sweep tries again. */
  async #finish(): Promise<SandboxExit> {
    const { verdict, end, memoryKills } = await this.#ended;
    await this.#release.run().catch(() => {});
    this.stdout.drain();
    this.stderr.drain();
    await Promise.all([this.stdout.complete, this.stderr.complete]);
    return verdict ?? toExit(end, memoryKills);
  }

  async #readCgroupUsage(): Promise<SandboxUsage> {
    return (await this.#parts.cgroup?.usage()) ?? {};
  }

  #kill(verdict: SandboxExit): void {
    if (this.#hasEnded) return;
    this.#verdict ??= verdict;
    this.#parts.program.kill();
  }

  async #clear(): Promise<void> {
    const { program, inbox, cgroup, clock, directory, onGone } = this.#parts;
    // A control group cannot be removed before the last process in it is gone, and kills what is left.
    if (!cgroup) await program.waitUntilGone();
    const { end } = await this.#ended;
    const hasGroups = end.kind !== 'exited' || end.areGroupsRemoved !== true;
    await Promise.all([inbox.close(), hasGroups ? cgroup?.remove(clock) : undefined]);
    await removeSite(directory, inbox);
    onGone();
  }
}

/** Removes what is known to be in it; searches it only where there is something else. */
async function removeSite(directory: string, inbox: Inbox): Promise<void> {
  try {
    await inbox.discard();
    await rmdir(directory);
  } catch {
    await rm(directory, { recursive: true, force: true });
  }
}

function toExit(end: ProgramEnd, memoryKills: number): SandboxExit {
  switch (end.kind) {
    case 'exited':
      return memoryKills > 0 && end.code === EXIT_KILLED ? { kind: 'out-of-memory' } : { kind: 'exited', code: end.code };
    case 'lost':
      return memoryKills > 0 && end.wasKilled ? { kind: 'out-of-memory' } : { kind: 'lost', detail: end.detail };
  }
}
