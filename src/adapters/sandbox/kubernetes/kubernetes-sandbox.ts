import { sleep, type Clock } from '../../../kernel/clock.ts';
import { Deadline } from '../../../kernel/deadline.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { PodFetching as PodFetchingSettings } from './settings/pod-template.ts';
import type { Sandbox, SandboxCapabilities, SandboxExit } from '../../../pool/ports/sandbox.ts';
import type { UploadContent } from '../../../pool/ports/upload-target.ts';
import type { Isolation } from '../../../pool/ports/template.ts';
import { SandboxEnding } from '../sandbox-ending.ts';
import { INBOX_CONTAINER } from './pods/container-names.ts';
import type { FollowedPod } from './pods/pod-kind.ts';
import { canRunCommand, uploadToInbox, type InboxExec } from './files/inbox-upload.ts';
import type { NodeCaches } from './files/node-caches.ts';
import { PodFetching } from './files/pod-fetching.ts';
import type { PodLine } from './exec/pod-line.ts';
import type { PodEnd } from './cluster/pod-view.ts';
import type { ProgramChannel, ProgramEnd } from './exec/program-channel.ts';

export interface KubernetesSandboxParts {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly pod: FollowedPod;
  readonly line: PodLine;
  readonly channel: ProgramChannel;
  readonly fetching?: PodFetchingSettings | undefined;
  readonly caches: NodeCaches;
  readonly clock: Clock;
  readonly lifetimeSeconds: number;
  /** Resolves when nothing is left of the pod. */
  readonly remove: () => Promise<void>;
  /** Called once, after that. */
  readonly onGone: () => void;
}

/** The code of a program that SIGKILL ended: by itself, or with its whole container. */
const EXIT_KILLED = 128 + 9;
/** How long a node may take to report that the container ended, after the program in it has. */
const SETTLE_MS = 3_000;
/** Longer than an exec takes to open when hundreds are opened at once. */
const ANSWER_MS = 15_000;

/** A program in a pod. When the program or the pod has ended, whichever is reported first, the pod is deleted automatically. */
export class KubernetesSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation: Isolation;
  readonly stdin: ProgramChannel['stdin'];
  readonly stdout: ProgramChannel['stdout'];
  readonly stderr: ProgramChannel['stderr'];
  readonly exit: Promise<SandboxExit>;
  readonly capabilities: SandboxCapabilities;
  readonly #parts: KubernetesSandboxParts;
  readonly #inbox: InboxExec;
  readonly #ending: SandboxEnding;
  readonly #over = new AbortController();
  /** Says how the program ended, by its own account. */
  #programsWord: SandboxExit | undefined;

  constructor(parts: KubernetesSandboxParts) {
    this.id = parts.id;
    this.isolation = parts.isolation;
    this.stdin = parts.channel.stdin;
    this.stdout = parts.channel.stdout;
    this.stderr = parts.channel.stderr;
    this.#parts = parts;
    const { fetching: settings, pod, line, caches } = parts;
    const inbox: InboxExec = (command, uploading) => line.exec(pod.name, INBOX_CONTAINER, command, uploading);
    this.#inbox = inbox;
    const fetching = settings && new PodFetching({ settings, pod, inbox, caches, over: this.#over.signal });
    this.capabilities = { fetching, isReachable: () => this.#isReachable() };
    this.#ending = this.#makeEnding();
    this.exit = this.#ending.exit;
    this.#watch();
  }

  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string> {
    return uploadToInbox(this.#inbox, path, content, AbortSignal.any([signal, this.#over.signal]));
  }

  /** Tells whether the connection answers, and the node: a command runs in the pod's other container. */
  async #isReachable(): Promise<boolean> {
    const { channel, clock } = this.#parts;
    const createTimeoutError = (): Error =>
      new InfrastructureError('sandbox.unreachable', `the pod did not answer within ${ANSWER_MS / 1000} s`);
    using deadline = new Deadline(clock, ANSWER_MS, createTimeoutError, this.#over.signal);
    return (await channel.answers(deadline.signal)) && (await canRunCommand(this.#inbox, deadline.signal));
  }

  destroy(): Promise<void> {
    return this.#ending.destroy();
  }

  #makeEnding(): SandboxEnding {
    const { pod, channel, clock, lifetimeSeconds, remove, onGone } = this.#parts;
    const watching = pod.onChange(() => this.#look());
    return new SandboxEnding({
      clock,
      lifetimeSeconds,
      stop: () => {
        watching[Symbol.dispose]();
        this.#over.abort(new InfrastructureError('sandbox.gone', 'the sandbox has ended'));
        channel.terminate();
      },
      remove: async () => {
        await remove();
        onGone();
      },
      complete: channel.ended,
    });
  }

  #watch(): void {
    const { line, channel } = this.#parts;
    this.#look();
    void line.spoilt.then((detail) => this.#ending.begin({ kind: 'lost', detail }));
    void channel.ended.then(async (end) => this.#ending.begin(await this.#judge(end)));
  }

  #look(): void {
    const exit = this.#readPodExit();
    if (exit) this.#ending.begin(exit);
  }

  #readPodExit(): SandboxExit | undefined {
    const { state } = this.#parts.pod;
    switch (state.kind) {
      case 'ended':
        // When a container ends with its program, its state gives no more reason than the program's exit.
        return state.end.kind === 'ended' && this.#programsWord ? this.#programsWord : toExit(state.end);
      case 'gone':
        return { kind: 'lost', detail: 'its pod was deleted' };
      case 'ready':
      case 'pending':
      case 'unseen':
        return undefined;
    }
  }

  async #judge(end: ProgramEnd): Promise<SandboxExit> {
    if (end.kind !== 'exited') return (await this.#awaitPodExit()) ?? { kind: 'lost', detail: end.detail };
    const exit: SandboxExit = { kind: 'exited', code: end.code };
    if (end.code !== EXIT_KILLED) return exit;
    if (this.#parts.line.endsContainer) this.#programsWord = exit;
    return (await this.#awaitPodExit()) ?? exit;
  }

  /** Returns the pod's reason for an end that it may have caused, if it reports one in time. */
  async #awaitPodExit(): Promise<SandboxExit | undefined> {
    const { clock, pod } = this.#parts;
    const settled = new AbortController();
    using _watching = pod.onChange(() => {
      if (this.#readPodExit()) settled.abort();
    });
    if (!this.#readPodExit()) await sleep(clock, SETTLE_MS, AbortSignal.any([settled.signal, this.#over.signal])).catch(() => undefined);
    return this.#readPodExit();
  }
}

function toExit({ kind, detail }: PodEnd): SandboxExit {
  switch (kind) {
    case 'out-of-memory':
      return { kind: 'out-of-memory' };
    case 'deadline':
      return { kind: 'lifetime' };
    case 'evicted':
    case 'preempted':
    case 'node-lost':
    case 'ended':
    case 'deleted':
      return { kind: 'lost', detail: `${kind}: ${detail}` };
  }
}
