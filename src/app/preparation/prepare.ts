import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SyntaxParser } from '../../adapters/preparation/syntax-parser.ts';
import { StepStore } from '../../adapters/preparation/step-store.ts';
import { countRefusals, type Preparation } from '../../agents/preparation/preparation-report.ts';
import { findLicence } from '../../agents/preparation/licence.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import { ModelServers } from '../grading/model-servers.ts';
import { TaskGrader } from '../grading/task-grader.ts';
import { discoverCandidates } from './discover-candidates.ts';
import { InstructionWriter, readWriter } from './instruction-writer.ts';
import { Bootstrap } from './bootstrap.ts';
import { openIssues } from './issue-reader.ts';
import type { PreparationContext } from './preparation-context.ts';
import type { PrepareListeners, PrepareTerms } from './prepare-terms.ts';
import { prepareCandidate } from './prepare-candidate.ts';
import { openRepository } from './repository-source.ts';
import { TestRuns } from './test-runs.ts';

const STAGING = '.preparing';

/**
 * Turns a repository into tasks. Every step is stored by the digest of its inputs, so that an interrupted preparation continues when it is run again.
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
  using models = new ModelServers(config.models, true, systemClock, Math.random);
  const model = terms.writer === undefined ? undefined : await readWriter(terms.writer);
  const issues = terms.issues === undefined ? undefined : await openIssues(terms.issues, steps, systemClock);
  const context: PreparationContext = {
    repository: repository.name,
    history: repository.history,
    sandboxes: grader.hostSandboxes,
    steps,
    testSeconds: terms.testSeconds,
    testArguments: terms.testArguments,
    runs: new TestRuns(grader.hostSandboxes, steps),
    parser: new SyntaxParser(),
    onStep: listeners.onStep,
    writer: model && new InstructionWriter(model, models.getEndpoint(model), steps),
    dependencies: (detected, files, until) => bootstrap.install(detected, files, until),
  };
  const staging = join(resolve(terms.out), STAGING);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  try {
    const found = await discoverCandidates(context, repository, terms, signal);
    listeners.onStart(found.length);
    const { retryMilliseconds } = config.evaluation;
    const work = { context, repository, grader, issues, terms, staging, retryMilliseconds };
    const candidates = await workThrough(found, terms.workers ?? grader.concurrency, async (each) => {
      const done = await prepareCandidate(work, each, signal);
      listeners.onCandidate(done);
      return done;
    });
    return {
      repository: repository.name,
      head: repository.head,
      licence: findLicence(repository.files) ?? null,
      notices: [...bootstrap.notices],
      refusedBy: countRefusals(candidates),
      seconds: (systemClock.now() - began) / 1000,
      proof: [],
      candidates,
    };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Works on the items in order, at most `workers` at a time. @returns results in the order of the items. */
export async function workThrough<Item, Result>(
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
