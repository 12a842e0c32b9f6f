import { z } from 'zod';
import { formatCanonicalJson } from '../../kernel/canonical-json.ts';
import { type Summary, summarySchema } from './summary.ts';

/** What decides which episodes an evaluation plays and what becomes of them, as `config.json` keeps it. */
export interface EvaluationFacts {
  readonly config: { readonly templates: Readonly<Record<string, object>> };
  readonly suite: { readonly template: string } & Readonly<Record<string, unknown>>;
  /** That the suite ships. */
  readonly modules?: readonly RecordedModule[] | undefined;
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
  const difference = getDifference(facts.data, asked);
  if (difference !== undefined) return { kind: 'other', difference };
  if (earlier.summary === undefined) return { kind: 'interrupted' };
  const summary = summarySchema.safeParse(earlier.summary);
  if (!summary.success) return { kind: 'other', difference: 'a summary of another version of Muster' };
  if (summary.data.ended === 'failures') return { kind: 'all-failed' };
  return summary.data.partial ? { kind: 'interrupted' } : { kind: 'complete', summary: summary.data };
}

function getDifference(earlier: EvaluationFacts, asked: EvaluationFacts): string | undefined {
  if (earlier.checkpoint.digest !== asked.checkpoint.digest) return `an evaluation of another checkpoint, ${earlier.checkpoint.digest}`;
  const differences = listSuiteDifferences(earlier, asked);
  if (differences.length > 0)
    return `an evaluation on another suite, or with another stopping rule or budget (what differs: ${listFirst(differences)})`;
  if (!isSame(pickTemplate(earlier), pickTemplate(asked)))
    return `an evaluation with another definition of the template "${asked.suite.template}"`;
  if (earlier.statistics !== asked.statistics)
    return `an evaluation under version ${earlier.statistics} of the statistics, and this Muster computes version ${asked.statistics}`;
  return undefined;
}

function pickTemplate({ config, suite }: EvaluationFacts): object | undefined {
  return config.templates[suite.template];
}

/** A suite's modules, as a results directory keeps them. */
interface RecordedModule {
  readonly path: string;
  readonly digest: string;
}

/** A suite as it was kept, with its modules where they are known. */
export interface RecordedSuite {
  readonly suite: Readonly<Record<string, unknown>>;
  readonly modules?: readonly RecordedModule[] | undefined;
}

/** Where a suite file says what the definition has under another name; what follows from the rest is left out. */
const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  digest: [],
  filesDigest: [],
  declaredScores: [],
  tasks: ['environment or tasks'],
  bounds: ['reward.bounds'],
  episodeSeconds: ['episode.seconds'],
};

const MOST_TOLD = 4;

/** What differs between two suites, as a reader finds it in their files: keys, and modules by their paths. Empty when nothing does. */
export function listSuiteDifferences(earlier: RecordedSuite, asked: RecordedSuite): readonly string[] {
  const names = [...new Set([...Object.keys(earlier.suite), ...Object.keys(asked.suite)])];
  const keys = names.filter((name) => !isSame(earlier.suite[name], asked.suite[name])).flatMap((name) => WRITTEN[name] ?? [name]);
  const hasOtherFiles = !isSame(earlier.suite['filesDigest'], asked.suite['filesDigest']);
  return hasOtherFiles ? [...keys, ...listModuleDifferences(earlier.modules, asked.modules)] : keys;
}

/** For a message: the first few. */
export function listFirst(differences: readonly string[]): string {
  const more = differences.length - MOST_TOLD;
  return `${differences.slice(0, MOST_TOLD).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
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
