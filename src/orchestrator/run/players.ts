import type { SandboxId } from '../../kernel/ids.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Recording } from '../../runner/recording.ts';
import type { Arm } from '../arm/arm.ts';
import type { RunFacts } from '../facts/run-facts.ts';
import type { LoadedContent } from './load-sandbox.ts';
import type { Slot } from './slot-share.ts';
import type { Waiters } from './waiters.ts';

/** What a worker of a run plays for, and what it needs from the run. */
export interface Duty {
  readonly arm: Arm;
  /** Workers without work; woken when there may be some. */
  readonly idle: Waiters;
  /** Aborted when the run needs no more episodes. */
  readonly over: AbortSignal;
  /** Recalled when another study should get the sandbox. */
  readonly slot: Slot | undefined;
  /** Resolves when episodes may be played. */
  readonly begun: Promise<void>;
  /** It is set in a process that answers requests while it plays. */
  readonly turns: Turns | undefined;
  /** Counts how many sandboxes share the arm's episodes, including those that are being created. */
  countSandboxes(): number;
  /** Whether another arm has work that this worker could do. */
  isWantedElsewhere(): boolean;
  record(played: readonly PlayedEpisode[]): Promise<void>;
  /** Declares, until it is disposed, that the worker holds a sandbox. @param sandbox its id, where it plays all episodes of the worker. */
  hold(sandbox?: SandboxId): Disposable;
}

/** An episode that was played again, separately. */
export interface Replay {
  /** It is never `lost`: a lost episode is played again. */
  readonly outcome: Outcome;
  /** Wall-clock seconds. */
  readonly seconds: number;
  /** Output of the environment and the policy, shortened. */
  readonly log: string | undefined;
  /** It is empty for agents, and where the runner records nothing. */
  readonly recording: Recording;
}

/** The episodes that `Players` play for a replay: the requested one, and those of its block, on which its outcome may depend. */
export interface ReplayOrder extends LoadedContent {
  readonly episode: PlannedEpisode;
  readonly block: readonly PlannedEpisode[];
}

/**
 * Plays the episodes of a run: policies on runners in leased sandboxes, or agents in workspaces. The rest of a run is the same for both.
 */
export interface Players extends Disposable {
  state(): PoolState;
  readonly deliveries: RunFacts['deliveries'];
  /** Resolves when new sandboxes have all content that they share, or when sharing has failed. */
  waitUntilShared(signal: AbortSignal): Promise<void>;
  /**
   * Plays for an arm until it is over, another has more work, the slot is recalled or the sandbox is used up.
   *
   * @throws InputError for a problem that a further attempt would not solve; InfrastructureError when it gave no result that an episode can
   * be held responsible for.
   */
  work(duty: Duty): Promise<void>;
  /**
   * Plays one episode again and records it.
   *
   * @throws InputError when the content is refused; InfrastructureError when there is no outcome through no fault of the episode; the
   * signal's reason.
   */
  replay(order: ReplayOrder, signal: AbortSignal): Promise<Replay>;
}
