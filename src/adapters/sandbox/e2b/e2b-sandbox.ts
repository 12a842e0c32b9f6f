import type { Sandbox as RemoteSandbox } from 'e2b';
import { raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import { Once } from '../../../kernel/once.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import { RemoteFetching } from './remote-fetching.ts';
import { RemoteInbox } from './remote-inbox.ts';
import type { RemoteInput } from './remote-input.ts';
import type { RemoteOutput } from './remote-output.ts';
import type { RemoteProgram } from './remote-program.ts';
import type { E2bService } from './service.ts';
import { IdlePause } from './idle-pause.ts';
import { Tenancy } from './tenancy.ts';

/** A command's start and end, where the service is busy. */
const HEARD_MS = 15_000;

/** What a sandbox consists of outside of itself. */
export interface SandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly remote: RemoteSandbox;
  readonly program: RemoteProgram;
  readonly service: E2bService;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** E2B ends the sandbox when it has not been extended for this long. */
  readonly tenancySeconds: number;
  /** The interpreter that fetches files inside; undefined where there is nowhere to fetch from. */
  readonly fetchesWith: string | undefined;
  /** Called once, when nothing is left of it. */
  readonly onGone: () => void;
}

/**
 * A program in a sandbox of E2B's.
 *
 * It runs from construction until the program has ended, for whatever reason; then, without being asked, the sandbox is ended and `exit`
 * resolves. `destroy` only hastens that end. The first reason for the end is the one that counts.
 */
export class E2bSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: RemoteInput;
  readonly stdout: RemoteOutput;
  readonly stderr: RemoteOutput;
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: SandboxCapabilities;
  readonly #parts: SandboxParts;
  readonly #inbox: RemoteInbox;
  readonly #lifetime: Disposable;
  readonly #tenancy: Tenancy;
  readonly #slumber: IdlePause;
  /** Why Muster ended it, if it did. */
  #verdict: SandboxExit | undefined;
  /** The sandbox is ended with all that runs in it. When that fails, the next call tries again. */
  readonly #release = new Once(() => this.#remove());

  constructor(parts: SandboxParts) {
    const { program, clock, remote, service, lifetimeSeconds, tenancySeconds, fetchesWith } = parts;
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.#parts = parts;
    this.stdin = program.stdin;
    this.stdout = program.stdout;
    this.stderr = program.stderr;
    this.#inbox = new RemoteInbox(remote, clock);
    this.#slumber = new IdlePause({ pause: () => this.#pause(), wakeUp: () => this.#resume() });
    program.wake = () => this.#slumber.wake();
    const wake = (): Promise<void> | undefined => this.#slumber.wake();
    const fetching = fetchesWith === undefined ? undefined : new RemoteFetching(remote, fetchesWith, program.signal, wake);
    this.capabilities = { fetching, rest: () => this.#slumber.rest(), isHeard: () => this.#isHeard() };
    this.#lifetime = clock.after(lifetimeSeconds * 1000, () => this.#end({ kind: 'lifetime' }));
    this.#tenancy = new Tenancy(service, remote.sandboxId, tenancySeconds, clock, (detail) => this.#end({ kind: 'lost', detail }));
    this.exit = this.#finish();
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    await this.#slumber.wake();
    return this.#inbox.receive(path, content, signal);
  }

  /** Its connection has not broken, and a command runs beside it. */
  async #isHeard(): Promise<boolean> {
    const { remote, program } = this.#parts;
    if (program.signal.aborted) return false;
    try {
      const { signal } = program;
      await raceWithAbort(remote.commands.run('true', { timeoutMs: HEARD_MS, requestTimeoutMs: HEARD_MS, signal }), signal);
      return !signal.aborted;
    } catch {
      return false;
    }
  }

  async destroy(): Promise<void> {
    this.#end({ kind: 'destroyed' });
    await this.#parts.program.ended;
    await this.#release.run();
  }

  /** The program goes on where it was; only its connection has to be made anew. It owes nothing, so nothing is missed meanwhile. */
  async #pause(): Promise<void> {
    const { program, service, remote } = this.#parts;
    this.#tenancy.hold();
    await program.detach();
    await service.pause(remote.sandboxId, program.signal);
  }

  async #resume(): Promise<void> {
    const { program, service, remote, tenancySeconds } = this.#parts;
    await service.resume(remote.sandboxId, tenancySeconds * 1000, program.signal);
    await program.attach();
    this.#tenancy.goOn();
  }

  #end(verdict: SandboxExit): void {
    this.#verdict ??= verdict;
    this.#parts.program.abandon();
  }

  /** Never rejects: the caller of `destroy` gets the removal's error; E2B ends a sandbox that is not extended. */
  async #finish(): Promise<SandboxExit> {
    const end = await this.#parts.program.ended;
    // Whatever is said from now on, this is why it ended.
    const exit = (this.#verdict ??= end);
    await this.#release.run().catch(() => {});
    return exit;
  }

  async #remove(): Promise<void> {
    this.#lifetime[Symbol.dispose]();
    this.#tenancy[Symbol.dispose]();
    this.#inbox.close();
    await this.#parts.service.kill(this.#parts.remote.sandboxId);
    this.#parts.onGone();
  }
}
