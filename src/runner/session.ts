import { abortError, untilAborted } from '../kernel/abort.ts';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { Occupant } from '../pool/occupant.ts';
import type { Sandbox, SandboxExit } from '../pool/sandbox.ts';
import { describeExit, outcomeOfExit, wasKilled } from './exit-outcome.ts';
import { Asks } from './asks.ts';
import { Channel } from './channel.ts';
import { PROTOCOL_VERSION, type EpisodeFrame, type LoadFrame, type MalformedFrame, type MusterFrame, type RunnerFrame } from './frames.ts';
import { outcomeOfFrame, type Collected, type PlayedEpisode } from './played-episode.ts';
import { Playlist, type EpisodeRange, type PlannedEpisode } from './playlist.ts';
import { Watchdog } from './watchdog.ts';

/**
 * The conversation with the runner in one sandbox, from its first frame to its end.
 *
 *     opening ── ready ──▶ idle ── load ──▶ idle ── play ──▶ playing ── last outcome ──▶ idle
 *        │                  └──────────────── any ────────────────┬──────────────────────┘
 *        └── exit, deadline ──▶ closed ◀── exit, time limit, protocol violation, close()
 *
 * A closed session never opens again; its sandbox is used up. Closing settles everything: the due episode gets the
 * outcome that the cause deserves, all that was not begun is handed back unplayed.
 */
export class RunnerSession implements Occupant {
  readonly #channel: Channel;
  readonly #playlist = new Playlist();
  readonly #watchdog: Watchdog;
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<string>();
  readonly #asks = new Asks();
  #news = Promise.withResolvers<void>();
  #played: PlayedEpisode[] = [];
  #closed: Closed | undefined;
  #terms: PlayTerms = { episodeMilliseconds: 60_000, beginMilliseconds: 60_000, code: '' };
  #metrics: readonly string[] = [];
  #sequence = 0;
  #isReady = false;
  /** Whether the runner itself keeps what is printed: then stderr, which has it too, counts for last words alone. */
  #keepsLogs = false;
  #heeded: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#news.resolve();

  /** Resolves with the reason once the session is closed; never rejects. */
  readonly gone: Promise<string> = this.#gone.promise;

  private constructor(sandbox: Sandbox, clock: Clock) {
    this.#watchdog = new Watchdog(clock, () => this.#onDeadline());
    this.#channel = new Channel(sandbox, { onFrame: (frame) => this.#onFrame(frame), onExit: (exit) => this.#onExit(exit) });
  }

  /**
   * Waits for the runner's first frame.
   *
   * @throws InfrastructureError when the runner ends before it, or speaks another version of the protocol.
   */
  static async open(sandbox: Sandbox, clock: Clock, signal: AbortSignal): Promise<RunnerSession> {
    const session = new RunnerSession(sandbox, clock);
    await untilAborted(session.#ready.promise, signal);
    return session;
  }

  /**
   * Makes the runner load a policy and its environments, in place of what it had. Not to be called while it owes outcomes.
   *
   * @throws InputError when the runner refuses them: the checkpoint does not fit the suite, or one of them is broken.
   */
  async load(request: Omit<LoadFrame, 'type' | 'load'>, terms: PlayTerms, signal: AbortSignal): Promise<void> {
    const load = this.#nextId();
    this.#terms = terms;
    this.#metrics = request.metrics;
    const frame = await this.#ask(`load ${load}`, { type: 'load', load, ...request }, signal);
    switch (frame.type) {
      case 'loaded':
        if (frame.digest !== request.policy.digest) {
          throw new InfrastructureError('checkpoint.mismatch', `the runner loaded ${frame.digest}, expected ${request.policy.digest}`);
        }
        return;
      case 'refused':
        throw new InputError(
          frame.part === 'policy' ? 'checkpoint.refused' : 'suite.refused',
          `the ${frame.part} was refused by the runner: ${frame.message}`,
        );
      default:
        throw new InfrastructureError('runner.protocol', `the runner answered a load with "${frame.type}"`);
    }
  }

  /** Sends work. What was sent first is played first; nothing is sent to a closed session: it is handed back unplayed. */
  play(episodes: readonly PlannedEpisode[]): void {
    if (this.#closed) {
      this.#closed.unplayed.push(...episodes);
      return;
    }
    const range: EpisodeRange = { id: this.#nextId(), episodes };
    if (this.#playlist.ranges === 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    this.#playlist.add(range);
    this.#channel.send({
      type: 'play',
      range: range.id,
      episodes: episodes.map((episode) => [episode.index, episode.task, episode.environmentSeed, episode.policySeed]),
    });
  }

  /** Ranges sent whose last outcome has not come yet. */
  get outstandingRanges(): number {
    return this.#playlist.ranges;
  }

  /** Episodes sent whose outcome has not been collected yet. */
  get outstandingEpisodes(): number {
    return this.#playlist.episodes + this.#played.length;
  }

  /** Whether `collect` has, or will have, something to give: outcomes that are owed or not taken yet, or the session's end. */
  get isBusy(): boolean {
    return this.#playlist.ranges > 0 || this.#played.length > 0 || this.#closed !== undefined;
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /** Whether another holder may use it: open, and owing neither outcomes nor answers. */
  isReusable(): boolean {
    return !this.isBusy && this.#asks.owed === 0;
  }

  /** Whether code has run here that another checkpoint or suite brought along: what it left behind must not meet this code, or data. */
  isTaintedFor(code: string): boolean {
    return this.#terms.code !== '' && this.#terms.code !== code;
  }

  /** Waits for outcomes, or for the session's end, and takes them all. @throws the signal's reason when it is aborted before there are any. */
  async collect(signal: AbortSignal): Promise<Collected> {
    while (this.#played.length === 0 && !this.#closed) {
      if (signal.aborted) throw abortError(signal);
      this.#heed(signal);
      await this.#news.promise;
      this.#news = Promise.withResolvers();
    }
    const played = this.#played;
    this.#played = [];
    if (!this.#closed) return { played };
    return { played, closed: { reason: this.#closed.reason, unplayed: this.#closed.unplayed.splice(0) } };
  }

  /**
   * Lets the signal end a wait for news. It stays listened to until another one is, or the session closes: hundreds of sessions share one,
   * and adding or removing a listener takes time in proportion to those that it has.
   */
  #heed(signal: AbortSignal): void {
    if (signal === this.#heeded) return;
    this.#heeded?.removeEventListener('abort', this.#onAbort);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#heeded = signal;
  }

  /** @throws InfrastructureError when the session is closed before the runner has answered. */
  async ping(signal: AbortSignal): Promise<void> {
    const ping = this.#nextId();
    await this.#ask(`ping ${ping}`, { type: 'ping', ping }, signal);
  }

  /** Ends the session; the episode that is due and all behind it are handed back unplayed. */
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
    return untilAborted(answer, signal);
  }

  #nextId(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #onFrame(frame: RunnerFrame | MalformedFrame): void {
    if (this.#closed) return;
    switch (frame.type) {
      case 'malformed':
        return this.#violation(`a malformed frame (${frame.problem})`);
      case 'ready':
        return this.#onReady(frame.protocol);
      case 'loaded':
      case 'refused':
        return this.#onAnswer(`load ${frame.load}`, frame);
      case 'pong':
        return this.#onAnswer(`ping ${frame.ping}`, frame);
      case 'begin':
        return this.#onBegin(frame.range);
      case 'completed':
      case 'failed':
        return this.#onEpisode(frame);
    }
  }

  #onReady(protocol: number): void {
    if (this.#isReady) return this.#violation('a second "ready"');
    this.#isReady = true;
    if (protocol === PROTOCOL_VERSION) return this.#ready.resolve();
    this.#close(`the runner speaks protocol ${protocol}, expected ${PROTOCOL_VERSION}`, undefined);
  }

  #onAnswer(key: string, frame: RunnerFrame): void {
    if (!this.#asks.answer(key, frame)) this.#violation(`"${frame.type}" was not asked for`);
  }

  #onBegin(range: number): void {
    const problem = this.#playlist.begin(range);
    if (problem) return this.#violation(problem);
    this.#watchdog.restart(this.#terms.episodeMilliseconds);
  }

  #onEpisode(frame: EpisodeFrame): void {
    const { due } = this.#playlist;
    const problem = this.#playlist.answer(frame.range, frame.index);
    if (problem || !due) return this.#violation(problem ?? 'an outcome when none was due');
    this.#keepsLogs ||= frame.log !== undefined;
    const log = this.#keepsLogs ? frame.log : this.#channel.takeStderr();
    const seconds = Math.min(frame.seconds, this.#terms.episodeMilliseconds / 1000);
    const outcome = outcomeOfFrame(frame, this.#metrics);
    this.#report({ index: due.index, outcome, seconds, killed: false, ...(log ? { log } : {}) });
    this.#rearm();
  }

  #rearm(): void {
    if (this.#playlist.due) this.#watchdog.restart(this.#terms.episodeMilliseconds);
    else if (this.#playlist.ranges > 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    else this.#watchdog.stop();
  }

  #onDeadline(): void {
    if (this.#playlist.due) {
      const seconds = this.#terms.episodeMilliseconds / 1000;
      this.#close('the time limit of an episode passed', { kind: 'failed', cause: 'timeout', detail: `not finished within ${seconds} s` });
    } else {
      this.#close('the runner did not begin its work in time', undefined);
    }
  }

  #violation(what: string): void {
    this.#close(`protocol violation: ${what}`, { kind: 'failed', cause: 'protocol-violation', detail: what });
  }

  #onExit(exit: SandboxExit): void {
    const stderr = this.#channel.takeStderr();
    const outcome = outcomeOfExit(exit, stderr);
    const reason = describeExit(exit) + (stderr ? `; last words: ${stderr.trim()}` : '');
    this.#close(reason, outcome, wasKilled(exit));
  }

  #report(episode: PlayedEpisode): void {
    this.#played.push(episode);
    this.#news.resolve();
  }

  #close(reason: string, outcomeOfDue: Outcome | undefined, killed = false): void {
    if (this.#closed) return;
    this.#watchdog.stop();
    this.#channel.mute();
    this.#heeded?.removeEventListener('abort', this.#onAbort);
    const { due } = this.#playlist;
    if (due && outcomeOfDue) {
      const seconds = this.#watchdog.elapsedMilliseconds / 1000;
      const log = this.#channel.takeStderr();
      this.#report({ index: due.index, outcome: outcomeOfDue, seconds, killed, ...(log ? { log } : {}) });
      this.#playlist.skipDue();
    }
    this.#closed = { reason, unplayed: [...this.#playlist.drain()] };
    const error = new InfrastructureError('runner.gone', reason);
    this.#ready.promise.catch(() => undefined);
    this.#ready.reject(error);
    this.#asks.fail(error);
    this.#gone.resolve(reason);
    this.#news.resolve();
  }
}

/** What holds for all that is played until the next load. */
export interface PlayTerms {
  /** From the moment the episode starts in the sandbox. */
  readonly episodeMilliseconds: number;
  /** From a range being sent to an idle runner until it says that it begins. */
  readonly beginMilliseconds: number;
  /** Names the code that the load brings along, of a checkpoint or a suite; empty when both are data alone. */
  readonly code: string;
}

interface Closed {
  readonly reason: string;
  readonly unplayed: PlannedEpisode[];
}
