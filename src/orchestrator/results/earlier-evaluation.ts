import { z } from 'zod';
import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import { type ComparisonSummary, comparisonSummarySchema } from './comparison-summary.ts';
import { type Summary, summarySchema } from './summary.ts';

/** All that decides which episodes a run plays and their outcomes, as `config.json` stores it. */
interface RunFacts {
  readonly config: { readonly templates: Readonly<Record<string, object>> };
  readonly suite: { readonly template: string } & Readonly<Record<string, unknown>>;
  /** Modules that the suite ships. */
  readonly modules?: readonly RecordedModule[] | undefined;
  /** See `STATISTICS_VERSION`. */
  readonly statistics: number;
}

export interface EvaluationFacts extends RunFacts {
  readonly checkpoint: { readonly digest: string };
}

export interface ComparisonFacts extends RunFacts {
  /** A baseline that was evaluated before: where its results are stored, and how many episodes it has. */
  readonly baseline: { readonly digest: string; readonly recorded?: string; readonly episodes?: number | undefined };
  readonly candidates: readonly { readonly digest: string }[];
  readonly terms: object;
}

/** Says how an earlier run in a results directory relates to the requested one. */
export type EarlierRunKind<Document> =
  /** The directory has the same run, complete. */
  | { readonly kind: 'complete'; readonly summary: Document }
  /** The directory has the same run, interrupted. It can resume. */
  | { readonly kind: 'interrupted' }
  /**
   * The directory has the same run, in which every episode failed. The cause may have been corrected outside of suite and checkpoint, so it
   * starts again.
   */
  | { readonly kind: 'all-failed' }
  /** Another run. @param difference completes the sentence "it holds …". */
  | { readonly kind: 'other'; readonly difference: string };

/** Content of `config.json` and `summary.json`, unchecked; the summary is undefined where there is none. */
export interface EarlierFiles {
  readonly configuration: unknown;
  readonly summary: unknown;
}

const runSchema = z.object({
  config: z.object({ templates: z.record(z.string(), z.looseObject({})) }),
  suite: z.looseObject({ template: z.string() }),
  modules: z.array(z.object({ path: z.string(), digest: z.string() })).optional(),
  statistics: z.int().default(1),
});
const checkpointSchema = z.looseObject({ digest: z.string() });
const evaluationSchema = runSchema.extend({ checkpoint: checkpointSchema });
const comparisonSchema = runSchema.extend({
  baseline: z.looseObject({ digest: z.string(), episodes: z.int().optional() }),
  candidates: z.array(checkpointSchema),
  terms: z.looseObject({}),
});

export function classifyEarlierEvaluation(earlier: EarlierFiles, asked: EvaluationFacts): EarlierRunKind<Summary> {
  const facts = evaluationSchema.safeParse(earlier.configuration);
  if (!facts.success) return { kind: 'other', difference: 'what is not an evaluation of one checkpoint' };
  const { digest } = facts.data.checkpoint;
  if (digest !== asked.checkpoint.digest) return { kind: 'other', difference: `an evaluation of another checkpoint, ${digest}` };
  return classify(earlier.summary, summarySchema, getDifference('an evaluation', facts.data, asked));
}

export function classifyEarlierComparison(earlier: EarlierFiles, asked: ComparisonFacts): EarlierRunKind<ComparisonSummary> {
  const facts = comparisonSchema.safeParse(earlier.configuration);
  if (!facts.success) return { kind: 'other', difference: 'a file that is not a comparison that this Muster can continue' };
  if (!isSame(pickCompared(facts.data), pickCompared(asked)))
    return { kind: 'other', difference: 'a comparison of other checkpoints, or of the same in another order' };
  if (!isSame(facts.data.terms, asked.terms))
    return { kind: 'other', difference: 'a comparison with another margin, budget or confidence' };
  return classify(earlier.summary, comparisonSummarySchema, getDifference('a comparison', facts.data, asked));
}

function pickCompared({ baseline, candidates }: Pick<ComparisonFacts, 'baseline' | 'candidates'>): unknown {
  return [baseline.digest, baseline.episodes ?? null, candidates.map(({ digest }) => digest)];
}

function classify<Document extends { readonly ended: string; readonly partial: boolean }>(
  kept: unknown,
  schema: z.ZodType<Document>,
  difference: string | undefined,
): EarlierRunKind<Document> {
  if (difference !== undefined) return { kind: 'other', difference };
  if (kept === undefined) return { kind: 'interrupted' };
  const summary = schema.safeParse(kept);
  if (!summary.success) return { kind: 'other', difference: 'a summary of another version of Muster' };
  if (summary.data.ended === 'failures') return { kind: 'all-failed' };
  return summary.data.partial ? { kind: 'interrupted' } : { kind: 'complete', summary: summary.data };
}

/** @param what the run is, with its article. */
function getDifference(what: string, earlier: RunFacts, asked: RunFacts): string | undefined {
  const differences = listSuiteDifferences(earlier, asked);
  if (differences.length > 0)
    return `${what} on another suite, or with another stopping rule or budget (what differs: ${listFirst(differences)})`;
  if (!isSame(pickTemplate(earlier), pickTemplate(asked)))
    return `${what} with another definition of the template "${asked.suite.template}"`;
  if (earlier.statistics !== asked.statistics)
    return `${what} under version ${earlier.statistics} of the statistics, and this Muster computes version ${asked.statistics}`;
  return undefined;
}

function pickTemplate({ config, suite }: RunFacts): object | undefined {
  return config.templates[suite.template];
}

/** A suite's module as a results directory stores it. */
interface RecordedModule {
  readonly path: string;
  readonly digest: string;
}

/** A suite as it was stored, with its modules where they are known. */
export interface RecordedSuite {
  readonly suite: Readonly<Record<string, unknown>>;
  readonly modules?: readonly RecordedModule[] | undefined;
}

/** Keys of suite files whose name differs in the definition. Keys that follow from others are left out. */
const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  digest: [],
  filesDigest: [],
  declaredScores: [],
  tasks: ['environment or tasks'],
  bounds: ['reward.bounds'],
  episodeSeconds: ['episode.seconds'],
};

const MOST_NAMED = 4;

/**
 * Lists the differences between two suites, as a reader finds them in their files: keys, and paths of modules. The result is empty when there are
 * none.
 */
export function listSuiteDifferences(earlier: RecordedSuite, asked: RecordedSuite): readonly string[] {
  const names = [...new Set([...Object.keys(earlier.suite), ...Object.keys(asked.suite)])];
  const keys = names.filter((name) => !isSame(earlier.suite[name], asked.suite[name])).flatMap((name) => WRITTEN[name] ?? [name]);
  const hasOtherFiles = !isSame(earlier.suite['filesDigest'], asked.suite['filesDigest']);
  return hasOtherFiles ? [...keys, ...listModuleDifferences(earlier.modules, asked.modules)] : keys;
}

/** Lists the first few, for a message. */
export function listFirst(differences: readonly string[]): string {
  const more = differences.length - MOST_NAMED;
  return `${differences.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function listModuleDifferences(earlier: readonly RecordedModule[] = [], asked: readonly RecordedModule[] = []): readonly string[] {
  const before = new Map(earlier.map(({ path, digest }) => [path, digest]));
  const now = new Map(asked.map(({ path, digest }) => [path, digest]));
  const paths = [...new Set([...before.keys(), ...now.keys()])].sort();
  const differing = paths.filter((path) => before.get(path) !== now.get(path));
  if (before.size === 0 || now.size === 0) return ['files'];
  return differing.map((path) => `files: ${path} ${before.has(path) ? (now.has(path) ? 'has changed' : 'is gone') : 'is new'}`);
}

function isSame(earlier: unknown, asked: unknown): boolean {
  return formatCanonicalJson([earlier ?? null]) === formatCanonicalJson([asked ?? null]);
}
