import { PrefixFold, type EndedBy, type RunningStatistics } from '../aggregation/prefix-fold.ts';
import { judge } from '../aggregation/scoring.ts';
import type { OfficialStatistics } from '../aggregation/statistics.ts';
import type { StoppingRule } from '../aggregation/stopping-rule.ts';
import { stoppingRule } from '../aggregation/stopping.ts';
import { canonicalJson } from '../kernel/canonical-json.ts';
import { parseEpisodeIndex, type Digest, type EpisodeIndex } from '../kernel/ids.ts';
import type { Outcome } from '../kernel/outcome.ts';
import type { PlannedEpisode } from '../runner/playlist.ts';
import type { PlayedEpisode } from '../runner/played-episode.ts';
import { Dispatcher, type DispatchConfig, type DispatchView } from './dispatcher.ts';
import type { EpisodeRecord, EpisodeSink } from './episode-record.ts';
import { episodePlanner, type SuiteDefinition } from './suite-definition.ts';

/** Least number of episodes that dispatch runs ahead of the fold, however soon the rule may be satisfied. */
const LEAST_AHEAD = 8;

/** Logs and details that wait with their episodes for an earlier one, in characters; more are dropped, and that is said in their place. */
const MAX_HELD_TEXT = 32 * 1024 * 1024;
const TEXT_DROPPED = '(dropped: too much text was waiting for an earlier episode)';

export interface EvaluationConfig extends DispatchConfig {
  /** Most episodes that may be ahead of the fold: bounds memory, and what a stop may leave unused. */
  readonly window: number;
}

/**
 * One evaluation's state: which episodes are out, what has been folded, whether more are needed. Driven by `evaluate`;
 * everything here happens at once, in memory.
 */
export class Evaluation {
  readonly #suite: SuiteDefinition;
  readonly #checkpoint: Digest;
  readonly #config: EvaluationConfig;
  readonly #rule: StoppingRule;
  readonly #fold: PrefixFold;
  readonly #dispatcher: Dispatcher;
  readonly #sink: EpisodeSink | undefined;
  /** Not folded yet, or surplus. */
  readonly #held = new Map<EpisodeIndex, EpisodeRecord>();
  /** First result of an episode of which another copy is still being played. */
  readonly #firstResults = new Map<EpisodeIndex, string>();
  readonly #differing: EpisodeIndex[] = [];
  #emitted = 0;
  /** Characters of logs and details in `#held`. */
  #heldText = 0;

  constructor(suite: SuiteDefinition, checkpoint: Digest, config: EvaluationConfig, sink: EpisodeSink | undefined) {
    this.#suite = suite;
    this.#checkpoint = checkpoint;
    this.#config = config;
    this.#sink = sink;
    this.#rule = stoppingRule(suite.stop, suite.bounds);
    this.#fold = new PrefixFold({
      bounds: suite.bounds,
      failureScores: suite.failureScores,
      tasks: suite.tasks,
      metrics: suite.metrics,
      rule: this.#rule,
      budgetEpisodes: suite.budget.episodes,
      windowSize: config.window,
    });
    this.#dispatcher = new Dispatcher(episodePlanner(suite), config);
  }

  /** Undefined while episodes are needed. */
  get ended(): EndedBy | undefined {
    return this.#fold.ended;
  }

  get dispatcher(): Pick<Dispatcher, 'retried' | 'duplicated' | 'inFlight'> {
    return this.#dispatcher;
  }

  /** Indices of which two plays came out differently: their results are not reproducible. */
  get differing(): readonly EpisodeIndex[] {
    return this.#differing;
  }

  get surplus(): number {
    return this.#fold.surplus;
  }

  running(): RunningStatistics {
    return this.#fold.running();
  }

  official(): OfficialStatistics {
    return this.#fold.official();
  }

  /** How many episodes could be dispatched now. */
  available(sandboxes: number): number {
    return this.ended ? 0 : this.#dispatcher.available(this.#horizon(sandboxes));
  }

  /** The next range for a runner; empty when there is nothing for it now. */
  take(now: number, sandboxes: number, outstanding: DispatchView['outstanding'], capacity: number): readonly PlannedEpisode[] {
    if (this.ended) return [];
    return this.#dispatcher.take({ now, horizon: this.#horizon(sandboxes), sandboxes, outstanding, capacity });
  }

  takeStraggler(now: number): PlannedEpisode | undefined {
    return this.ended ? undefined : this.#dispatcher.takeStraggler(now);
  }

  nextStragglerAt(): number | undefined {
    return this.ended ? undefined : this.#dispatcher.nextStragglerAt();
  }

  giveBack(episodes: readonly PlannedEpisode[]): void {
    this.#dispatcher.giveBack(episodes);
  }

  /** Takes results in. @returns a promise when the episode sink asks to wait. */
  record(played: readonly PlayedEpisode[]): Promise<void> | undefined {
    for (const episode of played) this.#recordOne(episode);
    return this.#emit();
  }

  /** Hands the surplus episodes to the sink, once the evaluation is over. */
  async finish(): Promise<void> {
    const surplus = [...this.#held.values()].sort((a, b) => a.index - b.index);
    this.#held.clear();
    for (const record of surplus) await this.#sink?.write({ ...record, part: 'surplus' });
  }

  #horizon(sandboxes: number): number {
    const folded = this.#fold.folded;
    const needed = Math.max(this.#rule.expectedRemaining(), LEAST_AHEAD, Math.ceil(sandboxes / 4));
    return Math.min(folded + Math.min(needed, this.#config.window), this.#limit());
  }

  #limit(): number {
    const budget = this.#suite.budget.episodes ?? Number.POSITIVE_INFINITY;
    return this.#suite.stop.rule === 'fixed' ? Math.min(this.#suite.stop.episodes, budget) : budget;
  }

  #recordOne(episode: PlayedEpisode): void {
    const outcome = this.#finalOutcome(episode);
    if (!outcome) return;
    const settled = this.#dispatcher.settle(episode.index, episode.seconds * 1000);
    if (!settled) return this.#compare(episode.index, outcome);
    if (settled.others > 0) this.#firstResults.set(episode.index, essence(outcome));
    this.#hold(episode, settled.episode, outcome);
    this.#fold.offer(episode.index, settled.episode.task, withoutDetail(outcome));
  }

  /** Undefined while the episode is to be played again, or another copy of it decides. */
  #finalOutcome(episode: PlayedEpisode): Outcome | undefined {
    if (episode.outcome.kind !== 'lost') return judge(episode.outcome, this.#suite.bounds);
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

  #hold(episode: PlayedEpisode, planned: PlannedEpisode, outcome: Outcome): void {
    if (!this.#sink) return;
    const text = textOf(outcome, episode.log);
    const keepsText = this.#heldText + text <= MAX_HELD_TEXT;
    const log = keepsText ? episode.log : episode.log && TEXT_DROPPED;
    if (keepsText) this.#heldText += text;
    this.#held.set(episode.index, {
      index: episode.index,
      task: this.#suite.tasks[planned.task]?.name ?? '',
      environmentSeed: planned.environmentSeed,
      policySeed: planned.policySeed,
      checkpoint: this.#checkpoint,
      outcome: keepsText ? outcome : withoutDetail(outcome),
      part: 'official',
      seconds: episode.seconds,
      ...(log === undefined ? {} : { log }),
    });
  }

  #emit(): Promise<void> | undefined {
    if (!this.#sink) return undefined;
    let wait: Promise<void> | undefined;
    for (; this.#emitted < this.#fold.folded; this.#emitted += 1) {
      const index = parseEpisodeIndex(this.#emitted);
      const record = this.#held.get(index);
      this.#held.delete(index);
      if (record) this.#heldText -= textOf(record.outcome, record.log === TEXT_DROPPED ? '' : record.log);
      if (record) wait = this.#sink.write(record) ?? wait;
    }
    return wait;
  }
}

function textOf(outcome: Outcome, log: string | undefined): number {
  return (log?.length ?? 0) + (outcome.kind === 'completed' ? 0 : outcome.detail.length);
}

/** The fold counts outcomes; their details, which can be long, need not wait with them. */
function withoutDetail(outcome: Outcome): Outcome {
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
