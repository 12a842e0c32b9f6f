import type { Ground } from './ground.ts';
import { canonicalJson, digestOf } from './kernel/canonical-json.ts';
import type { Digest } from './kernel/ids.ts';
import type { EpisodeJournal } from './evaluation-store/episode-journal.ts';
import { compare } from './orchestrator/compare.ts';
import { drawOf } from './orchestrator/draw.ts';
import { evaluate } from './orchestrator/evaluate.ts';
import type { EvaluateContext } from './orchestrator/evaluate-context.ts';
import type { SuiteDefinition } from './orchestrator/suite-definition.ts';
import type { StoredCheckpoint } from './policy-distribution/checkpoint-store.ts';
import type { EvaluationOrder, OrderedContent } from './service/evaluation-order.ts';
import { orderedSuite } from './service/ordered-suite.ts';
import type { Answer, PlayCourse, Player } from './service/player.ts';
import { comparisonFigures, evaluationFigures } from './service/running-figures.ts';

type OrderOf<Kind extends EvaluationOrder['kind']> = Extract<EvaluationOrder, { readonly kind: Kind }>;

/** Plays orders on a ground's sandboxes. Part of the composition root. */
export class OrderPlayer implements Player {
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  play(order: EvaluationOrder, course: PlayCourse): Promise<Answer> {
    switch (order.kind) {
      case 'evaluation':
        return this.#evaluate(order, course);
      case 'comparison':
        return this.#compare(order, course);
    }
  }

  async #evaluate(order: OrderOf<'evaluation'>, course: PlayCourse): Promise<Answer> {
    const suite = orderedSuite(order);
    const suiteFiles = order.suiteFiles && (await this.#restored(order.suiteFiles));
    const checkpoint = await this.#restored(order.checkpoint);
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
    const suiteFiles = order.suiteFiles && (await this.#restored(order.suiteFiles));
    const baseline = await this.#restored(order.baseline);
    const candidates = [];
    for (const content of order.candidates) candidates.push({ checkpoint: await this.#restored(content), uri: content.uri });
    const checkpoints = [baseline, ...candidates.map(({ checkpoint }) => checkpoint)];
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

  #restored({ digest, kind, files, labels }: OrderedContent): Promise<StoredCheckpoint> {
    return this.#ground.checkpoints.restore({ digest, kind, files, labels });
  }

  async #context(played: Parameters<Ground['context']>[0], course: PlayCourse): Promise<EvaluateContext> {
    const context = await this.#ground.context(played, this.#ground.either(course.signal));
    return { ...context, share: course.share(played.suite.template) };
  }

  #journal(course: PlayCourse, suite: SuiteDefinition, draw: string, arm: number, checkpoint: Digest): EpisodeJournal {
    // What a sandbox costs decides nothing that happens in it.
    const { costPerSandboxHour: _, ...template } = this.#ground.pools.settings(suite.template);
    return course.journal(arm, { checkpoint, suite: suite.digest, template: digestOf(canonicalJson(template)), draw });
  }
}
