import { z } from 'zod';
import type { Candidate } from '../../agents/preparation/candidate.ts';
import { chooseMutations } from '../../agents/preparation/choose-mutations.ts';
import { describeFix } from '../../agents/preparation/discovery.ts';
import { detectLanguage, type DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import { WORKDIR } from '../../agents/preparation/emitted-task.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { Refused, type PreparationStep } from '../../agents/preparation/source/steps.ts';
import { InputError } from '../../kernel/errors.ts';
import { type Coverage, findMutations } from './find-mutations.ts';
import { shortenOutput } from './preparation-sandbox.ts';
import type { PreparationContext } from './preparation-context.ts';
import type { RepositorySource } from './repository-source.ts';
import { FIGURES } from './test-runs.ts';

/** A candidate, or why a commit has none. */
export type FoundCandidate = { readonly id: string; readonly kind: Candidate['kind']; readonly title: string } & (
  | { readonly candidate: Candidate; readonly refusal?: undefined }
  | { readonly refusal: { readonly step: PreparationStep; readonly reason: string } }
);

const TITLE = 120;
const coverageSchema = z.record(z.string(), z.array(z.int()));

/** @throws InputError when commits and mutations are none. */
export async function discoverCandidates(
  context: PreparationContext,
  repository: RepositorySource,
  { commits, mutations }: { readonly commits: number; readonly mutations: number },
  signal: AbortSignal,
): Promise<readonly FoundCandidate[]> {
  if (mutations === 0 && (commits === 0 || repository.history === undefined)) {
    const why = repository.history === undefined ? `${repository.name} has no history of git` : '--commits is 0';
    throw new InputError(
      'repository.candidates',
      `there is nothing to prepare: ${why}, and --mutations is 0; expected --mutations 20, for example`,
    );
  }
  const fixes = await discoverFixes(repository, commits, signal);
  return [...fixes, ...(mutations === 0 ? [] : await discoverMutations(context, repository, mutations, signal))];
}

async function discoverFixes({ history }: RepositorySource, most: number, signal: AbortSignal): Promise<readonly FoundCandidate[]> {
  if (history === undefined || most === 0) return [];
  const found: FoundCandidate[] = [];
  for (const commit of await history.listCommits(most, signal)) {
    const title = (commit.message.split('\n')[0] ?? '').slice(0, TITLE);
    const named = { id: commit.id.slice(0, 12), kind: 'fix', title } as const;
    try {
      const candidate = describeFix(commit, await history.listChanges(commit, signal));
      found.push({ ...named, candidate });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      found.push({ ...named, refusal: { step: error.step, reason: error.message } });
    }
  }
  return found;
}

/** Discovers mutations of functions that tests cover. */
async function discoverMutations(
  context: PreparationContext,
  { files, name }: RepositorySource,
  most: number,
  signal: AbortSignal,
): Promise<readonly FoundCandidate[]> {
  const refuse = (step: PreparationStep, reason: string): readonly FoundCandidate[] => [
    { id: name, kind: 'mutation', title: 'mutations of the code', refusal: { step, reason } },
  ];
  try {
    const detected = detectLanguage(files, context.testArguments);
    const covered = await readCoverage(context, detected, files, signal);
    if (typeof covered === 'string') return refuse('discover', `the tests reported no coverage; they printed: ${covered}`);
    const found = chooseMutations(await findMutations(context, detected, files, covered, signal), most);
    if (found.length === 0) return refuse('discover', 'no covered line can be broken');
    return found.map((candidate) => {
      const { mutation } = candidate;
      return {
        id: candidate.id,
        kind: 'mutation',
        title: `${mutation.kind} in ${mutation.path}:${mutation.line} ${mutation.function}`.slice(0, TITLE),
        candidate,
      };
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return refuse(error.step, error.message);
  }
}

/** @returns a text with the tests' output when it does not say what they cover. */
async function readCoverage(
  context: PreparationContext,
  detected: DetectedLanguage,
  files: SourceFiles,
  signal: AbortSignal,
): Promise<Coverage | string> {
  const { language, framework } = detected;
  if (language.coverage === undefined) return undefined;
  const { files: dependencies } = await context.dependencies(detected, files, signal);
  const { coverage } = language;
  const suite =
    coverage.kind === 'suite' ? coverage.suite(framework) : language.suite(framework, { kind: 'files', files: framework.testFiles });
  const environment = language.environment(files, WORKDIR, dependencies);
  const plugin = { name: coverage.kind === 'plugin' ? coverage.plugin : undefined, environment: { MUSTER_COVERAGE_FILE: FIGURES } };
  const asked = { step: 'discover', files, dependencies, suite, environment, ids: [], twist: 'none', seed: 1, plugin } as const;
  const run = await context.runs.run({ ...asked, seconds: 4 * context.testSeconds }, signal);
  const covered = coverageSchema.safeParse(run.figures);
  return covered.success ? covered.data : shortenOutput(run.output);
}
