import type { ResultsDirectory } from './adapters/results/results-directory.ts';
import { InfrastructureError, InputError } from './kernel/errors.ts';
import { RunFailedError } from './orchestrator/run-failed-error.ts';

/** Plays, and keeps what comes of it. A directory for a run that was refused, or given up before it began, is withdrawn: the next command can have it. */
export async function kept<Document>(
  results: ResultsDirectory | undefined,
  play: () => Promise<Document>,
  failed: (document: Document, cause: Error) => RunFailedError<Document>,
): Promise<Document> {
  try {
    return results ? await concluded(results, play(), failed) : await play();
  } catch (error) {
    if (error instanceof InputError || (error instanceof Error && error.name === 'AbortError')) await results?.withdraw();
    throw error;
  }
}

/** Keeps the summary, also a partial one. An answer that cannot be kept is told all the same, with the error. */
async function concluded<Document>(
  results: ResultsDirectory,
  playing: Promise<Document>,
  failed: (document: Document, cause: Error) => RunFailedError<Document>,
): Promise<Document> {
  const document = await playing.catch(async (error: unknown) => {
    if (error instanceof RunFailedError && !results.failed) await results.conclude(error.partial);
    throw error;
  });
  try {
    await results.conclude(document);
    return document;
  } catch (error) {
    throw error instanceof InfrastructureError ? failed(document, error) : error;
  }
}
