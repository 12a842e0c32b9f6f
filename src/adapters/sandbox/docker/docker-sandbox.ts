import { rm } from 'node:fs/promises';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { Inbox } from '../local/inbox.ts';
import { SandboxEnding } from '../sandbox-ending.ts';
import type { AttachedStreams } from './attached-streams.ts';
import type { Daemon } from './daemon.ts';
import { getStatus } from './daemon-error.ts';

export interface DockerSandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly daemon: Daemon;
  /** Its id at the daemon. */
  readonly container: string;
  readonly streams: AttachedStreams;
  /** Directory of this sandbox alone, with its inbox. */
  readonly directory: string;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Called once, when nothing of it is left. */
  readonly onGone: () => void;
}

/** The code of a program that SIGKILL ended: its own, the kernel's, or the daemon's. */
const EXIT_KILLED = 128 + 9;

/** A program in a container. When the program has ended, for whatever reason, the container is removed automatically. */
export class DockerSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: AttachedStreams['stdin'];
  readonly stdout: AttachedStreams['stdout'];
  readonly stderr: AttachedStreams['stderr'];
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: SandboxCapabilities = { remove: (path) => this.#take(path) };
  readonly #parts: DockerSandboxParts;
  readonly #ending: SandboxEnding;

  constructor(parts: DockerSandboxParts) {
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.stdin = parts.streams.stdin;
    this.stdout = parts.streams.stdout;
    this.stderr = parts.streams.stderr;
    this.#parts = parts;
    const { clock, lifetimeSeconds, streams } = parts;
    const stop = (reason: SandboxExit): void => this.#stop(reason);
    this.#ending = new SandboxEnding({ clock, lifetimeSeconds, stop, remove: () => this.#clear(), complete: streams.complete });
    this.exit = this.#ending.exit;
    void this.#waitForEnd().then((exit) => this.#ending.begin(exit));
  }

  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return this.#parts.inbox.receive(path, content, signal);
  }

  destroy(): Promise<void> {
    return this.#ending.destroy();
  }

  /** The program itself ends with its container. */
  #stop(reason: SandboxExit): void {
    const { streams } = this.#parts;
    streams.drain();
    if (reason.kind === 'lost') streams.close();
  }

  /** Resolves with how the program ended, once it has. */
  async #waitForEnd(): Promise<SandboxExit> {
    const { daemon, container, streams } = this.#parts;
    try {
      const code = await daemon.wait(container);
      streams.drain();
      // The daemon delivers the last output before it ends the connection.
      await streams.complete;
      const state = await daemon.state(container);
      if (state.Status === 'removing' || state.Dead) return { kind: 'lost', detail: 'its container is being removed' };
      return code === EXIT_KILLED && state.OOMKilled ? { kind: 'out-of-memory' } : { kind: 'exited', code };
    } catch (error) {
      if (getStatus(error) === 404) return { kind: 'lost', detail: 'its container was removed' };
      return { kind: 'lost', detail: `the Docker daemon does not say how it ended: ${getMessage(error)}` };
    }
  }

  async #take(path: string): Promise<void> {
    try {
      await this.#parts.inbox.remove(path);
    } catch (error) {
      throw new InfrastructureError('sandbox.upload', `"${path}" could not be removed: ${getMessage(error)}`, { cause: error });
    }
  }

  async #clear(): Promise<void> {
    const { daemon, container, streams, inbox, directory, onGone } = this.#parts;
    try {
      await daemon.remove(container);
      await inbox.close();
      await rm(directory, { recursive: true, force: true });
    } catch (error) {
      streams.close();
      throw error;
    }
    onGone();
  }
}
