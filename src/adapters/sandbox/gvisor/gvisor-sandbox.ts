import { rm } from 'node:fs/promises';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxExit, UploadContent } from '../../../pool/sandbox.ts';
import type { Isolation } from '../../../pool/template.ts';
import type { Inbox } from '../local/inbox.ts';
import { ProgramInput } from '../local/program-input.ts';
import { ProgramOutput } from '../local/program-output.ts';
import type { SandboxCgroup } from '../local/sandbox-cgroup.ts';
import { killSandboxProcesses } from '../local/sweep.ts';
import type { LaunchedProcess } from './launcher.ts';

/** What a sandbox consists of outside of itself. */
export interface SandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly directory: string;
  readonly inbox: Inbox;
  readonly cgroup: SandboxCgroup | undefined;
  readonly launched: LaunchedProcess;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Called once, when nothing is left of it. */
  readonly onGone: () => void;
}

/** How runsc itself ended. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The code of a program that SIGKILL ended, and of runsc when its sandbox was: so the kernel enforces a memory limit. */
const KILLED = 128 + 9;

/**
 * One `runsc run` and what belongs to it: the sentry, which is the kernel inside, and the gofer, which hands it files. Both
 * end with it.
 *
 * It runs from construction until runsc has exited, for whatever reason; then, without being asked, its control group and
 * directory are removed and `exit` resolves. `destroy` only hastens that end. The first reason for the end is the one that
 * is told.
 */
export class GvisorSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: ProgramInput;
  readonly stdout: ProgramOutput;
  readonly stderr: ProgramOutput;
  readonly exit: Promise<SandboxExit>;
  readonly #parts: SandboxParts;
  readonly #ended: Promise<End>;
  readonly #lifetime: Disposable;
  /** Why Muster ended it, if it did. */
  #verdict: SandboxExit | undefined;
  #hasEnded = false;
  #released: Promise<void> | undefined;

  constructor(parts: SandboxParts) {
    const { launched, clock, lifetimeSeconds } = parts;
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.#parts = parts;
    this.stdin = new ProgramInput(launched.stdin);
    this.stdout = new ProgramOutput(launched.stdout);
    this.stderr = new ProgramOutput(launched.stderr);
    const { promise, resolve } = Promise.withResolvers<End>();
    this.#ended = promise;
    launched.process.once('exit', (code, signal) => {
      this.#hasEnded = true;
      resolve({ code, signal });
    });
    this.#lifetime = clock.after(lifetimeSeconds * 1000, () => this.#kill({ kind: 'lifetime' }));
    this.exit = this.#finish();
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#parts.inbox.receive(path, content, signal);
  }

  async destroy(): Promise<void> {
    this.#kill({ kind: 'destroyed' });
    await this.#ended;
    await this.#release();
  }

  /** Rejects unless the program starts. @throws InfrastructureError with what runsc had to say. */
  async waitForStart(): Promise<void> {
    if (await this.#parts.launched.started) return;
    const exit = await this.exit;
    const said = String(this.stderr.read() ?? '')
      .trim()
      .slice(0, 2000);
    const how = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
    throw new InfrastructureError('sandbox.start', `runsc did not start the program (${how}): ${said || 'it said nothing'}`);
  }

  /** Never rejects: what goes wrong with the removal is told to the caller of `destroy`, and a later sweep tries again. */
  async #finish(): Promise<SandboxExit> {
    const end = await this.#ended;
    const verdict = this.#verdict;
    this.#lifetime[Symbol.dispose]();
    const memoryKills = (await this.#parts.cgroup?.memoryKills().catch(() => 0)) ?? 0;
    await this.#release().catch(() => {});
    this.stdout.drain();
    this.stderr.drain();
    await Promise.all([this.stdout.complete, this.stderr.complete]);
    return verdict ?? exitOf(end, memoryKills);
  }

  /** The kernel kills the other processes with runsc; one that it had only just forked is found by what holds them all. */
  #kill(verdict: SandboxExit): void {
    if (this.#hasEnded) return;
    this.#verdict ??= verdict;
    this.#parts.launched.process.kill('SIGKILL');
  }

  #release(): Promise<void> {
    this.#released ??= this.#remove().catch((error: unknown) => {
      this.#released = undefined;
      throw error;
    });
    return this.#released;
  }

  async #remove(): Promise<void> {
    const { inbox, cgroup, clock, directory, onGone } = this.#parts;
    if (!cgroup) await killSandboxProcesses(directory, clock);
    await Promise.all([inbox.close(), cgroup?.remove(clock)]);
    await rm(directory, { recursive: true, force: true });
    onGone();
  }
}

function exitOf({ code, signal }: End, memoryKills: number): SandboxExit {
  if (memoryKills > 0 && (code === KILLED || signal === 'SIGKILL')) return { kind: 'out-of-memory' };
  if (code !== null) return { kind: 'exited', code };
  return { kind: 'lost', detail: `runsc was ended by ${signal ?? 'an unknown signal'} from outside of Muster` };
}
