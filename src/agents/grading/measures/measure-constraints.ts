import type { Constraint } from '../../tasks/muster-schema.ts';
import type { ConstraintsEvidence } from '../../verification/evidence.ts';
import type { CommandResult, WorkspaceFile } from '../../workspace/command.ts';
import { getSystemCallNumbers } from '../../tasks/system-calls.ts';
import type { Counted } from './counted-run.ts';
import { findForbiddenImports } from './forbidden-imports.ts';
import { findForbiddenSymbols } from './elf-symbols.ts';
import { readKernelResources } from './kernel-resources.ts';

type Measured = ConstraintsEvidence['measured'][number];

/** Resources of the candidate's runs. */
export type MeasuredRuns = readonly Pick<CommandResult, 'seconds' | 'cpuSeconds' | 'peakBytes' | 'called'>[];

/** What is measured of a submission. */
export interface Measurable {
  /** Files of the submission, with those that the compile step made. */
  readonly files: readonly WorkspaceFile[];
  readonly runs: MeasuredRuns;
  /** Undefined where no constraint needs them. */
  readonly instructions: Counted | undefined;
  /** The result of the compile step; undefined where there is none. */
  readonly compiled: CommandResult | undefined;
}

/** The figures that the constraints need, of the submission's files and of its runs. */
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
