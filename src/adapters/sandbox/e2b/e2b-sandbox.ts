import type { Sandbox as RemoteSandbox } from 'e2b';
import { raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import { SandboxEnding } from '../sandbox-ending.ts';
import { RemoteFetching } from './remote-fetching.ts';
import { RemoteInbox } from './remote-inbox.ts';
import type { RemoteInput } from './remote-input.ts';
import type { RemoteOutput } from './remote-output.ts';
import type { RemoteProgram } from './remote-program.ts';
import type { E2bService } from './service.ts';
import { IdlePause } from './idle-pause.ts';
import { Tenancy } from './tenancy.ts';

/** A command's start and end, where the service is busy. */
const ANSWER_MS = 15_000;

/** A sandbox's resources outside of itself. */
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
  /** Called once, when nothing of it is left. */
  readonly onGone: () => void;
}

/** A program in a sandbox of E2B. When the program has ended, for whatever reason, the sandbox is ended automatically. */
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
  readonly #tenancy: Tenancy;
  readonly #pausing: IdlePause;
  readonly #ending: SandboxEnding;

  constructor(parts: SandboxParts) {
    const { program, clock, remote, service, lifetimeSeconds, tenancySeconds, fetchesWith } = parts;
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.#parts = parts;
    this.stdin = program.stdin;
    this.stdout = program.stdout;
    this.stderr = program.stderr;
    this.#inbox = new RemoteInbox(remote, clock);
    this.#pausing = new IdlePause({ pause: () => this.#pause(), wakeUp: () => this.#resume() });
    program.wake = () => this.#pausing.wake();
    const wake = (): Promise<void> | undefined => this.#pausing.wake();
    const fetching = fetchesWith === undefined ? undefined : new RemoteFetching(remote, fetchesWith, program.signal, wake);
    this.capabilities = { fetching, rest: () => this.#pausing.rest(), isReachable: () => this.#isReachable() };
    const stop = (): void => program.abandon();
    this.#ending = new SandboxEnding({ clock, lifetimeSeconds, stop, remove: () => this.#remove(), complete: program.ended });
    this.#tenancy = new Tenancy(service, remote.sandboxId, tenancySeconds, clock, (detail) => this.#ending.begin({ kind: 'lost', detail }));
    this.exit = this.#ending.exit;
    void program.ended.then((end) => this.#ending.begin(end));
  }

  async upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    await this.#pausing.wake();
    return this.#inbox.receive(path, content, signal);
  }

  /** Tells whether its connection has not broken, and a command runs beside it. */
  async #isReachable(): Promise<boolean> {
    const { remote, program } = this.#parts;
    if (program.signal.aborted) return false;
    try {
      const { signal } = program;
      await raceWithAbort(remote.commands.run('true', { timeoutMs: ANSWER_MS, requestTimeoutMs: ANSWER_MS, signal }), signal);
      return !signal.aborted;
    } catch {
      return false;
    }
  }

  destroy(): Promise<void> {
    return this.#ending.destroy();
  }

  /** The program continues where it was; only its connection has to be made again. It owes nothing, so nothing is missed meanwhile. */
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

  /** E2B itself ends a sandbox that is not extended, should this fail. */
  async #remove(): Promise<void> {
    await this.#parts.program.ended;
    this.#tenancy[Symbol.dispose]();
    this.#inbox.close();
    await this.#parts.service.kill(this.#parts.remote.sandboxId);
    this.#parts.onGone();
  }
}
