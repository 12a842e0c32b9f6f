import { rm } from 'node:fs/promises';
import { type Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxExit, UploadContent } from '../../../pool/sandbox.ts';
import type { Isolation } from '../../../pool/template.ts';
import type { Inbox } from '../local/inbox.ts';
import type { LaunchedProcess } from './launcher.ts';
import { ProgramInput } from '../local/program-input.ts';
import { ProgramOutput } from '../local/program-output.ts';
import type { SandboxCgroup } from '../local/sandbox-cgroup.ts';
import { childrenOf, killProcess, startTimeOf, untilGone } from '../local/process-table.ts';
import { killSandboxProcesses } from '../local/sweep.ts';

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

/** How bubblewrap itself ended. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The code of a program that SIGKILL ended, which is how the kernel enforces a memory limit. */
const KILLED = 128 + 9;

/**
 * One bubblewrap process and what belongs to it.
 *
 * It runs from construction until bubblewrap has exited, for whatever reason; then, without being asked, its control group
 * and directory are removed and `exit` resolves. `destroy` only hastens that end. The first reason for the end is the one
 * that is told.
 */
export class BubblewrapSandbox implements Sandbox {
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
  /** bubblewrap's child, pid 1 inside; only asked for where no control group knows the processes. */
  #firstProcess: { readonly pid: number; readonly startTime: string } | undefined;
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

  /** Resolves with whether the program has been started. */
  async started(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { started, pid } = this.#parts.launched;
    started.once('data', () => resolve(true));
    started.once('close', () => resolve(false));
    started.on('error', () => resolve(false));
    const hasStarted = await promise;
    started.destroy();
    if (hasStarted && !this.#parts.cgroup) this.#firstProcess = await childOf(pid);
    return hasStarted;
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#parts.inbox.receive(path, content, signal);
  }

  async destroy(): Promise<void> {
    this.#kill({ kind: 'destroyed' });
    await this.#ended;
    await this.#release();
  }

  /** Never rejects: what goes wrong with the removal is told to the caller of `destroy`, and a later sweep tries again. */
  async #finish(): Promise<SandboxExit> {
    const end = await this.#ended;
    const verdict = this.#verdict;
    this.#lifetime[Symbol.dispose]();
    const memoryKills = await this.#memoryKills();
    await this.#release().catch(() => {});
    this.stdout.drain();
    this.stderr.drain();
    await Promise.all([this.stdout.complete, this.stderr.complete]);
    return verdict ?? exitOf(end, memoryKills);
  }

  async #memoryKills(): Promise<number> {
    return (await this.#parts.cgroup?.memoryKills().catch(() => 0)) ?? 0;
  }

  /**
   * Killing bubblewrap's monitor makes the kernel kill its child, the first process of the sandbox's pid namespace, and
   * with that one everything in it. The child asks the kernel for this only a moment after it was forked, so it is killed
   * as well: by its control group, by its id, or, when neither is known yet, after a search of the process table.
   */
  #kill(verdict: SandboxExit): void {
    if (this.#hasEnded) return;
    this.#verdict ??= verdict;
    this.#parts.launched.process.kill('SIGKILL');
    if (this.#firstProcess) killProcess(this.#firstProcess.pid);
  }

  #release(): Promise<void> {
    this.#released ??= this.#remove().catch((error: unknown) => {
      this.#released = undefined;
      throw error;
    });
    return this.#released;
  }

  /** Once its first process is gone the kernel has seen to it that all others of its pid namespace are. */
  async #untilProcessesGone(): Promise<void> {
    const { directory, clock } = this.#parts;
    const first = this.#firstProcess;
    if (first) await untilGone(`processes of ${directory}`, async () => (await startTimeOf(first.pid)) !== first.startTime, clock);
    else if ((await this.#ended).signal !== null) await killSandboxProcesses(directory, clock);
  }

  async #remove(): Promise<void> {
    const { inbox, cgroup, clock, directory, onGone } = this.#parts;
    if (!cgroup) await this.#untilProcessesGone();
    await Promise.all([inbox.close(), cgroup?.remove(clock)]);
    await rm(directory, { recursive: true, force: true });
    onGone();
  }
}

async function childOf(pid: number): Promise<{ pid: number; startTime: string } | undefined> {
  const child = (await childrenOf(pid))?.[0];
  const startTime = child && (await startTimeOf(child));
  return child && startTime ? { pid: child, startTime } : undefined;
}

function exitOf({ code, signal }: End, memoryKills: number): SandboxExit {
  if (memoryKills > 0 && (code === KILLED || signal === 'SIGKILL')) return { kind: 'out-of-memory' };
  if (code !== null) return { kind: 'exited', code };
  return { kind: 'lost', detail: `bubblewrap was ended by ${signal ?? 'an unknown signal'} from outside of Muster` };
}

/** Rejects unless the program starts. @throws InfrastructureError with what bubblewrap had to say. */
export async function waitForStart(sandbox: BubblewrapSandbox): Promise<void> {
  if (await sandbox.started()) return;
  const exit = await sandbox.exit;
  const said = String(sandbox.stderr.read() ?? '')
    .trim()
    .slice(0, 2000);
  const how = exit.kind === 'exited' ? `exit code ${exit.code}` : exit.kind;
  throw new InfrastructureError('sandbox.start', `bubblewrap did not start the program (${how}): ${said || 'it said nothing'}`);
}
