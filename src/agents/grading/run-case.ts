import type { CasesStage } from '../tasks/muster-schema.ts';
import type { TestCase } from '../tasks/test-case.ts';
import type { Ending } from '../verification/evidence.ts';
import type { Command, CommandResult, WorkspaceFile } from '../workspace/command.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { listForkedModules } from './forked-runs.ts';

/** What may be printed on the error output beside the output that is compared. */
const ERROR_BYTES = 2 ** 20;

/** The output of one run, or why there is none. */
export type CaseOutput =
  | { readonly bytes: Uint8Array; readonly problem?: undefined }
  | { readonly bytes?: undefined; readonly problem: Extract<Ending, { readonly kind: 'no-output' | 'output-too-large' }> };

export function listCaseFiles({ files }: TestCase, workdir: string): readonly WorkspaceFile[] {
  return Object.entries(files).map(([path, text]) => ({ path: `${workdir}/${path}`, content: Buffer.from(text), executable: false }));
}

interface CaseProgram {
  readonly command: readonly string[];
  readonly seconds: number;
  /** Commands that are run in turns with it. */
  readonly beside?: readonly (readonly string[])[];
}

/** What is run on a case, by the golden model and the candidate alike. */
export async function buildCaseCommand(
  terms: CandidateTerms,
  execute: CasesStage,
  test: TestCase,
  { command, seconds, beside = [] }: CaseProgram,
): Promise<Command> {
  const { grading, verifier, within } = terms;
  const { outputBytes, output } = execute;
  const { workdir, environment } = grading.task.workspace;
  return {
    argv: [...command, ...test.arguments],
    directory: workdir,
    environment: cleanEnvironment(environment, verifier.environment),
    seconds: within(seconds),
    input: test.stdin,
    output: { head: output === 'stdout' ? outputBytes : 4096, tail: 4096, most: outputBytes + ERROR_BYTES },
    forkedWith: await listForkedModules(terms, execute, [command, ...beside]),
  };
}

/** Reads the output once every process of the run is dead. */
export async function readOutput(
  session: WorkspaceSession,
  { output, outputBytes }: CasesStage,
  workdir: string,
  { stdout }: CommandResult,
  signal: AbortSignal,
): Promise<CaseOutput> {
  if (output === 'stdout') return stdout.total > outputBytes ? { problem: { kind: 'output-too-large' } } : { bytes: stdout.head };
  const collected = await session.collect([`${workdir}/${output}`], { files: 1, bytes: outputBytes }, signal);
  if (collected.kind === 'refused') {
    const { kind, detail } = collected.refusal;
    return { problem: kind === 'too-large' ? { kind: 'output-too-large' } : { kind: 'no-output', detail: `${output}: ${detail}` } };
  }
  const [file] = collected.files;
  return file ? { bytes: file.content } : { problem: { kind: 'no-output', detail: `${output}: is a directory` } };
}
