import type { Clock } from '../kernel/clock.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { EpisodeFrame } from './frames.ts';
import { outcomeOfFrame, type PlayedEpisode } from './played-episode.ts';
import { Playlist, type EpisodeRange, type PlannedEpisode } from './playlist.ts';
import { Watchdog } from './watchdog.ts';

/** What holds for all that is played until the next load. */
export interface PlayTerms {
  /** From the moment the episode starts in the sandbox. */
  readonly episodeMilliseconds: number;
  /** From a range being sent to an idle runner until it says that it begins. */
  readonly beginMilliseconds: number;
  /** Names the code that the load brings along, of a checkpoint or a suite; empty when both are data alone. */
  readonly code: string;
}

export interface PlayingListener {
  onPlayed(episode: PlayedEpisode): void;
  /** A time limit passed. @param outcome of the episode that is due; undefined when none had begun. */
  onLate(reason: string, outcome: Outcome | undefined): void;
  /** What has been printed since it was last asked. */
  takeStderr(): string;
}

/** The episodes that a runner owes, each against its time limit, and what becomes of the one that is due. */
export class Playing {
  readonly #playlist = new Playlist();
  readonly #watchdog: Watchdog;
  readonly #listener: PlayingListener;
  #terms: PlayTerms = { episodeMilliseconds: 60_000, beginMilliseconds: 60_000, code: '' };
  #metrics: readonly string[] = [];
  /** Whether the runner itself keeps what is printed: then stderr, which has it too, counts for last words alone. */
  #keepsLogs = false;

  constructor(clock: Clock, listener: PlayingListener) {
    this.#watchdog = new Watchdog(clock, () => this.#onDeadline());
    this.#listener = listener;
  }

  get terms(): PlayTerms {
    return this.#terms;
  }

  /** Sent and without their last outcome. */
  get ranges(): number {
    return this.#playlist.ranges;
  }

  /** Sent and without an outcome. */
  get episodes(): number {
    return this.#playlist.episodes;
  }

  /** For what is played from now on. @param metrics names that are asked for. */
  agree(terms: PlayTerms, metrics: readonly string[]): void {
    this.#terms = terms;
    this.#metrics = metrics;
  }

  /** The range is being sent. */
  add(range: EpisodeRange): void {
    if (this.#playlist.ranges === 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    this.#playlist.add(range);
  }

  /** @returns what is wrong when it is not this range's turn. */
  begin(rangeId: number): string | undefined {
    const problem = this.#playlist.begin(rangeId);
    if (problem === undefined) this.#watchdog.restart(this.#terms.episodeMilliseconds);
    return problem;
  }

  /** @returns what is wrong when it is not the outcome that is due. */
  answer(frame: EpisodeFrame): string | undefined {
    const { due } = this.#playlist;
    const problem = this.#playlist.answer(frame.range, frame.index);
    if (problem !== undefined || due === undefined) return problem ?? 'an outcome when none was due';
    this.#keepsLogs ||= frame.log !== undefined;
    const log = this.#keepsLogs ? frame.log : this.#listener.takeStderr();
    const seconds = Math.min(frame.seconds, this.#terms.episodeMilliseconds / 1000);
    const outcome = outcomeOfFrame(frame, this.#metrics);
    this.#listener.onPlayed({ index: due.index, outcome, seconds, killed: false, ...(log ? { log } : {}) });
    this.#rearm();
    return undefined;
  }

  /**
   * There will be no further frames.
   *
   * @param outcome what the episode that is due has come to, if that is known; else it goes unplayed.
   * @param killed the runner was ended by SIGKILL or SIGTERM.
   * @returns all that went unplayed.
   */
  end(outcome: Outcome | undefined, killed: boolean): readonly PlannedEpisode[] {
    this.#watchdog.stop();
    const { due } = this.#playlist;
    if (due && outcome) {
      const seconds = this.#watchdog.elapsedMilliseconds / 1000;
      const log = this.#listener.takeStderr();
      this.#listener.onPlayed({ index: due.index, outcome, seconds, killed, ...(log ? { log } : {}) });
      this.#playlist.skipDue();
    }
    return this.#playlist.drain();
  }

  #rearm(): void {
    if (this.#playlist.due) this.#watchdog.restart(this.#terms.episodeMilliseconds);
    else if (this.#playlist.ranges > 0) this.#watchdog.restart(this.#terms.beginMilliseconds);
    else this.#watchdog.pause();
  }

  #onDeadline(): void {
    if (!this.#playlist.due) return this.#listener.onLate('the runner did not begin its work in time', undefined);
    const detail = `not finished within ${this.#terms.episodeMilliseconds / 1000} s`;
    this.#listener.onLate('the time limit of an episode passed', { kind: 'failed', cause: 'timeout', detail });
  }
}
