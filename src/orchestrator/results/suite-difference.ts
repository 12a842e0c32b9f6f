import { canonicalJson } from '../../kernel/canonical-json.ts';

/** A suite's modules, as a results directory keeps them. */
export interface KeptModule {
  readonly path: string;
  readonly digest: string;
}

/** A suite as it was kept, with its modules where they are known. */
export interface KeptSuite {
  readonly suite: Readonly<Record<string, unknown>>;
  readonly modules?: readonly KeptModule[] | undefined;
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
export function suiteDifferences(earlier: KeptSuite, asked: KeptSuite): readonly string[] {
  const names = [...new Set([...Object.keys(earlier.suite), ...Object.keys(asked.suite)])];
  const keys = names.filter((name) => !isSame(earlier.suite[name], asked.suite[name])).flatMap((name) => WRITTEN[name] ?? [name]);
  const hasOtherFiles = !isSame(earlier.suite['filesDigest'], asked.suite['filesDigest']);
  return hasOtherFiles ? [...keys, ...moduleDifferences(earlier.modules, asked.modules)] : keys;
}

/** For a message: the first few. */
export function listFirst(differences: readonly string[]): string {
  const more = differences.length - MOST_TOLD;
  return `${differences.slice(0, MOST_TOLD).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function moduleDifferences(earlier: readonly KeptModule[] = [], asked: readonly KeptModule[] = []): readonly string[] {
  const before = new Map(earlier.map(({ path, digest }) => [path, digest]));
  const now = new Map(asked.map(({ path, digest }) => [path, digest]));
  const paths = [...new Set([...before.keys(), ...now.keys()])].sort();
  const differing = paths.filter((path) => before.get(path) !== now.get(path));
  if (before.size === 0 || now.size === 0) return ['files'];
  return differing.map((path) => `files: ${path} ${before.has(path) ? (now.has(path) ? 'has changed' : 'is gone') : 'is new'}`);
}

function isSame(earlier: unknown, asked: unknown): boolean {
  return canonicalJson([earlier ?? null]) === canonicalJson([asked ?? null]);
}
