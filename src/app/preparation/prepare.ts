import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { StepStore } from '../../adapters/preparation/step-store.ts';
import { writeTask } from '../../adapters/tasks/task-writer.ts';
import { soundnessSchema, type Soundness } from '../../agents/grading/soundness.ts';
import type { Candidate, CodeStates } from '../../agents/preparation/candidate.ts';
import { filterCandidate } from '../../agents/preparation/filtering.ts';
import { isCode } from '../../agents/preparation/source/path-kinds.ts';
import { countRefusals, type Preparation, type PreparedCandidate } from '../../agents/preparation/preparation-report.ts';
import { compareFiles, readText } from '../../agents/preparation/source/source-files.ts';
import { mutateStates, splitChange } from '../../agents/preparation/splitting.ts';
import { Refused } from '../../agents/preparation/source/steps.ts';
import { findLicence } from '../../agents/preparation/licence.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { checkTask } from '../grading/task-check.ts';
import { openTask, TaskGrader } from '../grading/task-grader.ts';
import { CandidatePreparation } from './candidate-preparation.ts';
import { type FoundCandidate, discoverCandidates } from './discover-candidates.ts';
import { Bootstrap } from './bootstrap.ts';
import type { PreparationContext } from './preparation-context.ts';
import { openRepository, type RepositorySource } from './repository-source.ts';
import { TestRuns } from './test-runs.ts';

const [MOST_LINES, MOST_FILES] = [400, 12];
/** How often each submission of a task is graded before the task is listed. */
const GATE_TIMES = 3;
const STAGING = '.preparing';

export interface PrepareTerms {
  readonly repository: string;
  readonly out: string;
  /** Commits of the history that are looked at, and mutations that are tried. */
  readonly commits: number;
  readonly mutations: number;
  readonly licences: readonly string[];
  /** Seconds since 1970. */
  readonly since: number;
  readonly testSeconds: number;
  /** Hosts that the installation of dependencies reaches. */
  readonly registries: readonly string[];
}

export interface PrepareListeners {
  readonly onStart: (candidates: number) => void;
  readonly onCandidate: (candidate: PreparedCandidate) => void;
}

/**
 * Turns a repository into tasks. Every step is kept by the digest of its inputs, so that a preparation that was interrupted goes on when it is asked for
 * again.
 *
 * @throws InputError when the repository cannot be read or the directory cannot be written; the signal's reason.
 */
export async function prepare(config: Config, terms: PrepareTerms, listeners: PrepareListeners, signal: AbortSignal): Promise<Preparation> {
  const began = systemClock.now();
  const scratch = join(config.stateDir, 'preparation');
  const steps = new StepStore(join(scratch, 'steps'));
  await using repository = await openRepository(terms.repository, join(scratch, 'clones'), signal);
  await using grader = new TaskGrader(config);
  await using bootstrap = new Bootstrap(grader.hostSandboxes, steps, terms.registries, { layers: join(scratch, 'layers') });
  const sandboxes = grader.hostSandboxes;
  const context: PreparationContext = {
    repository: repository.name,
    history: repository.history,
    sandboxes,
    steps,
    testSeconds: terms.testSeconds,
    runs: new TestRuns(sandboxes, steps),
    dependencies: (detected, files, until) => bootstrap.install(detected, files, until),
  };
  const staging = join(resolve(terms.out), STAGING);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  try {
    const found = await discoverCandidates(context, repository, terms, signal);
    listeners.onStart(found.length);
    const work = { context, repository, grader, terms, staging };
    const candidates = await workThrough(found, grader.concurrency, async (each) => {
      const done = await prepareOne(work, each, signal);
      listeners.onCandidate(done);
      return done;
    });
    const [licence, notices] = [findLicence(repository.files) ?? null, [...bootstrap.notices]];
    const seconds = (systemClock.now() - began) / 1000;
    return {
      repository: repository.name,
      head: repository.head,
      licence,
      notices,
      refusedBy: countRefusals(candidates),
      seconds,
      candidates,
    };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

interface Work {
  readonly context: PreparationContext;
  readonly repository: RepositorySource;
  readonly grader: TaskGrader;
  readonly terms: PrepareTerms;
  readonly staging: string;
}

async function workThrough<Item, Result>(
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

async function prepareOne(work: Work, found: FoundCandidate, signal: AbortSignal): Promise<PreparedCandidate> {
  const { id, kind, title } = found;
  const base = { id, kind, title, refusal: null, task: null, evidence: {} };
  if (found.refusal !== undefined) return { ...base, refusal: found.refusal };
  let preparation: CandidatePreparation | undefined;
  try {
    const states = await readStates(work, found.candidate, signal);
    preparation = new CandidatePreparation(work.context, found.candidate, states, signal);
    const name = `${work.repository.name}-${id}`.slice(0, 120);
    const written = await preparation.emit(name);
    const staged = join(work.staging, name);
    await writeTask(staged, written);
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
    const [parent, files] = [await repository.history.files(commit.parent, signal), await repository.history.files(commit.id, signal)];
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

function readAddedText(before: string, after: string, path: string): string {
  const known = new Set(before.split('\n'));
  return isCode(path) || after.length < 2 ** 20
    ? after
        .split('\n')
        .filter((line) => !known.has(line))
        .join('\n')
    : '';
}

/** Its solution scores 1, nothing done and every standard cheat 0, each three times in fresh sandboxes. */
async function gate({ context, grader }: Work, directory: string, signal: AbortSignal): Promise<Soundness> {
  const open = await openTask(directory);
  return await context.steps.remember('gate', { digest: open.task.digest, times: GATE_TIMES }, soundnessSchema, () =>
    checkTask(grader, open, { times: GATE_TIMES }, signal),
  );
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
