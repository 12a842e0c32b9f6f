import { LRUCache } from 'lru-cache';
import type { Runtime } from '../runtime.ts';
import type { StoredTurns } from '../../agents/acting/model/stored-turns.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { Question } from '../../evaluation-store/answer-cache.ts';
import type { EpisodeJournal } from '../../evaluation-store/episode-journal.ts';
import { compare } from '../../orchestrator/compare.ts';
import { describeDraw } from '../../orchestrator/suite/draw.ts';
import { evaluate } from '../../orchestrator/evaluate.ts';
import { refuseGone } from '../checkpoints/gone-content.ts';
import { buildReplayDocument, type ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import { repeatSummary, type RepeatedRun } from '../../orchestrator/results/repeated-summary.ts';
import { toCheckpointFacts } from '../../orchestrator/results/summarise.ts';
import type { CheckpointFacts } from '../../orchestrator/results/summary.ts';
import { replayEpisode } from '../../orchestrator/replay/replay-episode.ts';
import type { EvaluateContext } from '../../orchestrator/run/evaluate-context.ts';
import { describeWhatRuns, type WhatRuns } from '../../orchestrator/suite/what-runs.ts';
import type { SuiteDefinition } from '../../orchestrator/suite/suite-definition.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { type Checkpoint, mayBringCode } from '../../policy-distribution/checkpoint.ts';
import { listCheckpoints, type EvaluationOrder, type OrderedContent } from '../../service/orders/evaluation-order.ts';
import { readOrderedSuite } from '../../service/orders/ordered-suite.ts';
import type { Answer, PlayCourse, Player, RecordedEpisode, ReplayCourse } from '../../service/orders/player.ts';
import { buildQuestion } from '../../service/orders/question.ts';
import { OrderedContents } from './ordered-contents.ts';
import { attributeToOperator } from './server-templates.ts';
import { toComparisonFigures, toEvaluationFigures } from '../../service/orders/running-figures.ts';

/** An entry takes some hundred bytes. */
const MOST_KNOWN = 1000;

type OrderOf<Kind extends EvaluationOrder['kind']> = Extract<EvaluationOrder, { readonly kind: Kind }>;

/** Plays orders on a runtime's sandboxes. Part of the composition root. */
export class OrderPlayer implements Player {
  readonly #runtime: Runtime;
  readonly #contents: OrderedContents;
  readonly #turns: StoredTurns;
  readonly #version: string;
  readonly #isOwn: boolean;
  readonly #known = new LRUCache<string, WhatRuns>({ max: MOST_KNOWN });

  /** @param source of what callers may name by URI. @param version of Muster. @param isOwn whether callers configure it themselves. */
  constructor(runtime: Runtime, source: CheckpointSource, turns: StoredTurns, version: string, isOwn = false) {
    this.#runtime = runtime;
    this.#turns = turns;
    this.#contents = new OrderedContents(runtime, source);
    this.#version = version;
    this.#isOwn = isOwn;
  }

  play(order: EvaluationOrder, course: PlayCourse): Promise<Answer> {
    return this.#attributeErrors(order, order.kind === 'evaluation' ? this.#evaluate(order, course) : this.#compare(order, course));
  }

  replay(order: EvaluationOrder, episode: RecordedEpisode, course: ReplayCourse): Promise<ReplayDocument> {
    return this.#attributeErrors(order, this.#replay(order, episode, course));
  }

  async #attributeErrors<Result>(order: EvaluationOrder, result: Promise<Result>): Promise<Result> {
    try {
      return await result;
    } catch (error) {
      throw this.#isOwn ? error : attributeToOperator(error, order.suite.template);
    }
  }

  buildQuestion(order: EvaluationOrder, principal: string): Question {
    const template = this.#digestTemplate(order.suite.template, listCheckpoints(order));
    return buildQuestion(order, { template, version: this.#version, runs: this.#describeRuns(order), principal });
  }

  repeatAnswer(order: EvaluationOrder, given: unknown, run: RepeatedRun): object | undefined {
    switch (order.kind) {
      case 'evaluation':
        return repeatSummary(given, { checkpoint: getFacts(order.checkpoint) }, run);
      case 'comparison': {
        const baseline = { ...getFacts(order.baseline), recorded: false } as const;
        return repeatSummary(given, { baseline, candidates: order.candidates.map(getFacts) }, run);
      }
    }
  }

  async #evaluate(order: OrderOf<'evaluation'>, course: PlayCourse): Promise<Answer> {
    const suite = readOrderedSuite(order);
    const suiteFiles = order.suiteFiles && (await this.#contents.openSuiteFiles(order.suiteFiles, course.signal));
    const checkpoint = await this.#contents.openCheckpoint(order.checkpoint, course.signal);
    await using _held = await this.#runtime.hold([checkpoint, suiteFiles]);
    const context = await this.#buildContext({ suite, suiteFiles, checkpoints: [checkpoint] }, course);
    using _players = context.players;
    const runs = describeWhatRuns(suite, [checkpoint]);
    const runtime = { suite, draw: describeDraw(suite), runs, template: this.#digestTemplate(suite.template, [checkpoint]) };
    const journal = this.#openJournal(course, runtime, 0, checkpoint.digest);
    const request = { suite, suiteFiles, checkpoint, checkpointUri: order.checkpoint.uri, checkpointName: order.checkpoint.name };
    return await evaluate(context, request, {
      journal,
      signal: course.signal,
      recallOnly: course.recallOnly,
      onProgress: (progress) => course.onProgress(toEvaluationFigures(progress), progress.look),
    });
  }

  async #compare(order: OrderOf<'comparison'>, course: PlayCourse): Promise<Answer> {
    const suite = readOrderedSuite(order);
    const suiteFiles = order.suiteFiles && (await this.#contents.openSuiteFiles(order.suiteFiles, course.signal));
    const baseline = await this.#contents.openCheckpoint(order.baseline, course.signal);
    const candidates = [];
    for (const content of order.candidates)
      candidates.push({ checkpoint: await this.#contents.openCheckpoint(content, course.signal), uri: content.uri, name: content.name });
    const checkpoints = [baseline, ...candidates.map(({ checkpoint }) => checkpoint)];
    await using _held = await this.#runtime.hold([...checkpoints, suiteFiles]);
    const context = await this.#buildContext({ suite, suiteFiles, checkpoints }, course);
    using _players = context.players;
    const request = {
      suite,
      suiteFiles,
      baseline: { kind: 'played', checkpoint: baseline },
      baselineUri: order.baseline.uri,
      baselineName: order.baseline.name,
      candidates,
      terms: order.terms,
    } as const;
    // One sandbox plays episodes of several arms, so code of one of them affects all.
    const template = this.#digestTemplate(suite.template, checkpoints);
    const played = { suite, draw: 'proportional', runs: describeWhatRuns(suite, checkpoints), template };
    return await compare(context, request, {
      journal: (arm) => this.#openJournal(course, played, arm, checkpoints[arm]?.digest ?? baseline.digest),
      signal: course.signal,
      recallOnly: course.recallOnly,
      onProgress: (progress) => course.onProgress(toComparisonFigures(progress), progress.look),
    });
  }

  async #replay(order: EvaluationOrder, { arm, recorded }: RecordedEpisode, course: ReplayCourse): Promise<ReplayDocument> {
    const content = listCheckpoints(order)[arm];
    if (!content) throw new InputError('arm.not-found', `arm: the order has no arm ${arm}`);
    const suite = readOrderedSuite(order);
    const suiteFiles =
      order.suiteFiles && (await refuseGone(this.#contents.openSuiteFiles(order.suiteFiles, course.signal), order.suiteFiles));
    const checkpoint = await refuseGone(this.#contents.openCheckpoint(content, course.signal), content);
    await using _held = await this.#runtime.hold([checkpoint, suiteFiles]);
    const context = await this.#buildContext({ suite, suiteFiles, checkpoints: [checkpoint] }, course);
    using _players = context.players;
    const episode = { suite, suiteFiles, checkpoint, index: recorded.index, task: recorded.task };
    return buildReplayDocument({ ...episode, recorded: recorded.outcome }, await replayEpisode(context, episode, course.signal));
  }

  async #buildContext(played: Parameters<Runtime['buildContext']>[0], course: ReplayCourse): Promise<EvaluateContext> {
    const storedTurns = { turns: this.#turns, principal: course.principal };
    const context = await this.#runtime.buildContext(
      { ...played, storedTurns },
      course.principal,
      this.#runtime.joinSignals(course.signal),
    );
    await course.turns.next();
    return { ...context, share: course.share(played.suite.template), turns: course.turns };
  }

  /** Caches recent suites: parsing one takes longer than everything else about a question that was answered before. */
  #describeRuns(order: EvaluationOrder): WhatRuns {
    const checkpoints = listCheckpoints(order);
    const key = `${order.suiteDigest} ${checkpoints.some(mayBringCode)}`;
    const runs = this.#known.get(key) ?? describeWhatRuns(readOrderedSuite(order), checkpoints);
    this.#known.set(key, runs);
    return runs;
  }

  #openJournal(course: PlayCourse, { suite, draw, runs, template }: JournalContext, arm: number, checkpoint: Digest): EpisodeJournal {
    return course.openJournal(arm, { checkpoint, suite: suite.digest, template, draw, runs });
  }

  /** Digests what the episodes are played on. @throws InputError as `Runtime.choosePolicyPlacement` does. */
  #digestTemplate(name: string, checkpoints: readonly Pick<Checkpoint, 'digest' | 'files'>[]): Digest {
    // A sandbox's price, and the delivery of its files, do not affect what happens in it.
    const { costPerSandboxHour: _price, delivery: _way, policy: _wished, ...template } = this.#runtime.pools.getSettings(name);
    const policy = this.#runtime.choosePolicyPlacement(name, checkpoints);
    // It is left out for the original placement, so that older stored episodes are still found.
    return digestBytes(formatCanonicalJson({ ...template, ...(policy === 'apart' && { policy }) }));
  }
}

interface JournalContext {
  readonly suite: SuiteDefinition;
  readonly draw: string;
  readonly runs: WhatRuns;
  readonly template: Digest;
}

function getFacts(content: OrderedContent): CheckpointFacts {
  return toCheckpointFacts(content, content.uri);
}
