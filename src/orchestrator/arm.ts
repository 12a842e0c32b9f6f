import { judge } from '../aggregation/scoring.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import type { EpisodeIndex } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { StoredCheckpoint } from '../policy-distribution/checkpoint-store.ts';
import type { PlayedEpisode } from '../runner/played-episode.ts';
import type { PlannedEpisode } from '../runner/playlist.ts';
import { Dispatcher, type DispatchConfig, type DispatchView } from './dispatcher.ts';
import type { EpisodeSink } from './episode-record.ts';
import type { Goal } from './goal.ts';
import { HeldEpisodes } from './held-episodes.ts';
import type { SuiteDefinition } from './suite-definition.ts';

/** Least number of episodes that dispatch runs ahead of the fold, however soon the goal may be reached. */
const LEAST_AHEAD = 8;

export interface ArmConfig extends DispatchConfig {
  /** Most episodes that may be ahead of the fold: bounds memory, and what a stop may leave unused. */
  readonly window: number;
}

export interface ArmOptions {
  readonly suite: SuiteDefinition;
  /** The suite's own modules in the store, when it ships any. */
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  readonly goal: Goal;
  /** Which episode an index below the goal's limit stands for. */
  readonly plan: (index: number) => PlannedEpisode;
  readonly config: ArmConfig;
  readonly sink?: EpisodeSink | undefined;
}

/**
 * The episodes of one checkpoint in a study: which are out, which came back, what is kept of them. What they come to is the goal's
 * to say. Driven by an `EpisodeRun`; everything here happens at once, in memory.
 */
export class Arm {
  readonly suite: SuiteDefinition;
  readonly suiteFiles: StoredCheckpoint | undefined;
  readonly checkpoint: StoredCheckpoint;
  /** Set once a runner has taken the checkpoint: another one's refusal is then that runner's own trouble. */
  wasLoaded = false;
  readonly #goal: Goal;
  readonly #window: number;
  readonly #dispatcher: Dispatcher;
  readonly #held: HeldEpisodes | undefined;
  /** First result of an episode of which another copy is still being played. */
  readonly #firstResults = new Map<EpisodeIndex, string>();
  readonly #differing: EpisodeIndex[] = [];

  constructor({ suite, suiteFiles, checkpoint, goal, plan, config, sink }: ArmOptions) {
    this.suite = suite;
    this.suiteFiles = suiteFiles;
    this.checkpoint = checkpoint;
    this.#goal = goal;
    this.#window = config.window;
    this.#dispatcher = new Dispatcher(plan, config);
    this.#held = sink && new HeldEpisodes(suite, checkpoint.digest, sink);
  }

  /** Whether it needs no more episodes. */
  get isOver(): boolean {
    return this.#goal.isReached;
  }

  get dispatcher(): Pick<Dispatcher, 'retried' | 'duplicated' | 'inFlight'> {
    return this.#dispatcher;
  }

  /** Indices of which two plays came out differently: their results are not reproducible. */
  get differing(): readonly EpisodeIndex[] {
    return this.#differing;
  }

  /** How many episodes could be dispatched now. */
  available(sandboxes: number): number {
    return this.isOver ? 0 : this.#dispatcher.available(this.#horizon(sandboxes));
  }

  /** The next range for a runner; empty when there is nothing for it now. */
  take(now: number, sandboxes: number, outstanding: DispatchView['outstanding'], capacity: number): readonly PlannedEpisode[] {
    if (this.isOver) return [];
    return this.#dispatcher.take({ now, horizon: this.#horizon(sandboxes), sandboxes, outstanding, capacity });
  }

  takeStraggler(now: number): PlannedEpisode | undefined {
    return this.isOver ? undefined : this.#dispatcher.takeStraggler(now);
  }

  nextStragglerAt(): number | undefined {
    return this.isOver ? undefined : this.#dispatcher.nextStragglerAt();
  }

  giveBack(episodes: readonly PlannedEpisode[]): void {
    this.#dispatcher.giveBack(episodes);
  }

  /** Takes results in. @returns a promise when the episode sink asks to wait. */
  record(played: readonly PlayedEpisode[]): Promise<void> | undefined {
    for (const episode of played) this.#recordOne(episode);
    return this.#held?.emit(this.#goal.folded);
  }

  /** Hands the surplus episodes to the sink, once the study is over. */
  async finish(): Promise<void> {
    await this.#held?.emit(this.#goal.folded);
    await this.#held?.finish();
  }

  #horizon(sandboxes: number): number {
    const { folded, limit } = this.#goal;
    const needed = Math.max(this.#goal.expectedRemaining(), LEAST_AHEAD, Math.ceil(sandboxes / 4));
    return Math.min(folded + Math.min(needed, this.#window), limit);
  }

  #recordOne(episode: PlayedEpisode): void {
    const outcome = this.#finalOutcome(episode);
    if (!outcome) return;
    const settled = this.#dispatcher.settle(episode.index, episode.seconds * 1000);
    if (!settled) return this.#compare(episode.index, outcome);
    if (settled.others > 0) this.#firstResults.set(episode.index, essence(outcome));
    this.#held?.add(episode, settled.episode, outcome);
    this.#goal.offer(episode.index, settled.episode.task, withoutDetail(outcome));
  }

  /** Undefined while the episode is to be played again, or another copy of it decides. */
  #finalOutcome(episode: PlayedEpisode): Outcome | undefined {
    if (episode.outcome.kind !== 'lost') return judge(episode.outcome, this.suite.bounds);
    const decision = this.#dispatcher.lost(episode.index, episode.outcome.detail, episode.killed);
    return decision?.kind === 'final' ? decision.outcome : undefined;
  }

  /** A second result of an index changes nothing but what is said about reproducibility. */
  #compare(index: EpisodeIndex, outcome: Outcome): void {
    const first = this.#firstResults.get(index);
    if (first === undefined) return;
    this.#firstResults.delete(index);
    if (first !== essence(outcome)) this.#differing.push(index);
  }
}

/** The fold counts outcomes; their details, which can be long, need not wait with them. */
export function withoutDetail(outcome: Outcome): Outcome {
  return outcome.kind === 'completed' ? outcome : { ...outcome, detail: '' };
}

/** What two plays of the same episode must agree on. A failure's detail may name addresses and times, so it does not count. */
function essence(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'completed':
      return canonicalJson(outcome);
    case 'failed':
      return outcome.cause;
    case 'lost':
      return 'lost';
  }
}
