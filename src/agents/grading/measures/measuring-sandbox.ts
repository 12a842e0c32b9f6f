import { InfrastructureError } from '../../../kernel/errors.ts';
import type { CasesStage } from '../../tasks/muster-schema.ts';
import type { Command, CommandResult } from '../../workspace/command.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { describeCandidateTemplate, readTestFiles } from '../grading-template.ts';
import type { GradingSandbox } from '../grading-sandboxes.ts';
import { runCandidate, wipeWorkspace } from '../run-candidate.ts';
import type { ExpectedCase } from '../expected-cases.ts';
import { runGolden } from '../trusted-cases.ts';

/** A run of the candidate, which counts only when its output is right. */
export interface MeasuredRun {
  readonly result: CommandResult;
  /** It is undefined when its output is right. */
  readonly wrong: string | undefined;
}

/**
 * One sandbox in which golden model and candidate run in turns. Before each run everything is wiped and all earlier processes are dead, so the
 * candidate finds nothing of tests and golden model.
 */
export class MeasuringSandbox implements AsyncDisposable {
  readonly #terms: CandidateTerms;
  readonly #execute: CasesStage;
  readonly #sandbox: GradingSandbox;
  readonly #signal: AbortSignal;

  private constructor(terms: CandidateTerms, execute: CasesStage, sandbox: GradingSandbox, signal: AbortSignal) {
    this.#terms = terms;
    this.#execute = execute;
    this.#sandbox = sandbox;
    this.#signal = AbortSignal.any([signal, sandbox.signal]);
  }

  static async open(terms: CandidateTerms, execute: CasesStage, signal: AbortSignal): Promise<MeasuringSandbox> {
    return new MeasuringSandbox(
      terms,
      execute,
      await terms.context.sandboxes.open(describeCandidateTemplate(terms, execute), signal),
      signal,
    );
  }

  /** @throws InfrastructureError when it fails. */
  async runGolden({ test }: ExpectedCase, change?: (command: Command) => Command): Promise<CommandResult> {
    const { task, step, content } = this.#terms.grading;
    const { session } = this.#sandbox;
    await wipeWorkspace(session, this.#terms, this.#execute, this.#signal);
    await session.put(await readTestFiles(task, step, content), this.#signal);
    const { result } = await getFirst(runGolden(session, this.#terms, this.#execute, [test], this.#signal, change));
    await wipeWorkspace(session, this.#terms, this.#execute, this.#signal);
    return result;
  }

  async runCandidate(one: ExpectedCase, change?: (command: Command) => Command): Promise<MeasuredRun> {
    const turns = [{ one, number: 0 }];
    const { run, compared, result } = await getFirst(
      runCandidate(this.#sandbox.session, this.#terms, this.#execute, turns, this.#signal, change),
    );
    if (result === undefined) throw new InfrastructureError('workspace.failed', `case ${one.test.name} could not be run again`);
    const how = run.ending.kind === 'exited' ? `ended with status ${run.ending.code}` : `ended by ${run.ending.kind}`;
    const problem = compared === undefined ? how : compared.isEqual ? undefined : (compared.difference ?? 'another output');
    return { result, wrong: problem === undefined ? undefined : `case ${one.test.name}, while it was measured: ${problem}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox[Symbol.asyncDispose]();
  }
}

async function getFirst<Item>(items: AsyncIterable<Item>): Promise<Item> {
  for await (const item of items) return item;
  throw new InfrastructureError('workspace.failed', 'a requested run was not done');
}
