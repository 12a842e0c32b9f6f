import type { CompileStage, Constraint } from '../../tasks/muster-schema.ts';
import type { StagedVerifier } from '../../tasks/task.ts';
import type { CompareEvidence, CompileEvidence, ConstraintsEvidence, Evidence } from '../../verification/evidence.ts';
import type { StageRequest } from '../../verification/plan-stages.ts';
import type { CommandResult, WorkspaceFile } from '../../workspace/command.ts';
import type { CandidateTerms } from '../candidate-terms.ts';
import { gradeCases, type GradedCases } from '../grade-cases.ts';
import { cleanEnvironment } from '../clean-environment.ts';
import { joinStreams, readEnding, shortenEvidence, SHOWN_OUTPUT } from '../endings.ts';
import type { Grading, GradingContext, TaskContent } from '../grading-context.ts';
import { describeGradingTemplate } from '../grading-template.ts';
import { listLaidFiles, layWorkdir } from '../lay-workdir.ts';
import { countInstructions, measureEfficiency } from '../measures/measure-efficiency.ts';
import { measureConstraints, type MeasuredRuns } from '../measures/measure-constraints.ts';
import { measureSpeed } from '../measures/measure-speed.ts';
import { GradingTime } from './grading-time.ts';
import { putSubmission } from '../submission.ts';
import { gradeProxiedSuite } from '../suites/grade-proxied-suite.ts';
import { gradeSharedSuite } from '../suites/grade-suite.ts';

/** The bounds of what a compile step leaves in the workdir. */
const BUILT_BOUNDS = { files: 20_000, bytes: 512 * 2 ** 20 };

/** The stages of one attempt at a verdict, in order: each can use what earlier ones made. */
export class StagedGrading {
  readonly #grading: Grading;
  readonly #verifier: StagedVerifier;
  readonly #context: GradingContext;
  readonly #time: GradingTime;
  #built: readonly WorkspaceFile[] | undefined;
  #compiled: CommandResult | undefined;
  #graded: GradedCases | undefined;
  #runs: MeasuredRuns | undefined;

  constructor(grading: Grading, verifier: StagedVerifier, context: GradingContext) {
    this.#grading = { ...grading, content: rememberContent(grading.content) };
    this.#verifier = verifier;
    this.#time = new GradingTime(context, verifier.timeoutSeconds);
    this.#context = { ...context, sandboxes: this.#time.sandboxes };
  }

  /** @throws InfrastructureError when the stage cannot be carried out, through no fault of the submission. */
  async carryOut(request: StageRequest, signal: AbortSignal): Promise<Evidence> {
    switch (request.stage) {
      case 'submission':
        throw new RangeError('the submission is looked at before its stages');
      case 'compile':
        return await this.#compile(request.compile, signal);
      case 'execute':
        return await this.#execute(request, signal);
      case 'compare':
        return this.#getCompared();
      case 'constraints':
        return await this.#measureConstraints(request.constraints, signal);
      case 'score':
        return await this.#score(request, signal);
    }
  }

  async #execute(request: Extract<StageRequest, { readonly stage: 'execute' }>, signal: AbortSignal): Promise<Evidence> {
    const terms = this.#createTerms(await this.#listFiles(signal));
    switch (request.kind) {
      case 'cases':
        this.#graded = await gradeCases(terms, request.execute, signal);
        this.#runs = this.#graded.measured;
        return this.#graded.evidence;
      case 'suite': {
        const grade = request.execute.boundary === 'process' ? gradeProxiedSuite : gradeSharedSuite;
        const { evidence, measured } = await grade(terms, request.execute, signal);
        this.#runs = measured;
        return evidence;
      }
      case 'script':
        throw new RangeError('a script has no stages');
    }
  }

  async #compile({ command, seconds }: CompileStage, signal: AbortSignal): Promise<CompileEvidence> {
    const { task, step, content, submission } = this.#grading;
    await using sandbox = await this.#context.sandboxes.open(describeGradingTemplate(task, step, []), signal);
    const { session } = sandbox;
    const either = AbortSignal.any([signal, sandbox.signal]);
    const { workdir } = task.workspace;
    await layWorkdir(session, { task, content, submission }, this.#context, either);
    const problem = await putSubmission(session, submission.files, either);
    if (problem !== undefined)
      return { stage: 'compile', ending: { kind: 'no-output', detail: shortenEvidence(problem) }, output: '', seconds: 0 };
    const environment = cleanEnvironment(task.workspace.environment, this.#verifier.environment);
    const run = { argv: command, directory: workdir, environment, seconds: this.#time.within(seconds), output: SHOWN_OUTPUT };
    const result = await session.run(run, either);
    this.#compiled = result;
    const evidence: CompileEvidence = {
      stage: 'compile',
      ending: readEnding(result.end),
      output: joinStreams(result),
      seconds: result.seconds,
    };
    if (result.end.kind !== 'exited' || result.end.code !== 0) return evidence;
    const left = await session.collect([workdir], BUILT_BOUNDS, either);
    if (left.kind === 'refused')
      return { ...evidence, ending: { kind: 'no-output', detail: `${left.refusal.path}: ${left.refusal.detail}` } };
    this.#built = left.files;
    return evidence;
  }

  /** Lists the files that the candidate's processes see in the workdir. */
  async #listFiles(signal: AbortSignal): Promise<readonly WorkspaceFile[]> {
    if (this.#built) return this.#built;
    const { files } = this.#grading.submission;
    const replaced = new Set(files.map(({ path }) => path));
    const laid = await listLaidFiles(this.#grading, this.#context, signal);
    return (this.#built = [...laid.filter(({ path }) => !replaced.has(path)), ...files]);
  }

  #createTerms(files: readonly WorkspaceFile[]): CandidateTerms {
    const within = (seconds: number): number => this.#time.within(seconds);
    const leaveOut = <Value>(wait: () => Promise<Value>): Promise<Value> => this.#time.leaveOut(wait);
    return { grading: this.#grading, verifier: this.#verifier, context: this.#context, files, within, leaveOut };
  }

  async #measureConstraints(constraints: readonly Constraint[], signal: AbortSignal): Promise<ConstraintsEvidence> {
    const files = await this.#listFiles(signal);
    const { execute } = this.#verifier;
    const runs = this.#runs ?? [];
    const counts = constraints.some(({ measure }) => measure === 'instructions') && execute.kind === 'cases';
    const instructions = counts ? await countInstructions(this.#createTerms(files), execute, this.#getCases().cases, signal) : undefined;
    return measureConstraints(constraints, { files, runs, instructions, compiled: this.#compiled });
  }

  async #score(request: Extract<StageRequest, { readonly stage: 'score' }>, signal: AbortSignal): Promise<Evidence> {
    const { execute } = this.#verifier;
    if (execute.kind !== 'cases') throw new RangeError(`score.${request.kind} of a test suite: reading the task should have refused it`);
    const terms = this.#createTerms(await this.#listFiles(signal));
    const { cases } = this.#getCases();
    switch (request.kind) {
      case 'speed':
        return await measureSpeed(terms, execute, request.terms, cases, signal);
      case 'efficiency':
        return await measureEfficiency(terms, execute, request.terms, cases, signal);
    }
  }

  #getCompared(): CompareEvidence {
    return { stage: 'compare', cases: [...this.#getCases().comparisons] };
  }

  #getCases(): GradedCases {
    if (this.#graded) return this.#graded;
    throw new RangeError('cases were to be judged before they were run');
  }
}

/** Reads each file once, as the driver is put into a sandbox before every run. It belongs to one verdict. */
function rememberContent(content: TaskContent): TaskContent {
  const read = new Map<string, Promise<Buffer>>();
  return {
    read(path) {
      const reading = read.get(path) ?? content.read(path);
      read.set(path, reading);
      return reading;
    },
  };
}
