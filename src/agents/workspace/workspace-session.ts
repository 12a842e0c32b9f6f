import { StringDecoder } from 'node:string_decoder';
import { raceWithAbort } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import { RecentText } from '../../kernel/recent-text.ts';
import type { Occupant } from '../../pool/members/occupant.ts';
import { addExposure, FRESH, type Exposure, type PastExposure } from '../../pool/ports/exposure.ts';
import type { Sandbox, SandboxExit } from '../../pool/ports/sandbox.ts';
import { FrameReader } from '../../runner/frame-reader.ts';
import { type Answer, CollectionAnswer, CommandAnswer, DoneAnswer } from './answers.ts';
import type { CommandLine } from './command-line.ts';
import {
  type Collected,
  type CollectionBounds,
  type Command,
  toCommandFields,
  type CommandResult,
  GRACE_MS,
  computeLongestMilliseconds,
  type WorkspaceFile,
} from './command.ts';
import { OpenRequests, type OpenRequest } from './open-requests.ts';
import { OutgoingFrames, splitChunks } from './outgoing-frames.ts';
import { MAX_FRAME_BYTES, parseWorkspaceFrame, WORKSPACE_PROTOCOL } from './workspace-frames.ts';

/** Characters of stderr that are kept. */
const STDERR_KEPT = 8 * 1024;

/**
 * The conversation with the program in one workspace: commands, files in, files out. Requests are carried out in order, whether earlier answers were
 * awaited or not. The program is the first process of its sandbox and out of reach of what it runs, so its frames are authentic; they are bounded
 * nevertheless.
 */
export class WorkspaceSession implements Occupant {
  readonly #outgoing: OutgoingFrames;
  readonly #ready = Promise.withResolvers<void>();
  #isReady = false;
  readonly #gone = Promise.withResolvers<string>();
  readonly #pending = new OpenRequests();
  readonly #stderr = new RecentText(STDERR_KEPT);
  #past: PastExposure = FRESH;
  #waitedSeconds = 0;
  #exit: SandboxExit | undefined;
  /** Why it is closed. The error is made only where it is thrown: every workspace closes, and most have no open request then. */
  #closed: string | undefined;

  /** Resolves with the reason once the session is closed; never rejects. */
  readonly gone: Promise<string> = this.#gone.promise;

  /** Variables of every command, under its own. */
  readonly environment: Command['environment'];

  private constructor(sandbox: Sandbox, clock: Clock, environment: Command['environment']) {
    this.environment = environment;
    this.#outgoing = new OutgoingFrames(sandbox.stdin, clock, this.gone);
    this.#ready.promise.catch(() => undefined);
    const reader = new FrameReader(
      MAX_FRAME_BYTES,
      (line) => this.#onLine(line),
      () => this.#close(`it sent more than ${MAX_FRAME_BYTES} bytes without a line feed`),
    );
    const decoder = new StringDecoder('utf8');
    sandbox.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
    sandbox.stderr.on('data', (chunk: Buffer) => this.#stderr.append(decoder.write(chunk)));
    void sandbox.exit.then((exit) => this.#onExit(exit));
  }

  /** Waits for the program's first frame. @throws InfrastructureError when the program ends before it. */
  static async open(
    sandbox: Sandbox,
    clock: Clock,
    signal: AbortSignal,
    environment: Command['environment'] = {},
  ): Promise<WorkspaceSession> {
    const session = new WorkspaceSession(sandbox, clock, environment);
    await raceWithAbort(session.#ready.promise, signal);
    return session;
  }

  /** Seconds in which a busy machine kept its commands from running. They do not count towards the commands' limits. */
  get waitedSeconds(): number {
    return this.#waitedSeconds;
  }

  get past(): PastExposure {
    return this.#past;
  }

  /** A used workspace serves no other holder. */
  isReusable(): boolean {
    return this.#past.kind === 'fresh';
  }

  /** Call it before anything is put in. */
  expose(coming: Exposure): void {
    this.#past = addExposure(this.#past, coming);
  }

  /**
   * Runs a command, until it and all that it has started has ended.
   *
   * @param line its descriptor 3, for what Muster sends to it while it runs.
   * @throws InfrastructureError when the sandbox is lost; the signal's reason.
   */
  async run(command: Command, signal: AbortSignal, line?: CommandLine): Promise<CommandResult> {
    const { input = new Uint8Array() } = command;
    const answer = new CommandAnswer(line);
    try {
      return await this.#ask(answer, computeLongestMilliseconds(command), signal, async (request) => {
        for (const data of splitChunks(input)) await this.#outgoing.send({ type: 'input', request, data });
        await this.#outgoing.send({ type: 'exec', request, ...toCommandFields(command, this.environment), line: line !== undefined });
        line?.attach((frame) => void this.#outgoing.send({ request, ...frame }));
      });
    } catch (error) {
      if (this.#exit?.kind === 'out-of-memory') return answer.outOfMemory();
      throw error;
    }
  }

  /** Writes files and their directories. @throws InfrastructureError when one cannot be written. */
  async put(files: readonly WorkspaceFile[], signal: AbortSignal): Promise<void> {
    const answers: Promise<true>[] = [];
    let isOver = false;
    const sent = this.#outgoing.sendInTurn(async () => {
      for (const file of files) {
        if (isOver) return;
        const { request, answered } = this.#openRequest(new DoneAnswer());
        answers.push(answered);
        await this.#putFile(request, file);
      }
    });
    try {
      await this.#outgoing.unlessSilent(
        GRACE_MS,
        sent.then(() => Promise.all(answers)),
        signal,
      );
    } finally {
      isOver = true;
    }
  }

  async #putFile(request: number, { path, content, executable }: WorkspaceFile): Promise<void> {
    const parts = content.length === 0 ? [''] : splitChunks(content);
    for (const [i, data] of parts.entries()) {
      const place = { path, mode: executable ? 0o755 : 0o644, first: i === 0, last: i === parts.length - 1 };
      await this.#outgoing.send({ type: 'put', request, ...place, data });
    }
  }

  /** Makes a directory again, empty. @throws InfrastructureError when that fails. */
  async wipe(path: string, signal: AbortSignal): Promise<void> {
    await this.#ask(new DoneAnswer(), GRACE_MS, signal, (request) => this.#outgoing.send({ type: 'wipe', request, path }));
  }

  /** Ends everything that runs, then reads files, and all files in directories. Links, devices, sockets and pipes are refused. */
  collect(paths: readonly string[], { files, bytes }: CollectionBounds, signal: AbortSignal): Promise<Collected> {
    return this.#ask(new CollectionAnswer(), GRACE_MS, signal, (request) =>
      this.#outgoing.send({ type: 'collect', request, paths, files, bytes }),
    );
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#ask(new DoneAnswer(), GRACE_MS, signal, (request) => this.#outgoing.send({ type: 'ping', request }));
  }

  /** Sends a request that has to show progress each minute, or within `milliseconds`. @param input data that is sent before it. */
  request<Result>(
    answer: Answer<Result>,
    asked: object,
    signal: AbortSignal,
    input: Uint8Array = new Uint8Array(),
    milliseconds = GRACE_MS,
  ): Promise<Result> {
    return this.#ask(answer, milliseconds, signal, async (request) => {
      for (const data of splitChunks(input)) await this.#outgoing.send({ type: 'input', request, data });
      await this.#outgoing.send({ request, ...asked });
    });
  }

  /** Whether nothing is requested, and more could be. */
  get isAtRest(): boolean {
    return this.#closed === undefined && this.#pending.isEmpty;
  }

  /** Says how its sandbox ended; undefined while it has not. */
  get exit(): SandboxExit | undefined {
    return this.#exit;
  }

  async #ask<Result>(
    answer: Answer<Result>,
    milliseconds: number,
    signal: AbortSignal,
    send: (request: number) => Promise<void>,
  ): Promise<Result> {
    const { request, answered } = this.#openRequest(answer);
    const sent = this.#outgoing.sendInTurn(() => send(request));
    return await this.#outgoing.unlessSilent(
      milliseconds,
      sent.then(() => answered),
      signal,
    );
  }

  #openRequest<Result>(answer: Answer<Result>): OpenRequest<Result> {
    if (this.#closed !== undefined) throw createGoneError(this.#closed);
    return this.#pending.open(answer);
  }

  #onLine(line: string): void {
    if (this.#closed !== undefined) return;
    this.#outgoing.noteProgress();
    const frame = parseWorkspaceFrame(line);
    if (typeof frame === 'string') return this.#close(`it sent what is no frame: ${frame}`);
    if (frame.type === 'ready') return this.#onReady(frame.protocol);
    if (frame.type === 'ended') this.#waitedSeconds += frame.waitedSeconds;
    if (!this.#pending.take(frame)) this.#close(`it answered request ${frame.request}, which is not open`);
  }

  #onReady(protocol: number): void {
    this.#isReady = protocol === WORKSPACE_PROTOCOL;
    if (this.#isReady) return this.#ready.resolve();
    this.#close(`it speaks protocol ${protocol}, expected ${WORKSPACE_PROTOCOL}`);
  }

  #onExit(exit: SandboxExit): void {
    this.#exit = exit;
    const said = this.#stderr.take().trim();
    this.#close(`its sandbox has ended (${exit.kind}${exit.kind === 'exited' ? ` ${exit.code}` : ''})${said === '' ? '' : `: ${said}`}`);
  }

  #close(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    if (!this.#isReady || !this.#pending.isEmpty) {
      const error = createGoneError(reason);
      this.#ready.reject(error);
      this.#pending.failAll(error);
    }
    this.#gone.resolve(reason);
  }
}

function createGoneError(reason: string): InfrastructureError {
  return new InfrastructureError('workspace.gone', `a workspace cannot be used any more: ${reason}`);
}
