import type { Ground } from './ground.ts';
import { canonicalJson, digestOf } from './kernel/canonical-json.ts';
import { InfrastructureError } from './kernel/errors.ts';
import type { Digest } from './kernel/ids.ts';
import type { Question } from './evaluation-store/answer-cache.ts';
import type { EpisodeJournal } from './evaluation-store/episode-journal.ts';
import { compare } from './orchestrator/compare.ts';
import { drawOf } from './orchestrator/draw.ts';
import { evaluate } from './orchestrator/evaluate.ts';
import { repeatedSummary, type RepeatedRun } from './orchestrator/repeated-summary.ts';
import { checkpointFacts } from './orchestrator/summarise.ts';
import type { CheckpointFacts } from './orchestrator/summary.ts';
import type { EvaluateContext } from './orchestrator/evaluate-context.ts';
import type { SuiteDefinition } from './orchestrator/suite-definition.ts';
import type { CheckpointSource } from './policy-distribution/checkpoint-source.ts';
import { addPinned, pinnedUri } from './policy-distribution/pinned-uri.ts';
import type { StoredCheckpoint } from './policy-distribution/stored-checkpoint.ts';
import type { EvaluationOrder, OrderedContent } from './service/evaluation-order.ts';
import { orderedSuite } from './service/ordered-suite.ts';
import type { Answer, PlayCourse, Player } from './service/player.ts';
import { questionOf } from './service/question.ts';
import { comparisonFigures, evaluationFigures } from './service/running-figures.ts';

type OrderOf<Kind extends EvaluationOrder['kind']> = Extract<EvaluationOrder, { readonly kind: Kind }>;

/** Plays orders on a ground's sandboxes. Part of the composition root. */
export class OrderPlayer implements Player {
  readonly #ground: Ground;
  readonly #source: CheckpointSource;
  readonly #version: string;

  /** @param source of what callers may name by its URI. @param version of Muster. */
  constructor(ground: Ground, source: CheckpointSource, version: string) {
    this.#ground = ground;
    this.#source = source;
    this.#version = version;
  }

  play(order: EvaluationOrder, course: PlayCourse): Promise<Answer> {
    switch (order.kind) {
      case 'evaluation':
        return this.#evaluate(order, course);
      case 'comparison':
        return this.#compare(order, course);
    }
  }

  question(order: EvaluationOrder): Question {
    return questionOf(order, { template: this.#templateDigest(order.suite.template), version: this.#version });
  }

  repeated(order: EvaluationOrder, given: unknown, run: RepeatedRun): object | undefined {
    switch (order.kind) {
      case 'evaluation':
        return repeatedSummary(given, { checkpoint: factsOf(order.checkpoint) }, run);
      case 'comparison': {
        const baseline = { ...factsOf(order.baseline), recorded: false } as const;
        return repeatedSummary(given, { baseline, candidates: order.candidates.map(factsOf) }, run);
      }
    }
  }

  async #evaluate(order: OrderOf<'evaluation'>, course: PlayCourse): Promise<Answer> {
    const suite = orderedSuite(order);
    const suiteFiles = order.suiteFiles && (await this.#suiteFiles(order.suiteFiles, course.signal));
    const checkpoint = await this.#checkpoint(order.checkpoint, course.signal);
    await using _held = await this.#ground.hold([checkpoint, suiteFiles]);
    const context = await this.#context({ suite, suiteFiles, checkpoints: [checkpoint] }, course);
    using _sharing = context.sharing;
    const journal = this.#journal(course, suite, drawOf(suite), 0, checkpoint.digest);
    const request = { suite, suiteFiles, checkpoint, checkpointUri: order.checkpoint.uri };
    return await evaluate(context, request, {
      journal,
      signal: course.signal,
      recallOnly: course.recallOnly,
      onProgress: (progress) => course.onProgress(evaluationFigures(progress)),
    });
  }

  async #compare(order: OrderOf<'comparison'>, course: PlayCourse): Promise<Answer> {
    const suite = orderedSuite(order);
    const suiteFiles = order.suiteFiles && (await this.#suiteFiles(order.suiteFiles, course.signal));
    const baseline = await this.#checkpoint(order.baseline, course.signal);
    const candidates = [];
    for (const content of order.candidates)
      candidates.push({ checkpoint: await this.#checkpoint(content, course.signal), uri: content.uri });
    const checkpoints = [baseline, ...candidates.map(({ checkpoint }) => checkpoint)];
    await using _held = await this.#ground.hold([...checkpoints, suiteFiles]);
    const context = await this.#context({ suite, suiteFiles, checkpoints }, course);
    using _sharing = context.sharing;
    const request = {
      suite,
      suiteFiles,
      baseline: { kind: 'played', checkpoint: baseline },
      baselineUri: order.baseline.uri,
      candidates,
      terms: order.terms,
    } as const;
    return await compare(context, request, {
      journal: (arm) => this.#journal(course, suite, 'proportional', arm, checkpoints[arm]?.digest ?? baseline.digest),
      signal: course.signal,
      recallOnly: course.recallOnly,
      onProgress: (progress) => course.onProgress(comparisonFigures(progress)),
    });
  }

  #checkpoint(content: OrderedContent, signal: AbortSignal): Promise<StoredCheckpoint> {
    const { uri, labels } = content;
    return this.#restored(content, () =>
      addPinned(this.#ground.checkpoints, this.#source, pinnedUri(uri), this.#ground.either(signal), labels),
    );
  }

  #suiteFiles(content: OrderedContent, signal: AbortSignal): Promise<StoredCheckpoint> {
    return this.#restored(content, () => this.#ground.addModules(content.uri, signal));
  }

  /** Another machine may have accepted the order: what it kept is read again from where it was, and has to be the same. */
  async #restored({ digest, kind, files, labels }: OrderedContent, read: () => Promise<StoredCheckpoint>): Promise<StoredCheckpoint> {
    try {
      return await this.#ground.checkpoints.restore({ digest, kind, files, labels });
    } catch (error) {
      if (!(error instanceof InfrastructureError) || error.code !== 'store.content-missing') throw error;
      const again = await read().catch(() => undefined);
      if (again?.digest !== digest) throw error;
      return again;
    }
  }

  async #context(played: Parameters<Ground['context']>[0], course: PlayCourse): Promise<EvaluateContext> {
    const context = await this.#ground.context(played, this.#ground.either(course.signal));
    await course.turns.next();
    return { ...context, share: course.share(played.suite.template), turns: course.turns };
  }

  #journal(course: PlayCourse, suite: SuiteDefinition, draw: string, arm: number, checkpoint: Digest): EpisodeJournal {
    return course.journal(arm, { checkpoint, suite: suite.digest, template: this.#templateDigest(suite.template), draw });
  }

  #templateDigest(name: string): Digest {
    // What a sandbox costs, and how its files came, decides nothing that happens in it.
    const { costPerSandboxHour: _price, delivery: _way, ...template } = this.#ground.pools.settings(name);
    return digestOf(canonicalJson(template));
  }
}

function factsOf(content: OrderedContent): CheckpointFacts {
  return checkpointFacts(content, content.uri);
}
