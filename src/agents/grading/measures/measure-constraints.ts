import type { Constraint } from '../../tasks/muster-schema.ts';
import type { ConstraintsEvidence } from '../../verification/evidence.ts';
import type { CommandResult, WorkspaceFile, PrintedOutput } from '../../workspace/command.ts';
import { getSystemCallNumbers } from '../../tasks/system-calls.ts';
import type { Counted } from './counted-run.ts';
import { findForbiddenImports } from './forbidden-imports.ts';
import { findForbiddenSymbols } from './elf-symbols.ts';

type Measured = ConstraintsEvidence['measured'][number];

/** Resources of the candidate's runs. */
export type MeasuredRuns = readonly Pick<CommandResult, 'seconds' | 'cpuSeconds' | 'peakBytes' | 'called'>[];

/** What is measured of a submission. */
export interface Measurable {
  /** Files of the submission, with those that the compile step made. */
  readonly files: readonly WorkspaceFile[];
  readonly runs: MeasuredRuns;
  /** It is undefined where no constraint needs them. */
  readonly instructions: Counted | undefined;
  /** The result of the compile step; undefined where there is none. */
  readonly compiled: CommandResult | undefined;
}

/** Measures the figures that the constraints need, of the submission's files and of its runs. */
export function measureConstraints(constraints: readonly Constraint[], measurable: Measurable): ConstraintsEvidence {
  return { stage: 'constraints', measured: constraints.map((constraint) => measure(constraint, measurable)) };
}

function measure(constraint: Constraint, { files, runs, instructions, compiled }: Measurable): Measured {
  const of = constraint.of ?? null;
  const subject = of === null ? files : files.filter(({ path }) => path.endsWith(`/${of}`));
  const largest = (value: (run: MeasuredRuns[number]) => number): number | null =>
    runs.reduce<number | null>((most, run) => Math.max(most ?? 0, value(run)), null);
  switch (constraint.measure) {
    case 'wallSeconds':
      return { measure: constraint.measure, of, value: largest(({ seconds }) => seconds) };
    case 'processorSeconds':
      return { measure: constraint.measure, of, value: largest(({ cpuSeconds }) => cpuSeconds) };
    case 'peakBytes':
      return { measure: constraint.measure, of, value: largest(({ peakBytes }) => peakBytes) };
    case 'sourceBytes':
    case 'binaryBytes':
      return { measure: constraint.measure, of, value: subject.length === 0 ? null : sumBytes(subject) };
    case 'imports':
      return {
        measure: constraint.measure,
        of,
        found: subject.length === 0 ? null : [...findForbiddenImports(constraint.forbidden, subject)],
      };
    case 'instructions':
      return { measure: constraint.measure, of, value: instructions?.count ?? null, reason: instructions?.reason };
    case 'registers':
    case 'sharedMemoryBytes': {
      const { count, reason } = readKernelResources(constraint.measure, compiled);
      return { measure: constraint.measure, of, value: count ?? null, reason };
    }
    case 'symbols':
      return { measure: constraint.measure, of, ...findForbiddenSymbols(constraint.forbidden, subject) };
    case 'systemCalls': {
      const names = getSystemCallNumbers(constraint.forbidden, process.arch);
      const tried = new Set(runs.flatMap(({ called }) => called));
      return { measure: constraint.measure, of, found: [...names].flatMap(([number, name]) => (tried.has(number) ? [name] : [])) };
    }
  }
}

function sumBytes(files: readonly WorkspaceFile[]): number {
  return files.reduce((sum, { content }) => sum + content.length, 0);
}

type Measure = 'registers' | 'sharedMemoryBytes';

/**
 * Resource reports of GPU compilers for each kernel: `ptxas -v` ("ptxas info    : Used 32 registers, 8192 bytes smem", also "8192+16 bytes smem") and
 * hipcc with -Rpass-analysis=kernel-resource-usage ("remark: … VGPRs: 32", "LDS Size [bytes/block]: 8192").
 */
const PATTERNS: Readonly<Record<Measure, readonly RegExp[]>> = {
  registers: [/\bUsed (\d{1,9}) registers\b/g, /\bVGPRs: (\d{1,9})\b/g],
  sharedMemoryBytes: [/\b(\d{1,12}(?:\+\d{1,12})?) bytes smem\b/g, /\bLDS Size \[bytes\/block\]: (\d{1,12})\b/g],
};

/**
 * Reads the most that any kernel takes, as the compile step has printed it. A source can make the compiler print further numbers, which can only
 * raise it.
 *
 * @param compiled undefined where nothing was compiled.
 */
export function readKernelResources(measure: Measure, compiled: CommandResult | undefined): Counted {
  if (compiled === undefined) return { reason: 'nothing was compiled' };
  const texts = [compiled.stdout, compiled.stderr].map(getWholeText);
  if (texts.includes(undefined)) return { reason: 'the compile step printed more than is read' };
  const text = texts.join('\n');
  const registers = findNumbers('registers', text);
  if (registers.length === 0) return { reason: 'the compile step printed no resources of a kernel; expected what ptxas -v prints' };
  // A kernel without shared memory has no number of it.
  return { count: Math.max(0, ...(measure === 'registers' ? registers : findNumbers(measure, text))) };
}

function findNumbers(measure: Measure, text: string): readonly number[] {
  return PATTERNS[measure].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ([, amount = '']) => amount.split('+').reduce((sum, part) => sum + Number(part), 0)),
  );
}

function getWholeText({ head, tail, total }: PrintedOutput): string | undefined {
  return head.length + tail.length < total ? undefined : `${head.toString('latin1')}${tail.toString('latin1')}`;
}
