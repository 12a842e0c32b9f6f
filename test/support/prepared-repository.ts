import { ALLOWED_LICENCES } from '../../src/agents/preparation/licence.ts';
import type { Preparation } from '../../src/agents/preparation/preparation-report.ts';
import { prepare } from '../../src/app/preparation/prepare.ts';
import type { PrepareTerms } from '../../src/app/preparation/prepare-terms.ts';
import type { RepositoryFixture } from './repository-fixture.ts';

/** It ends what hangs; how long a preparation takes is a matter of the machine's load. */
export const PATIENCE_MS = 3_600_000;

/** Prepares a repository that a test has made, with what a test changes of the usual terms. */
export async function prepareFixture(made: RepositoryFixture, more: Partial<PrepareTerms> = {}): Promise<Preparation> {
  const counts = { commits: 20, mutations: 0, since: 0, testSeconds: 120, workers: undefined };
  const terms = {
    repository: made.repository,
    out: made.out,
    licences: ALLOWED_LICENCES,
    registries: [],
    testArguments: [],
    issues: undefined,
    writer: undefined,
    ...counts,
    ...more,
  };
  const silent = { onStart: () => undefined, onStep: () => undefined, onCandidate: () => undefined };
  return await prepare(made.config, terms, silent, AbortSignal.timeout(PATIENCE_MS));
}
