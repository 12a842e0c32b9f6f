import { suggestNearest } from '../adapters/files/nearest-path.ts';
import { readSummaries, type RecordedSummary } from '../adapters/files/recorded-summaries.ts';
import { readEpisodeLines, openEarlierRun } from '../adapters/files/recorded-evaluation.ts';
import { ResultsDirectory } from '../adapters/files/results-directory.ts';
import type { EpisodeJournal } from '../evaluation-store/episode-journal.ts';
import type { Clock } from '../kernel/clock.ts';
import { InfrastructureError, InputError } from '../kernel/errors.ts';
import { classifyEarlier, type EvaluationFacts } from '../orchestrator/results/earlier-evaluation.ts';
import { toResultDocument, type ResultDocument } from '../orchestrator/results/result-document.ts';
import { openRecordedJournal } from '../orchestrator/results/recorded-journal.ts';
import { AllFailedError, RunFailedError } from '../orchestrator/run/run-failed-error.ts';
import type { SuiteDefinition } from '../orchestrator/suite/suite-definition.ts';
import type { Summary } from '../orchestrator/results/summary.ts';

/** Plays, and keeps what comes of it. A directory for a run that was refused, or given up before it began, is withdrawn: the next command can have it. */
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

/** Keeps the summary, also a partial one. An answer that cannot be kept is still returned, with the error. */
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

/** Where an evaluation keeps what it leaves, and what an earlier run of it has left there. */
export type EvaluationResults =
  | { readonly kind: 'new'; readonly directory: ResultsDirectory }
  | { readonly kind: 'resumed'; readonly directory: ResultsDirectory; readonly journal: EpisodeJournal }
  /** Every episode of the earlier run failed: they are played again, in its place. */
  | { readonly kind: 'begun-anew'; readonly directory: ResultsDirectory }
  /** Nothing is left to play. */
  | { readonly kind: 'complete'; readonly summary: Summary };

/**
 * Opens a directory for `--out`: a new or empty one, or that of the same evaluation, which then goes on.
 *
 * @throws InputError when the directory holds anything else, or another process writes in it; InfrastructureError when it cannot be written.
 */
export async function openResults(path: string, suite: SuiteDefinition, facts: EvaluationFacts, clock: Clock): Promise<EvaluationResults> {
  const found = await openEarlierRun(path);
  if (!found) return { kind: 'new', directory: await ResultsDirectory.create(path, facts, clock) };
  const earlier = classifyEarlier(found, facts);
  switch (earlier.kind) {
    case 'complete':
      return earlier;
    case 'other':
      throw new InputError(
        'out.not-empty',
        `--out ${path} is not empty: it holds ${earlier.difference}; name a new directory, so that no result is overwritten`,
      );
    case 'all-failed':
      return { kind: 'begun-anew', directory: await ResultsDirectory.beginAnew(path, facts, clock) };
    case 'interrupted': {
      const { results: directory, earlier: episodesFile } = await ResultsDirectory.resume(path, facts, clock);
      try {
        const journal = await openRecordedJournal({ episodesFile, episodes: () => readEpisodeLines(episodesFile) }, suite);
        return { kind: 'resumed', directory, journal };
      } catch (error) {
        await directory[Symbol.asyncDispose]();
        throw error;
      }
    }
  }
}

/** What results that were kept add up to, by their paths. @throws InputError when there is no summary at a path, or it is of another version. */
export async function readResultDocument(paths: readonly string[]): Promise<ResultDocument> {
  const kept: RecordedSummary[] = [];
  for (const path of paths) kept.push(...(await suggestNearest(path, () => readSummaries(path))));
  return toResultDocument(kept);
}
