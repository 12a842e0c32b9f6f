import { InputError } from '../../../kernel/errors.ts';
import { formatCanonicalJson, digestBytes } from '../../../kernel/canonical-json.ts';
import { getDigestHex } from '../../../policy-distribution/checkpoint.ts';
import type { BatchCheckpoint, BatchFile } from './batch-file.ts';
import { readLabels } from './batch-labels.ts';
import { nameCheckpoint, type NamedCheckpoint } from '../named-checkpoint.ts';
import { omitNames } from '../../http/schemas/nameless.ts';
import type { NewEvaluation } from '../request-bodies.ts';

/** The parts of their machine that batches need. Paths are relative to the batch file's directory. */
export interface BatchContext {
  /** Lists files and directories that match a pattern, in natural order. */
  match(pattern: string): Promise<readonly string[]>;
  /** @throws InputError when the suite cannot be sent. */
  readSuite(path: string): Promise<NewEvaluation['suite']>;
  /** Returns the absolute form that the checkpoint source takes. */
  absolute(path: string): string;
}

/** Something that is evaluated on every suite. */
export interface PlannedCheckpoint {
  /** Its name in the batch, as people see it. */
  readonly title: string;
  readonly named: NamedCheckpoint;
}

export interface PlannedSuite {
  readonly title: string;
  readonly suite: NewEvaluation['suite'];
}

/** Lists the checkpoints of a batch, each once. @throws InputError `batch.no-match`, `batch.labels`, `batch.twice`. */
export async function planCheckpoints({ checkpoints }: BatchFile, context: BatchContext): Promise<readonly PlannedCheckpoint[]> {
  const planned = (await Promise.all(checkpoints.map((each) => expandCheckpoint(each, context)))).flat();
  const titles = planned.map(({ title }) => title);
  const twice = titles.find((title, i) => titles.indexOf(title) !== i);
  if (twice === undefined) return planned;
  throw new InputError('batch.twice', `checkpoints: ${twice} is listed twice; list it once, or make the patterns narrower`);
}

/** @throws InputError as `readSuite` does. */
export function planSuites({ suites }: BatchFile, context: BatchContext): Promise<readonly PlannedSuite[]> {
  return Promise.all(
    suites.map(async (title) => ({ title, suite: /\.(ya?ml|json)$/.test(title) ? await context.readSuite(title) : title })),
  );
}

async function expandCheckpoint(written: BatchCheckpoint, context: BatchContext): Promise<readonly PlannedCheckpoint[]> {
  if (typeof written !== 'string')
    return 'files' in written ? planFromFiles(written, context) : [{ title: getTitle(written), named: written }];
  const named = nameCheckpoint(written);
  return 'path' in named ? planFromFiles({ files: written }, context) : [{ title: written, named }];
}

type Files = Extract<BatchCheckpoint, { readonly files: string }>;

async function planFromFiles({ files, labelled, ...own }: Files, context: BatchContext): Promise<readonly PlannedCheckpoint[]> {
  const paths = await context.match(files);
  if (paths.length === 0)
    throw new InputError(
      'batch.no-match',
      `checkpoints: there is no file or directory ${files}; expected a path from the directory of the batch file`,
    );
  return paths.map((title) => {
    const labels = labelled === undefined ? {} : readLabels(title, labelled);
    return { title, named: { ...labels, ...own, path: context.absolute(title) } };
  });
}

function getTitle(named: { readonly uri: string } | { readonly sha256: string }): string {
  return 'uri' in named ? named.uri : named.sha256;
}

/**
 * Builds the idempotency key of an evaluation of a batch: equal for the same question, so that a repeated request finds the earlier one.
 *
 * @param suiteDigest of a suite that the body only names, because the named suite may change. @param attempt 1, 2, …: the next one after a failure.
 */
export function buildBatchKey(body: Readonly<Record<string, unknown>>, suiteDigest: string | undefined, attempt: number): string {
  const digest = getDigestHex(digestBytes(formatCanonicalJson([omitNames(body), suiteDigest ?? null])));
  return `batch-${digest}-${attempt}`;
}
