import { createAbortError, raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, InputError, type MusterError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import type { ProgramEnd } from '../local/program/sandboxed-program.ts';
import { AwaitedSandboxes } from './awaited-sandboxes.ts';
import { ForkedProgram } from './forked-program.ts';
import type { ProgramStreams, StreamGate } from './stream-gate.ts';
import { WardenLine, type WardenProcess } from './warden-line.ts';
import { BASE_IMAGE, type ForkedProgramOrder, type ImageContent, type PreloadedPolicy, type WardenReport } from './warden-messages.ts';

/** A program to fork for a sandbox. */
export interface WantedProgram {
  readonly sandbox: SandboxId;
  readonly command: readonly string[];
  readonly image: string;
}

/** A program whose fork is ordered. After disposal, streams that have not connected may no longer do so. */
interface Fork extends Disposable {
  readonly order: ForkedProgramOrder;
  readonly started: Promise<void>;
  readonly ended: Promise<ProgramEnd>;
  readonly streams: Promise<ProgramStreams>;
}

/**
 * Muster's side of a warden (runner/muster_zygote): the process that forks the sandboxes of one template.
 *
 * When it ends, for whatever reason, the kernel ends all its sandboxes; they count as lost, and it makes no more.
 */
export class Warden implements AsyncDisposable {
  readonly #line: WardenLine;
  readonly #gate: Pick<StreamGate, 'expect'>;
  readonly #sandboxes: AwaitedSandboxes;
  /** The images that exist; each promise resolves when its image is ready. */
  readonly #images = new Map<string, PromiseWithResolvers<readonly PreloadedPolicy[]>>();
  /** The base of its sandboxes cannot be made, now or later. */
  #isUnfit = false;

  constructor(process: WardenProcess, gate: Pick<StreamGate, 'expect'>, clock: Clock) {
    this.#gate = gate;
    this.#sandboxes = new AwaitedSandboxes(clock);
    this.#await(BASE_IMAGE);
    this.#line = new WardenLine(process, { onReport: (report) => this.#note(report), onEnd: (how) => this.#onLost(how) });
  }

  /** Whether it holds no sandbox. */
  get isIdle(): boolean {
    return this.#sandboxes.isEmpty;
  }

  /** Whether it makes no more sandboxes. */
  get hasEnded(): boolean {
    return this.#line.hasEnded;
  }

  /**
   * Makes an image that has what its parent has, and the content. Sandboxes can be forked from it at once: they wait for it.
   *
   * @returns what loading its policies took; rejects with an InfrastructureError `sandbox.zygote` when the content cannot be loaded.
   */
  async makeImage(image: string, parent: string, content: ImageContent): Promise<readonly PreloadedPolicy[]> {
    const { promise } = this.#await(image);
    this.#line.order({ type: 'image', image, parent, ...content });
    return await promise;
  }

  /** Whether something can be forked from the image, at once or when it is ready. */
  hasImage(image: string): boolean {
    return this.#images.has(image);
  }

  /** Lets an image end with the last sandbox that was forked from it: nothing more will be. */
  retireImage(image: string): void {
    this.#line.order({ type: 'retire', image });
  }

  /**
   * Resolves when the program is about to begin. One that is forked from an image that is not ready yet waits for it behind its walls.
   *
   * @throws InfrastructureError `sandbox.start`
   */
  async fork(wanted: WantedProgram, signal: AbortSignal): Promise<ForkedProgram> {
    using fork = this.#expect(wanted);
    this.#line.order({ type: 'fork', ...fork.order });
    return await this.#waitForStart(fork, signal);
  }

  /** Forks two programs that are joined by a socket pair. Either both begin, or neither is left. */
  async forkPair(one: WantedProgram, other: WantedProgram, signal: AbortSignal): Promise<readonly [ForkedProgram, ForkedProgram]> {
    using first = this.#expect(one);
    using second = this.#expect(other);
    this.#line.order({ type: 'fork', ...first.order, beside: second.order });
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const waitForStart = async (fork: Fork): Promise<ForkedProgram> => {
      try {
        return await this.#waitForStart(fork, either);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    };
    const [a, b] = await Promise.allSettled([waitForStart(first), waitForStart(second)]);
    if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value];
    await Promise.all([this.#end(first), this.#end(second)]);
    throw signal.aborted ? createAbortError(signal) : failed.signal.reason;
  }

  #expect({ sandbox, command, image }: WantedProgram): Fork {
    if (this.#line.hasEnded) throw this.#createError(this.#line.problem ?? 'the zygote has ended');
    const admission = this.#gate.expect();
    return {
      order: { sandbox, token: admission.token, image, command },
      ...this.#sandboxes.expect(sandbox),
      streams: admission.streams,
      [Symbol.dispose]: () => admission[Symbol.dispose](),
    };
  }

  async #waitForStart(fork: Fork, signal: AbortSignal): Promise<ForkedProgram> {
    try {
      const [streams] = await raceWithAbort(Promise.all([fork.streams, fork.started]), signal);
      return new ForkedProgram(streams, fork.ended, () => this.#kill(fork.order.sandbox));
    } catch (error) {
      await this.#end(fork);
      throw error;
    }
  }

  /** Streams may have arrived although the program has not begun: they are closed. */
  async #end(fork: Fork): Promise<void> {
    this.#kill(fork.order.sandbox);
    await fork.ended;
    fork.streams.then(destroyAll, () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#line.end('the sandbox provider has been closed');
    await this.#line.gone;
  }

  #kill(sandbox: string): void {
    const isNew = this.#sandboxes.expectEnd(sandbox, (problem) => this.#line.end(problem));
    if (isNew) this.#line.order({ type: 'kill', sandbox });
  }

  #await(image: string): PromiseWithResolvers<readonly PreloadedPolicy[]> {
    const known = this.#images.get(image);
    if (known) return known;
    const awaited = Promise.withResolvers<readonly PreloadedPolicy[]>();
    awaited.promise.catch(() => {});
    this.#images.set(image, awaited);
    return awaited;
  }

  #note(report: WardenReport): void {
    switch (report.type) {
      case 'image-ready':
        return this.#images.get(report.image)?.resolve(report.policies);
      case 'image-lost':
        return this.#onImageLost(report);
      case 'started':
        return this.#sandboxes.start(report.sandbox);
      case 'failed':
      case 'unforked':
      case 'ended':
      case 'lost':
        return this.#sandboxes.end(report);
    }
  }

  /** Without the base image there is nothing to fork from: the warden is useless, and every sandbox gets that reason when it has ended. */
  #onImageLost({ image, message, lasting }: Extract<WardenReport, { readonly type: 'image-lost' }>): void {
    if (image === BASE_IMAGE) {
      this.#isUnfit = lasting === true;
      return this.#line.end(`the zygote is gone: ${message}`);
    }
    const awaited = this.#images.get(image);
    this.#images.delete(image);
    awaited?.reject(this.#createError(this.#line.withOutput(message)));
  }

  #onLost(detail: string): void {
    this.#sandboxes.loseAll(detail, () => this.#createError(detail));
    for (const { reject } of this.#images.values()) reject(this.#createError(detail));
    this.#images.clear();
  }

  #createError(detail: string): MusterError {
    if (!this.#isUnfit) return new InfrastructureError('sandbox.zygote', `sandboxes cannot be forked: ${detail}`);
    const remedy = 'correct its packages or the imports of the template; "muster doctor" tries it';
    return new InputError('python.unusable', `the template's Python cannot start the runner: ${detail}; ${remedy}`);
  }
}

function destroyAll(streams: ProgramStreams): void {
  for (const stream of Object.values(streams)) stream.destroy();
}
