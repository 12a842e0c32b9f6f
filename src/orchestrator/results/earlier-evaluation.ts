import { z } from 'zod';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import { listFirst, suiteDifferences, type KeptModule } from './suite-difference.ts';
import { summarySchema, type Summary } from './summary.ts';

/** What decides which episodes an evaluation plays and what becomes of them, as `config.json` keeps it. */
export interface EvaluationFacts {
  readonly config: { readonly templates: Readonly<Record<string, object>> };
  readonly suite: { readonly template: string } & Readonly<Record<string, unknown>>;
  /** That the suite ships. */
  readonly modules?: readonly KeptModule[] | undefined;
  readonly checkpoint: { readonly digest: string };
  /** See `STATISTICS_VERSION`. */
  readonly statistics: number;
}

/** What an earlier evaluation in a results directory is to the one that is asked for now. */
export type EarlierEvaluation =
  /** The same one, complete. */
  | { readonly kind: 'complete'; readonly summary: Summary }
  /** The same one, cut short: it can go on. */
  | { readonly kind: 'interrupted' }
  /** The same one, in which every episode failed. What made them fail may be mended outside of suite and checkpoint: it begins anew. */
  | { readonly kind: 'all-failed' }
  /** Another one. @param difference completes the sentence "it holds …". */
  | { readonly kind: 'other'; readonly difference: string };

const factsSchema = z.object({
  config: z.object({ templates: z.record(z.string(), z.looseObject({})) }),
  suite: z.looseObject({ template: z.string() }),
  modules: z.array(z.object({ path: z.string(), digest: z.string() })).optional(),
  checkpoint: z.looseObject({ digest: z.string() }),
  statistics: z.int().default(1),
});

/** @param earlier content of `config.json` and `summary.json`, unchecked; the summary is undefined where there is none. */
export function classifyEarlier(
  earlier: { readonly configuration: unknown; readonly summary: unknown },
  asked: EvaluationFacts,
): EarlierEvaluation {
  const facts = factsSchema.safeParse(earlier.configuration);
  if (!facts.success) return { kind: 'other', difference: 'what is not an evaluation of one checkpoint' };
  const difference = differenceOf(facts.data, asked);
  if (difference !== undefined) return { kind: 'other', difference };
  if (earlier.summary === undefined) return { kind: 'interrupted' };
  const summary = summarySchema.safeParse(earlier.summary);
  if (!summary.success) return { kind: 'other', difference: 'a summary of another version of Muster' };
  if (summary.data.ended === 'failures') return { kind: 'all-failed' };
  return summary.data.partial ? { kind: 'interrupted' } : { kind: 'complete', summary: summary.data };
}

function differenceOf(earlier: EvaluationFacts, asked: EvaluationFacts): string | undefined {
  if (earlier.checkpoint.digest !== asked.checkpoint.digest) return `an evaluation of another checkpoint, ${earlier.checkpoint.digest}`;
  const differences = suiteDifferences(earlier, asked);
  if (differences.length > 0)
    return `an evaluation on another suite, or with another stopping rule or budget (what differs: ${listFirst(differences)})`;
  if (!isSame(templateOf(earlier), templateOf(asked)))
    return `an evaluation with another definition of the template "${asked.suite.template}"`;
  if (earlier.statistics !== asked.statistics)
    return `an evaluation under version ${earlier.statistics} of the statistics, and this Muster computes version ${asked.statistics}`;
  return undefined;
}

function templateOf({ config, suite }: EvaluationFacts): object | undefined {
  return config.templates[suite.template];
}

function isSame(earlier: object | undefined, asked: object | undefined): boolean {
  return canonicalJson(earlier ?? {}) === canonicalJson(asked ?? {});
}
