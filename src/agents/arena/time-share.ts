import type { Evidence } from '../verification/evidence.ts';
import type { Verdict } from '../verification/verdict.ts';
import type { Effort } from './task-records.ts';

/** Smaller times mean nothing, because starting a process takes some time. */
const LEAST_CPU_SECONDS = 0.1;
/** The share is 1 from sixteen times the effort of the task's own solution on. */
const MOST_DOUBLINGS = 4;

/**
 * Computes how much more a submission takes than the task's own solution, as a share from 0 to 1. Processor time and steps count the same. Only whole
 * doublings count, because processor time differs from run to run, and a reward should not.
 */
export function computeTimeShare(own: Effort, oracle: Effort): number {
  const cpu = countDoublings(own.cpuSeconds, Math.max(LEAST_CPU_SECONDS, oracle.cpuSeconds));
  return (cpu + countDoublings(own.steps, Math.max(1, oracle.steps))) / (2 * MOST_DOUBLINGS);
}

function countDoublings(own: number, reference: number): number {
  return own < 2 * reference ? 0 : Math.min(MOST_DOUBLINGS, Math.floor(Math.log2(own / reference)));
}

/** Sums the processor time of all programs that have run or judged a submission. */
export function sumCpuSeconds({ evidence }: Pick<Verdict, 'evidence'>): number {
  return evidence.flatMap(listRuns).reduce((sum, { cpuSeconds = 0 }) => sum + cpuSeconds, 0);
}

function listRuns(evidence: Evidence): readonly { readonly cpuSeconds?: number | undefined }[] {
  if (evidence.stage !== 'execute' || evidence.kind === 'infrastructure') return [];
  switch (evidence.kind) {
    case 'cases':
      return evidence.cases.flatMap(({ runs }) => runs);
    case 'suite':
      return evidence.runs;
    case 'script':
      return [evidence];
  }
}
