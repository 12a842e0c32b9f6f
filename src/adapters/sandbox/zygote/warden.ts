import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { createAbortError, raceWithAbort } from '../../../kernel/abort.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, InputError, getMessage, type MusterError } from '../../../kernel/errors.ts';
import type { SandboxId } from '../../../kernel/ids.ts';
import { RecentText } from '../../../kernel/recent-text.ts';
import type { ProgramEnd } from '../local/program/sandboxed-program.ts';
import { AwaitedSandboxes } from './awaited-sandboxes.ts';
import { ForkedProgram } from './forked-program.ts';
import type { ProgramStreams, StreamGate } from './stream-gate.ts';
import {
  BASE_IMAGE,
  type ForkedProgramOrder,
  type ImageContent,
  type PreloadedPolicy,
  type WardenOrder,
  type WardenReport,
  wardenReportSchema,
} from './warden-messages.ts';

/** A warden's process, as it was spawned. */
export interface WardenProcess {
  readonly process: {
    kill(signal: 'SIGKILL'): boolean;
    /** When the event 'close' occurs, all of its output has been read. */
    once(event: 'close', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  };
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Longest line that the warden writes: messages of errors are cut well below. */
const REPORT_MAX_CHARACTERS = 64 * 1024;
/** Characters of its error output that are kept for the message when it fails. */
const SAID_MAX_CHARACTERS = 4096;

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
 *
 * The file is long because orders, reports and the end of the process concern the same images and sandboxes. The awaited sandboxes are in
 * awaited-sandboxes.ts, the messages in warden-messages.ts.
 */
export class Warden implements AsyncDisposable {
  readonly #process: WardenProcess;
  readonly #gate: Pick<StreamGate, 'expect'>;
  readonly #sandboxes: AwaitedSandboxes;
  /** The images that exist; each promise resolves when its image is ready. */
  readonly #images = new Map<string, PromiseWithResolvers<readonly PreloadedPolicy[]>>();
  readonly #said = new RecentText(SAID_MAX_CHARACTERS);
  readonly #gone: Promise<void>;
  #problem: string | undefined;
  #hasEnded = false;
  /** The base of its sandboxes cannot be made, now or later. */
  #isUnfit = false;

  constructor(process: WardenProcess, gate: Pick<StreamGate, 'expect'>, clock: Clock) {
    this.#process = process;
    this.#gate = gate;
    this.#sandboxes = new AwaitedSandboxes(clock);
    this.#await(BASE_IMAGE);
    process.stderr.setEncoding('utf8').on('data', (text: string) => this.#said.append(text));
    process.stdin.on('error', () => {});
    createInterface({ input: process.stdout, crlfDelay: Infinity }).on('line', (line) => this.#handleReport(line));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    process.process.once('close', (code, signal) => {
      this.#onLost(`the zygote ended (${signal ?? `exit code ${code ?? 'unknown'}`})`);
      resolve();
    });
  }

  /** Whether it holds no sandbox. */
  get isIdle(): boolean {
    return this.#sandboxes.isEmpty;
  }

  /** Whether it makes no more sandboxes. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Makes an image that has what its parent has, and the content. Sandboxes can be forked from it at once: they wait for it.
   *
   * @returns what loading its policies took; rejects with an InfrastructureError `sandbox.zygote` when the content cannot be loaded.
   */
  async makeImage(image: string, parent: string, content: ImageContent): Promise<readonly PreloadedPolicy[]> {
    const { promise } = this.#await(image);
    this.#order({ type: 'image', image, parent, ...content });
    return await promise;
  }

  /** Whether something can be forked from the image, at once or when it is ready. */
  hasImage(image: string): boolean {
    return this.#images.has(image);
  }

  /** Lets an image end with the last sandbox that was forked from it: nothing more will be. */
  retireImage(image: string): void {
    this.#order({ type: 'retire', image });
  }

  /**
   * Resolves when the program is about to begin. One that is forked from an image that is not ready yet waits for it behind its walls.
   *
   * @throws InfrastructureError `sandbox.start`
   */
  async fork(wanted: WantedProgram, signal: AbortSignal): Promise<ForkedProgram> {
    using fork = this.#expect(wanted);
    this.#order({ type: 'fork', ...fork.order });
    return await this.#waitForStart(fork, signal);
  }

  /** Forks two programs that are joined by a socket pair. Either both begin, or neither is left. */
  async forkPair(one: WantedProgram, other: WantedProgram, signal: AbortSignal): Promise<readonly [ForkedProgram, ForkedProgram]> {
    using first = this.#expect(one);
    using second = this.#expect(other);
    this.#order({ type: 'fork', ...first.order, beside: second.order });
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
    if (this.#hasEnded) throw this.#createError(this.#problem ?? 'the zygote has ended');
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
    this.#problem ??= 'the sandbox provider has been closed';
    this.#process.process.kill('SIGKILL');
    await this.#gone;
  }

  #kill(sandbox: string): void {
    const isNew = this.#sandboxes.expectEnd(sandbox, (problem) => {
      this.#problem ??= problem;
      this.#process.process.kill('SIGKILL');
    });
    if (isNew) this.#order({ type: 'kill', sandbox });
  }

  #order(order: WardenOrder): void {
    if (!this.#hasEnded) this.#process.stdin.write(`${JSON.stringify(order)}\n`);
  }

  #await(image: string): PromiseWithResolvers<readonly PreloadedPolicy[]> {
    const known = this.#images.get(image);
    if (known) return known;
    const awaited = Promise.withResolvers<readonly PreloadedPolicy[]>();
    awaited.promise.catch(() => {});
    this.#images.set(image, awaited);
    return awaited;
  }

  #handleReport(line: string): void {
    // It has been killed, and its sandboxes with it: all of them get the reason when it has ended.
    if (this.#problem !== undefined) return;
    try {
      if (line.length > REPORT_MAX_CHARACTERS) throw new RangeError(`a report of ${line.length} characters`);
      this.#note(wardenReportSchema.parse(JSON.parse(line)));
    } catch (error) {
      this.#problem ??= `the zygote said what makes no sense: ${getMessage(error).slice(0, 500)}`;
      this.#process.process.kill('SIGKILL');
    }
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
      this.#problem ??= `the zygote is gone: ${message}`;
      this.#process.process.kill('SIGKILL');
      return;
    }
    const awaited = this.#images.get(image);
    this.#images.delete(image);
    awaited?.reject(this.#createError(this.#withOutput(message)));
  }

  #onLost(how: string): void {
    this.#hasEnded = true;
    const detail = this.#withOutput(this.#problem ?? how);
    this.#sandboxes.loseAll(detail, () => this.#createError(detail));
    for (const { reject } of this.#images.values()) reject(this.#createError(detail));
    this.#images.clear();
  }

  #createError(detail: string): MusterError {
    if (!this.#isUnfit) return new InfrastructureError('sandbox.zygote', `sandboxes cannot be forked: ${detail}`);
    const remedy = 'correct its packages or the imports of the template; "muster doctor" tries it';
    return new InputError('python.unusable', `the template's Python cannot start the runner: ${detail}; ${remedy}`);
  }

  #withOutput(problem: string): string {
    const said = this.#said.take().trim();
    return said === '' ? problem : `${problem}; it said: ${said.slice(-2000)}`;
  }
}

function destroyAll(streams: ProgramStreams): void {
  for (const stream of Object.values(streams)) stream.destroy();
}
