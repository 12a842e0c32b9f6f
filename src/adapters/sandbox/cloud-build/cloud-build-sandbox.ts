import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { ProgramChannel, ProgramEnd } from '../kubernetes/exec/program-channel.ts';
import { uploadToInbox } from '../kubernetes/files/inbox-upload.ts';
import { SandboxEnding } from '../sandbox-ending.ts';
import type { BuildLine } from './build-line.ts';
import type { RunningBuild } from './running-build.ts';

export interface CloudBuildSandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly build: RunningBuild;
  readonly line: BuildLine;
  readonly channel: ProgramChannel;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Called once, when nothing of it is left. */
  readonly onGone: () => void;
}

/** The time in which Cloud Build has to report the state of a build whose connection is lost. */
const SETTLE_MS = 10_000;
const ANSWER_MS = 15_000;

/** A program in a build. When the program or the connection to it has ended, the build is cancelled automatically. */
export class CloudBuildSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: ProgramChannel['stdin'];
  readonly stdout: ProgramChannel['stdout'];
  readonly stderr: ProgramChannel['stderr'];
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: SandboxCapabilities;
  readonly #parts: CloudBuildSandboxParts;
  readonly #ending: SandboxEnding;
  readonly #over = new AbortController();

  constructor(parts: CloudBuildSandboxParts) {
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.stdin = parts.channel.stdin;
    this.stdout = parts.channel.stdout;
    this.stderr = parts.channel.stderr;
    this.#parts = parts;
    this.capabilities = { isReachable: () => parts.channel.answers(AbortSignal.any([this.#over.signal, AbortSignal.timeout(ANSWER_MS)])) };
    const { line, channel, clock, lifetimeSeconds } = parts;
    const stop = (): void => this.#stop();
    this.#ending = new SandboxEnding({ clock, lifetimeSeconds, stop, remove: () => this.#remove(), complete: channel.ended });
    this.exit = this.#ending.exit;
    void line.spoilt.then((detail) => this.#ending.begin({ kind: 'lost', detail }));
    void channel.ended.then(async (end) => this.#ending.begin(await this.#judge(end)));
  }

  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    const { line } = this.#parts;
    const either = AbortSignal.any([signal, this.#over.signal]);
    return uploadToInbox((command, uploading) => line.exec(command, uploading), path, content, either);
  }

  destroy(): Promise<void> {
    return this.#ending.destroy();
  }

  #stop(): void {
    this.#over.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
    this.#parts.channel.terminate();
  }

  async #judge(end: ProgramEnd): Promise<SandboxExit> {
    if (end.kind === 'exited') return end;
    const detail = await this.#parts.build.describe(AbortSignal.any([this.#over.signal, AbortSignal.timeout(SETTLE_MS)]));
    return { kind: 'lost', detail: `${end.detail}; ${detail}` };
  }

  async #remove(): Promise<void> {
    const { line, build, onGone } = this.#parts;
    line[Symbol.dispose]();
    await build.end();
    onGone();
  }
}
