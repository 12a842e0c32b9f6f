import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pRetry from 'p-retry';
import { writeTask } from '../../adapters/tasks/task-writer.ts';
import { type Soundness, trialSchema } from '../../agents/grading/soundness.ts';
import type { Candidate, CodeStates } from '../../agents/preparation/candidate.ts';
import { filterCandidate } from '../../agents/preparation/filtering.ts';
import { findLicence } from '../../agents/preparation/licence.ts';
import type { PreparedCandidate } from '../../agents/preparation/preparation-report.ts';
import { isCode } from '../../agents/preparation/source/path-kinds.ts';
import { compareFiles, readText } from '../../agents/preparation/source/source-files.ts';
import { Refused } from '../../agents/preparation/source/steps.ts';
import { mutateStates, splitChange } from '../../agents/preparation/splitting.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { checkTask } from '../grading/task-check.ts';
import { openTask, type TaskGrader } from '../grading/task-grader.ts';
import { CandidatePreparation } from './candidate-preparation.ts';
import type { FoundCandidate } from './discover-candidates.ts';
import type { IssueReader } from './issue-reader.ts';
import type { PrepareTerms } from './prepare-terms.ts';
import type { PreparationContext } from './preparation-context.ts';
import type { RepositorySource } from './repository-source.ts';

const [MOST_LINES, MOST_FILES] = [400, 12];
/** Each submission of a task is graded so many times before the task is listed. */
const GATE_TIMES = 3;
/** Retries after the first attempt. */
const RETRIES = 2;

export interface CandidateWork {
  readonly context: PreparationContext;
  readonly repository: RepositorySource;
  readonly grader: TaskGrader;
  readonly issues: IssueReader | undefined;
  readonly terms: PrepareTerms;
  /** Directory of tasks until they have passed the gate. */
  readonly staging: string;
  /** The pause before the first retry. */
  readonly retryMilliseconds: number;
}

type Work = CandidateWork;

/** Takes a candidate through all steps. A problem of the candidate is part of the answer; an error ends the whole preparation. */
export async function prepareCandidate(work: CandidateWork, found: FoundCandidate, signal: AbortSignal): Promise<PreparedCandidate> {
  const { id, kind, title } = found;
  const base = { id, kind, title, refusal: null, void: null, task: null, evidence: {} };
  if (found.refusal !== undefined) return { ...base, refusal: found.refusal };
  return await withPatience(base, () => attemptCandidate(work, { ...base, candidate: found.candidate }, signal), work, signal);
}

/** Tries again after failures of infrastructure, which say nothing about a candidate; when they persist, only this candidate is void. */
export async function withPatience(
  base: PreparedCandidate,
  attempt: () => Promise<PreparedCandidate>,
  { retryMilliseconds }: Pick<CandidateWork, 'retryMilliseconds'>,
  signal: AbortSignal,
): Promise<PreparedCandidate> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => error instanceof InfrastructureError && !signal.aborted;
  try {
    return await pRetry(attempt, { retries: RETRIES, minTimeout: retryMilliseconds, signal, shouldRetry });
  } catch (error) {
    if (signal.aborted || !(error instanceof InfrastructureError)) throw error;
    return { ...base, void: `the infrastructure failed ${1 + RETRIES} times: ${error.message}` };
  }
}

async function attemptCandidate(
  work: Work,
  { candidate, ...base }: PreparedCandidate & { readonly candidate: Candidate },
  signal: AbortSignal,
): Promise<PreparedCandidate> {
  let preparation: CandidatePreparation | undefined;
  try {
    const states = await readStates(work, candidate, signal);
    preparation = new CandidatePreparation(work.context, await addIssues(work, candidate, signal), states, signal);
    const name = `${work.repository.name}-${base.id}`.slice(0, 120);
    work.context.onStep(base.id, 'bootstrap');
    const written = await preparation.emit(name);
    const staged = join(work.staging, name);
    await rm(staged, { recursive: true, force: true });
    await writeTask(staged, written);
    work.context.onStep(base.id, 'gate');
    const soundness = await gate(work, staged, signal);
    preparation.evidence.soundness = soundness;
    if (!soundness.isSound) throw new Refused('gate', explainUnsound(soundness));
    const directory = join(work.terms.out, name);
    await rm(directory, { recursive: true, force: true });
    await rename(staged, directory);
    return { ...base, task: { directory: name, id: soundness.task, digest: soundness.digest }, evidence: preparation.evidence };
  } catch (error) {
    const evidence = preparation?.evidence ?? {};
    if (error instanceof Refused) return { ...base, refusal: { step: error.step, reason: error.message }, evidence };
    // The written task cannot be read: its names or sizes exceed what tasks may have.
    if (error instanceof InputError && !error.code.startsWith('issues.'))
      return { ...base, refusal: { step: 'emit', reason: error.message }, evidence };
    throw error;
  }
}

async function readStates({ repository, terms }: Work, candidate: Candidate, signal: AbortSignal): Promise<CodeStates> {
  const licence = findLicence(repository.files);
  const bounds = { licence, allowed: terms.licences, mostLines: MOST_LINES, mostFiles: MOST_FILES, since: terms.since };
  if (candidate.kind === 'mutation') {
    filterCandidate(candidate, '', bounds);
    return mutateStates(repository.files, candidate.mutation.path, candidate.mutation.text);
  }
  const { commit } = candidate;
  if (repository.history === undefined || commit.parent === undefined) throw new RangeError(`${commit.id}: a fix without a history`);
  filterCandidate(candidate, '', bounds);
  try {
    const [parent, files] = [
      await repository.history.readFiles(commit.parent, signal),
      await repository.history.readFiles(commit.id, signal),
    ];
    const added = [...compareFiles(parent, files).keys()].map((path) =>
      readAddedText(readText(parent, path) ?? '', readText(files, path) ?? '', path),
    );
    filterCandidate(candidate, added.join('\n'), bounds);
    return splitChange(parent, files);
  } catch (error) {
    if (error instanceof InputError && error.code === 'repository.tree') throw new Refused('filter', error.message);
    throw error;
  }
}

/** The last step that may need a network: what it finds is kept. */
async function addIssues({ issues }: Work, candidate: Candidate, signal: AbortSignal): Promise<Candidate> {
  if (issues === undefined || candidate.kind === 'mutation') return candidate;
  return { ...candidate, issues: await issues.findNamed(candidate.commit.message, signal) };
}

function readAddedText(before: string, after: string, path: string): string {
  const known = new Set(before.split('\n'));
  return isCode(path) || after.length < 2 ** 20
    ? after
        .split('\n')
        .filter((line) => !known.has(line))
        .join('\n')
    : '';
}

/** Checks that its solution scores 1, and doing nothing and every standard cheat 0, each three times in fresh sandboxes. All verdicts are kept. */
async function gate({ context: { steps }, grader }: Work, directory: string, signal: AbortSignal): Promise<Soundness> {
  const open = await openTask(directory);
  const soundness = await checkTask(
    grader,
    open,
    {
      times: GATE_TIMES,
      keep: ({ role, name }, grade) => {
        const inputs = { digest: open.task.digest, times: GATE_TIMES, role, name };
        return steps.remember('gate', inputs, trialSchema, grade, ({ finding }) => finding !== 'unknown');
      },
    },
    signal,
  );
  const unknown = soundness.trials.find(({ finding }) => finding === 'unknown');
  if (unknown === undefined) return soundness;
  throw new InfrastructureError('preparation.gate', `${unknown.role} ${unknown.name} could not be graded: ${unknown.detail}`);
}

function explainUnsound({ trials }: Soundness): string {
  const odd = trials.filter(({ finding }) => finding !== 'as-expected');
  return odd
    .map(
      ({ role, name, expected, rewards, detail }) => `${role} ${name} scored ${rewards.join(', ')} and has to score ${expected}: ${detail}`,
    )
    .join('; ')
    .slice(0, 1000);
}
