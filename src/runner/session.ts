import { raceWithAbort } from '../kernel/abort.ts';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, type MusterError } from '../kernel/errors.ts';
import { LAST_WORDS, type Outcome } from '../kernel/outcome.ts';
import { addExposure, FRESH, type PastExposure } from '../pool/ports/exposure.ts';
import type { Occupant } from '../pool/members/occupant.ts';
import type { Sandbox, SandboxExit } from '../pool/ports/sandbox.ts';
import { createStartError, describeExit, findKilledProgram, toStartError, toExitOutcome } from './exit-outcome.ts';
import { Asks } from './asks.ts';
import { Channel } from './channel.ts';
import type { LoadFrame, MalformedFrame, MusterFrame, ReadyFrame, RunnerFrame } from './frames.ts';
import { assertPlaysBlocks, findProtocolProblem, readLoadAnswer } from './load-terms.ts';
import type { Collected, Killed } from './played-episode.ts';
import { explainLateness } from './lateness.ts';
import { Playing, type PlayTerms } from './playing.ts';
import type { PlannedEpisode } from './playlist.ts';
import { RecordingInProgress, type Recording } from './recording.ts';
import { UnclaimedEpisodes } from './unclaimed-episodes.ts';

/**
 * The conversation with the runner in one sandbox, from its first frame to its end.
 *
 *      opening ── ready ──▶ idle ── load ──▶ idle ── play ──▶ playing ── last outcome ──▶ idle
 *         │                  └──────────────── any ────────────────┬──────────────────────┘
 *         └── exit, deadline ──▶ closed ◀── exit, time limit, protocol violation, close()
 *
 * A closed session never opens again; its sandbox is not used again. Closing settles everything: the due episode and the rest of its block get the
 * outcome that fits the cause, and everything that was not begun is returned unplayed.
 */
export class RunnerSession implements Occupant {
  readonly #sandbox: Sandbox;
  readonly #memoryBytes: number;
  readonly #channel: Channel;
  readonly #playing: Playing;
  readonly #uncollected = new UnclaimedEpisodes();
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<string>();
  readonly #asks = new Asks();
  #closed: Closed | undefined;
  /** A time limit has passed, and its cause is being determined. Frames that arrive now are too late. */
  #isLate = false;
  #sequence = 0;
  #past: PastExposure;
  /** A load is under way, or was refused, failed or took too long: its effects are unknown. */
  #isSpoiled = false;
  #runner: ReadyFrame | undefined;
  /** The recording of the episode that the last load named, if any. */
  #recording: RecordingInProgress | undefined;

  /** Resolves with the reason once the session is closed; never rejects. */
  readonly gone: Promise<string> = this.#gone.promise;

  private constructor(sandbox: Sandbox, clock: Clock, memoryBytes: number) {
    this.#sandbox = sandbox;
    this.#memoryBytes = memoryBytes;
    this.#past = sandbox.past ?? FRESH;
    this.#channel = new Channel(sandbox, { onFrame: (frame) => this.#onFrame(frame), onExit: (exit) => this.#onExit(exit) });
    this.#playing = new Playing(clock, {
      onPlayed: (episode) => this.#uncollected.add(episode),
      onLate: (reason, outcome) => this.#onLate(reason, outcome),
      takeStderr: () => this.#channel.takeStderr(),
    });
  }

  /**
   * Waits for the runner's first frame.
   *
   * @param memoryBytes that the sandbox may use. @throws InfrastructureError when the runner ends before it; InputError
   * `runner.cannot-start` when it would end so each time, or uses another version of the protocol.
   */
  static async open(sandbox: Sandbox, clock: Clock, signal: AbortSignal, memoryBytes = Infinity): Promise<RunnerSession> {
    const session = new RunnerSession(sandbox, clock, memoryBytes);
    await raceWithAbort(session.#ready.promise, signal);
    return session;
  }

  /**
   * Makes the runner load a policy and its environments in place of the present ones. Not allowed while it owes outcomes. Unless it
   * succeeds, the session is not fit for another holder.
   *
   * @returns the runner's remarks about them, for people. @throws InputError when the runner refuses them: the checkpoint does not fit the
   * suite, or one of them is broken; or when the runner has to play in blocks and cannot.
   */
  async load(request: Omit<LoadFrame, 'type' | 'load'>, terms: PlayTerms, signal: AbortSignal): Promise<readonly string[]> {
    if (request.batching) assertPlaysBlocks(this.#runner, request.batching);
    const load = this.#takeNextId();
    this.#past = addExposure(this.#past, terms.exposure);
    this.#isSpoiled = true;
    this.#playing.agree(terms, request);
    this.#recording = request.recordedSeed === undefined ? undefined : new RecordingInProgress();
    const warnings = readLoadAnswer(await this.#ask(`load ${load}`, { type: 'load', load, ...request }, signal), request.policy.digest);
    this.#isSpoiled = false;
    return warnings;
  }

  /** Sends work, which is played in order. A closed session returns it unplayed. */
  play(episodes: readonly PlannedEpisode[]): void {
    if (this.#closed) {
      this.#closed.unplayed.push(...episodes);
      return;
    }
    const id = this.#takeNextId();
    this.#playing.add({ id, episodes });
    const fields = episodes.map(({ index, task, environmentSeed, policySeed }) => [index, task, environmentSeed, policySeed] as const);
    this.#channel.send({ type: 'play', range: id, episodes: fields });
  }

  /** Ranges that were sent and whose last outcome has not come yet. */
  get outstandingRanges(): number {
    return this.#playing.ranges;
  }

  /** Episodes that were sent and whose outcome has not been collected yet. */
  get outstandingEpisodes(): number {
    return this.#playing.episodes + this.#uncollected.count;
  }

  /** Whether `collect` has, or will have, a result: outcomes that are owed or not collected yet, or the session's end. */
  get isBusy(): boolean {
    return this.#playing.ranges > 0 || this.#uncollected.count > 0 || this.#closed !== undefined;
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Whether another holder may use it: it is open, owes neither outcomes nor answers, and all that it holds was loaded in good order. */
  isReusable(): boolean {
    return !this.isBusy && this.#asks.owed === 0 && !this.#isSpoiled;
  }

  get past(): PastExposure {
    return this.#past;
  }

  /** Waits for outcomes or the session's end, and takes them all. @throws the signal's reason when it is aborted before there are any. */
  async collect(signal: AbortSignal): Promise<Collected> {
    await this.#uncollected.awaitArrival(signal);
    // Taken together with the end: the last outcomes come with it, not after it.
    const played = this.#uncollected.takeAll();
    if (!this.#closed) return { played };
    return { played, closed: { reason: this.#closed.reason, unplayed: this.#closed.unplayed.splice(0) } };
  }

  /** Takes the part of the requested recording that has arrived so far. */
  takeRecording(): Recording {
    return (this.#recording ?? new RecordingInProgress()).take();
  }

  /** @throws InfrastructureError when the session closes before the runner has answered. */
  async ping(signal: AbortSignal): Promise<void> {
    const ping = this.#takeNextId();
    await this.#ask(`ping ${ping}`, { type: 'ping', ping }, signal);
  }

  /** Ends the session; the due episode and all after it are returned unplayed. */
  close(reason: string): void {
    this.#close(reason, undefined);
  }

  async #ask(key: string, question: MusterFrame, signal: AbortSignal): Promise<RunnerFrame> {
    if (this.#closed) throw new InfrastructureError('runner.gone', this.#closed.reason);
    const answer = this.#asks.ask(key);
    try {
      this.#channel.send(question);
    } catch (error) {
      this.#asks.withdraw(key);
      throw error;
    }
    return raceWithAbort(answer, signal);
  }

  #takeNextId(): number {
    return (this.#sequence += 1);
  }

  #onFrame(frame: RunnerFrame | MalformedFrame): void {
    if (this.#closed || this.#isLate) return;
    switch (frame.type) {
      case 'malformed':
        return this.#failProtocol(`a malformed frame (${frame.problem})`);
      case 'ready':
        return this.#onReady(frame);
      case 'loaded':
      case 'refused':
        return this.#onAnswer(`load ${frame.load}`, frame);
      case 'pong':
        return this.#onAnswer(`ping ${frame.ping}`, frame);
      case 'begin':
        return this.#failProtocolIf(this.#playing.begin(frame.range, frame.digest));
      case 'completed':
      case 'failed':
        return this.#failProtocolIf(this.#playing.answer(frame));
      case 'recorded':
        return this.#failProtocolIf(this.#recording ? this.#recording.add(frame) : 'a recording that was not requested');
    }
  }

  #onReady(ready: ReadyFrame): void {
    if (this.#runner) return this.#failProtocol('a second "ready"');
    this.#runner = ready;
    const problem = findProtocolProblem(ready);
    if (problem === undefined) return this.#ready.resolve();
    this.#close(problem, undefined, false, createStartError(problem));
  }

  #onAnswer(key: string, frame: RunnerFrame): void {
    if (!this.#asks.answer(key, frame)) this.#failProtocol(`"${frame.type}" was not requested`);
  }

  #failProtocolIf(problem: string | undefined): void {
    if (problem !== undefined) this.#failProtocol(problem);
  }

  #failProtocol(what: string): void {
    this.#close(`protocol violation: ${what}`, { kind: 'failed', cause: 'protocol-violation', detail: what });
  }

  /** Silence counts against the episode only where the program causes it, not a connection or a machine. */
  #onLate(reason: string, outcome: Outcome | undefined): void {
    const { capabilities } = this.#sandbox;
    if (outcome === undefined || (!capabilities?.isReachable && !capabilities?.usage)) return this.#close(reason, outcome);
    this.#isLate = true;
    void explainLateness(reason, outcome, this.#sandbox, this.#memoryBytes).then((cause) => this.#close(cause.reason, cause.outcome));
  }

  #onExit(exit: SandboxExit): void {
    const stderr = this.#channel.takeStderr();
    const outcome = toExitOutcome(exit, stderr);
    const reason = describeExit(exit) + (stderr ? `${LAST_WORDS}${stderr.trim()}` : '');
    this.#close(reason, outcome, findKilledProgram(exit), toStartError(exit, reason));
  }

  #close(reason: string, outcomeOfDue: Outcome | undefined, killed: Killed = false, startError?: MusterError): void {
    if (this.#closed) return;
    this.#channel.mute();
    this.#closed = { reason, unplayed: [...this.#playing.end(outcomeOfDue, killed)] };
    const error = new InfrastructureError('runner.gone', reason);
    this.#ready.promise.catch(() => undefined);
    this.#ready.reject(startError ?? error);
    this.#asks.fail(error);
    this.#gone.resolve(reason);
    this.#uncollected.end();
  }
}

interface Closed {
  readonly reason: string;
  readonly unplayed: PlannedEpisode[];
}
