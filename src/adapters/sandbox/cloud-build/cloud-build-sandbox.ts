import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { ProgramChannel, ProgramEnd } from '../kubernetes/exec/program-channel.ts';
import { uploadToInbox } from '../kubernetes/files/inbox-upload.ts';
import type { BuildLine } from './build-line.ts';
import type { RunningBuild } from './running-build.ts';

export interface CloudBuildSandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly build: RunningBuild;
  readonly line: BuildLine;
  /** Of its program. */
  readonly channel: ProgramChannel;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
}

/** How long Cloud Build may take to say what has become of a build whose connection is lost. */
const SETTLE_MS = 10_000;
const HEARD_MS = 15_000;

/**
 * A program in a build. It runs until the program has ended, or the connection to it; then, by itself, the build is cancelled and `exit` resolves.
 * `destroy` only hastens that end. The first reason for the end is the one that counts.
 */
export class CloudBuildSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: ProgramChannel['stdin'];
  readonly stdout: ProgramChannel['stdout'];
  readonly stderr: ProgramChannel['stderr'];
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: SandboxCapabilities;
  readonly #parts: CloudBuildSandboxParts;
  readonly #verdict = Promise.withResolvers<SandboxExit>();
  readonly #over = new AbortController();
  #removal: Promise<void> | undefined;

  constructor(parts: CloudBuildSandboxParts) {
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.stdin = parts.channel.stdin;
    this.stdout = parts.channel.stdout;
    this.stderr = parts.channel.stderr;
    this.#parts = parts;
    this.capabilities = { isHeard: () => parts.channel.answers(AbortSignal.any([this.#over.signal, AbortSignal.timeout(HEARD_MS)])) };
    this.exit = this.#awaitExit();
  }

  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    const { line } = this.#parts;
    const either = AbortSignal.any([signal, this.#over.signal]);
    return uploadToInbox((command, uploading) => line.exec(command, uploading), path, content, either);
  }

  async destroy(): Promise<void> {
    this.#verdict.resolve({ kind: 'destroyed' });
    await this.#verdict.promise;
    await this.#remove();
    await this.exit;
  }

  /** Never rejects: the caller of `destroy` gets the removal's error, and a sweep tries again. */
  async #awaitExit(): Promise<SandboxExit> {
    const { line, channel, clock, lifetimeSeconds } = this.#parts;
    using _lifetime = clock.after(lifetimeSeconds * 1000, () => this.#verdict.resolve({ kind: 'lifetime' }));
    void line.spoilt.then((detail) => this.#verdict.resolve({ kind: 'lost', detail }));
    void channel.ended.then(async (end) => this.#verdict.resolve(await this.#judge(end)));
    const verdict = await this.#verdict.promise;
    this.#over.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
    channel.terminate();
    await channel.ended;
    await this.#remove().catch(() => undefined);
    return verdict;
  }

  async #judge(end: ProgramEnd): Promise<SandboxExit> {
    if (end.kind === 'exited') return end;
    const detail = await this.#parts.build.describe(AbortSignal.any([this.#over.signal, AbortSignal.timeout(SETTLE_MS)]));
    return { kind: 'lost', detail: `${end.detail}; ${detail}` };
  }

  #remove(): Promise<void> {
    const { line, build } = this.#parts;
    line[Symbol.dispose]();
    this.#removal ??= build.end().catch((error: unknown) => {
      this.#removal = undefined;
      throw error;
    });
    return this.#removal;
  }
}
