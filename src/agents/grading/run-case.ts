import type { CasesStage } from '../tasks/muster-schema.ts';
import type { Ending } from '../verification/evidence.ts';
import type { Command } from '../workspace/command.ts';
import type { Series, SeriesResult } from '../workspace/series.ts';
import type { CandidateTerms } from './candidate-terms.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { listForkedModules } from './forked-runs.ts';

/** The largest number of bytes of error output, besides the output that is compared. */
const ERROR_BYTES = 2 ** 20;

/** The output of one run, or why there is none. */
export type CaseOutput =
  | { readonly bytes: Uint8Array; readonly problem?: undefined }
  | { readonly bytes?: undefined; readonly problem: Extract<Ending, { readonly kind: 'no-output' | 'output-too-large' }> };

interface CaseProgram {
  readonly command: readonly string[];
  readonly seconds: number;
  /** Commands that are run in turns with it. */
  readonly beside?: readonly (readonly string[])[];
}

/** Builds the command that golden model and candidate both run on each case, without the parts that belong to a case. */
export async function buildCaseCommand(
  terms: CandidateTerms,
  execute: CasesStage,
  { command, seconds, beside = [] }: CaseProgram,
): Promise<Command> {
  const { grading, verifier, within } = terms;
  const { outputBytes, output } = execute;
  const { workdir, environment } = grading.task.workspace;
  return {
    argv: command,
    directory: workdir,
    environment: cleanEnvironment(environment, verifier.environment),
    seconds: within(seconds),
    output: { head: output === 'stdout' ? outputBytes : 4096, tail: 4096, most: outputBytes + ERROR_BYTES },
    forkedWith: await listForkedModules(terms, execute, [command, ...beside]),
  };
}

/** Returns the file that a run leaves as its output; undefined where it prints it. */
export function locateOutput({ output, outputBytes }: CasesStage, workdir: string): Series['taken'] {
  return output === 'stdout' ? undefined : { path: `${workdir}/${output}`, bytes: outputBytes };
}

/** Reads the output of a run that has ended with status 0. */
export function readOutput({ output, outputBytes }: CasesStage, { result: { stdout }, taken: collected }: SeriesResult): CaseOutput {
  if (output === 'stdout') return stdout.total > outputBytes ? { problem: { kind: 'output-too-large' } } : { bytes: stdout.head };
  if (collected === undefined) throw new RangeError(`${output} was not read`);
  if (collected.kind === 'refused') {
    const { kind, detail } = collected.refusal;
    return { problem: kind === 'too-large' ? { kind: 'output-too-large' } : { kind: 'no-output', detail: `${output}: ${detail}` } };
  }
  const [file] = collected.files;
  return file ? { bytes: file.content } : { problem: { kind: 'no-output', detail: `${output}: is a directory` } };
}
