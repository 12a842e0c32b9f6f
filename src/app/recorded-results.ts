import { suggestNearest } from '../adapters/files/nearest-path.ts';
import { readSummaries, type RecordedSummary } from '../adapters/files/recorded-summaries.ts';
import { readEpisodeLines, openEarlierRun } from '../adapters/files/recorded-evaluation.ts';
import { ResultsDirectory } from '../adapters/files/results-directory.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import { toResultDocument, type ResultDocument } from '../orchestrator/results/result-document.ts';
import { openRecordedJournal } from '../orchestrator/results/recorded-journal.ts';
import { AllFailedError, RunFailedError } from '../orchestrator/run/run-failed-error.ts';
import type { ComparisonOptions } from './requests.ts';
import type { RunToKeep } from './runs-to-keep.ts';

/**
 * Plays and stores the result. The directory of a run that was refused, or given up before it began, is removed, so that the next command can use it.
 */
export async function playAndKeep<Document extends { readonly partial: boolean }>(
  results: ResultsDirectory | undefined,
  play: () => Promise<Document>,
  failed: (document: Document, cause: Error) => RunFailedError<Document>,
): Promise<Document> {
  try {
    return results ? await keepSummary(results, play(), failed) : await play();
  } catch (error) {
    const isRefused = error instanceof InputError && !(error instanceof AllFailedError);
    if (isRefused || (error instanceof Error && error.name === 'AbortError')) await results?.withdraw();
    throw error;
  }
}

/** Stores the summary, also a partial one. An answer that cannot be stored is still returned, with the error. */
async function keepSummary<Document extends { readonly partial: boolean }>(
  results: ResultsDirectory,
  playing: Promise<Document>,
  failed: (document: Document, cause: Error) => RunFailedError<Document>,
): Promise<Document> {
  const document = await playing.catch(async (error: unknown) => {
    if ((error instanceof RunFailedError || error instanceof AllFailedError) && !results.failed) await results.conclude(error.partial);
    throw error;
  });
  try {
    await results.conclude(document);
    return document;
  } catch (error) {
    throw error instanceof InfrastructureError ? failed(document, error) : error;
  }
}

/** The results directory of a run, and what an earlier run of the same left there. */
export type OpenedResults<Document> =
  | { readonly kind: 'new'; readonly directory: ResultsDirectory }
  /** `journals`: one for each played checkpoint, in the given order. */
  | { readonly kind: 'resumed'; readonly directory: ResultsDirectory; readonly journals: readonly EpisodeJournal[] }
  /** Every episode of a checkpoint failed in the earlier run: the new run replaces it. */
  | { readonly kind: 'begun-anew'; readonly directory: ResultsDirectory }
  /** Nothing is left to play. */
  | { readonly kind: 'complete'; readonly summary: Document };

/**
 * Opens a directory for `--out`: a new or empty one, or that of the same run, which is then resumed. Returns undefined without one.
 *
 * @throws InputError when the directory holds anything else, or another process writes in it; InfrastructureError when it cannot be written.
 */
export async function openResults<Facts, Document>(
  { out, onEarlier }: Pick<ComparisonOptions, 'out' | 'onEarlier'>,
  run: RunToKeep<Facts, Document>,
  clock: Clock,
): Promise<OpenedResults<Document> | undefined> {
  if (out === undefined) return undefined;
  const opened = await openDirectory(out, run, clock);
  if (opened.kind !== 'new') onEarlier?.(opened.kind);
  return opened;
}

async function openDirectory<Facts, Document>(
  path: string,
  run: RunToKeep<Facts, Document>,
  clock: Clock,
): Promise<OpenedResults<Document>> {
  const found = await openEarlierRun(path);
  if (!found) return { kind: 'new', directory: await ResultsDirectory.create(path, run.facts, clock) };
  const earlier = run.classify(found, run.facts);
  switch (earlier.kind) {
    case 'complete':
      return earlier;
    case 'other':
      throw new InputError(
        'out.not-empty',
        `--out ${path} is not empty: it holds ${earlier.difference}; name a new directory, so that no result is overwritten`,
      );
    case 'all-failed':
      return { kind: 'begun-anew', directory: await ResultsDirectory.beginAnew(path, run.facts, clock) };
    case 'interrupted':
      return await resumeResults(path, run, clock);
  }
}

async function resumeResults<Facts, Document>(
  path: string,
  { suite, allocation, checkpoints, facts }: RunToKeep<Facts, Document>,
  clock: Clock,
): Promise<OpenedResults<Document>> {
  const { results: directory, earlier: episodesFile } = await ResultsDirectory.resume(path, facts, clock);
  try {
    const files = { episodesFile, episodes: () => readEpisodeLines(episodesFile) };
    const journals: EpisodeJournal[] = [];
    for (const { digest } of checkpoints) journals.push(await openRecordedJournal(files, suite, digest, allocation));
    return { kind: 'resumed', directory, journals };
  } catch (error) {
    await directory[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Reads the combined document of stored results, by their paths. @throws InputError when there is no summary at a path, or it is of another version.
 */
export async function readResultDocument(paths: readonly string[]): Promise<ResultDocument> {
  const kept: RecordedSummary[] = [];
  for (const path of paths) kept.push(...(await suggestNearest(path, () => readSummaries(path))));
  return toResultDocument(kept);
}
