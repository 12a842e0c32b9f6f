import type { Clock } from '../kernel/clock.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { Exposure } from '../pool/ports/exposure.ts';
import type { EpisodeFrame, LoadFrame } from './frames.ts';
import { type Killed, toFrameOutcome, type PlayedEpisode } from './played-episode.ts';
import { Playlist, type EpisodeRange, type PlannedEpisode } from './playlist.ts';
import { Watchdog } from './watchdog.ts';

/** Terms of everything that is played until the next load. */
export interface PlayTerms {
  /** The time from the episode's start in the sandbox. A block may take as long as all of its episodes together. */
  readonly episodeMilliseconds: number;
  /** The time from sending a range to an idle runner until it reports that it begins. */
  readonly beginMilliseconds: number;
  /** The exposure that the load brings into the sandbox. */
  readonly exposure: Exposure;
}

export interface PlayingListener {
  onPlayed(episode: PlayedEpisode): void;
  /** Called when a time limit has passed. @param outcome of the present episode; undefined when nothing had begun. */
  onLate(reason: string, outcome: Outcome | undefined): void;
  /** Returns the text that was printed since the last call. */
  takeStderr(): string;
}

/** The episodes that a runner owes, the time limit of each block, and the outcome of the present block. */
export class Playing {
  readonly #playlist = new Playlist();
  readonly #watchdog: Watchdog;
  readonly #listener: PlayingListener;
  #terms: Omit<PlayTerms, 'exposure'> = { episodeMilliseconds: 60_000, beginMilliseconds: 60_000 };
  #metrics: readonly string[] = [];
  /** Digest of the policy. */
  #policy = '';
  #blockSize = 1;
  /** Whether the runner itself keeps printed text. Stderr, which has it too, then serves for last words only. */
  #keepsLogs = false;

  constructor(clock: Clock, listener: PlayingListener) {
    this.#watchdog = new Watchdog(clock, () => this.#onDeadline());
    this.#listener = listener;
  }

  /** Ranges that were sent and whose last outcome is missing. */
  get ranges(): number {
    return this.#playlist.ranges;
  }

  /** Episodes that were sent and have no outcome. */
  get episodes(): number {
    return this.#playlist.episodes;
  }

  /** Sets the terms of what is played from now on. @param request what is sent to the runner. */
  agree(terms: PlayTerms, { policy, metrics, batching }: Pick<LoadFrame, 'policy' | 'metrics' | 'batching'>): void {
    this.#terms = terms;
    this.#policy = policy.digest;
    this.#metrics = metrics;
    this.#blockSize = batching?.episodes ?? 1;
    this.#playlist.playInBlocks(this.#blockSize);
  }

  /** Call it when the range is sent. */
  add(range: EpisodeRange): void {
    if (this.#playlist.ranges === 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    this.#playlist.add(range);
  }

  /**
   * @param digest of the policy that the runner reports to play it with, if it does. @returns an error text when it is not this range's
   * turn, or not this policy's.
   */
  begin(rangeId: number, digest = this.#policy): string | undefined {
    if (digest !== this.#policy) return `range ${rangeId} began with the policy ${digest}, expected ${this.#policy}`;
    const problem = this.#playlist.begin(rangeId);
    if (problem === undefined) this.#watchdog.restart(this.#blockMilliseconds);
    return problem;
  }

  /** @returns an error text when it is not the due outcome. */
  answer(frame: EpisodeFrame): string | undefined {
    const { due } = this.#playlist;
    const problem = this.#playlist.answer(frame.range, frame.index);
    if (problem !== undefined || due === undefined) return problem ?? 'an outcome when none was due';
    this.#keepsLogs ||= frame.log !== undefined;
    const log = this.#keepsLogs ? frame.log : this.#listener.takeStderr();
    const seconds = Math.min(frame.seconds, this.#terms.episodeMilliseconds / 1000);
    this.#listener.onPlayed({
      index: due.index,
      checkpoint: this.#policy,
      outcome: toFrameOutcome(frame, this.#metrics),
      seconds,
      killed: false,
      ...(frame.forward === undefined ? {} : { forwardSeconds: Math.min(frame.forward, seconds) }),
      ...(log ? { log } : {}),
      ...(frame.type === 'completed' && frame.warnings ? { remarks: frame.warnings } : {}),
    });
    this.#rearm();
    return undefined;
  }

  /**
   * Called when no further frames will come.
   *
   * @param outcome of the present block, if it is known; otherwise it counts as unplayed. Which episode of a block caused a failure is unknown, so
   * all without an outcome fail. A lost block is played again whole and reported by its due episode. @returns all that was not played.
   */
  end(outcome: Outcome | undefined, killed: Killed): readonly PlannedEpisode[] {
    this.#watchdog.stop();
    if (outcome) this.#blame(this.#playlist.takeUnansweredBlock(), outcome, killed);
    return this.#playlist.drain();
  }

  #blame(unanswered: readonly PlannedEpisode[], outcome: Outcome, killed: Killed): void {
    const log = unanswered.length > 0 ? this.#listener.takeStderr() : '';
    const seconds = this.#watchdog.elapsedMilliseconds / 1000 / unanswered.length;
    const failed = outcome.kind === 'lost' ? unanswered.slice(0, 1) : unanswered;
    const shared = failed.length > 1 ? { sharesFailure: true as const } : {};
    for (const [position, { index }] of failed.entries()) {
      this.#listener.onPlayed({
        index,
        checkpoint: this.#policy,
        outcome,
        seconds,
        killed,
        ...shared,
        ...(log && position === 0 ? { log } : {}),
      });
    }
  }

  get #blockMilliseconds(): number {
    return this.#blockSize * this.#terms.episodeMilliseconds;
  }

  #rearm(): void {
    if (this.#playlist.due && !this.#playlist.isAtBlockStart) return;
    if (this.#playlist.due) this.#watchdog.restart(this.#blockMilliseconds);
    else if (this.#playlist.ranges > 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    else this.#watchdog.pause();
  }

  #onDeadline(): void {
    if (!this.#playlist.due) return this.#listener.onLate('the runner did not begin its work in time', undefined);
    const isBlock = this.#blockSize > 1;
    const what = isBlock ? `its block of ${this.#blockSize} episodes was ` : '';
    const detail = `${what}not finished within ${this.#blockMilliseconds / 1000} s`;
    this.#listener.onLate(`the time limit of ${isBlock ? 'a block' : 'an episode'} passed`, { kind: 'failed', cause: 'timeout', detail });
  }
}
