import { raceWithAbort } from '../../kernel/abort.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Finding, HealthCheck } from '../../kernel/health-check.ts';

export interface DoctorReport {
  /** Whether everything that is required is there. */
  readonly healthy: boolean;
  readonly checks: readonly (Finding & { readonly name: string })[];
}

/** Longer than any check's own time limit. */
const CHECK_TIMEOUT_MS = 180_000;

/** Runs all checks in parallel; none prevents the others from being reported. */
export async function runDoctor(checks: readonly HealthCheck[], signal: AbortSignal): Promise<DoctorReport> {
  const results = await Promise.all(checks.map(async (check) => ({ name: check.name, ...(await runCheck(check, signal)) })));
  signal.throwIfAborted();
  return { healthy: results.every(({ status }) => status !== 'problem'), checks: results };
}

async function runCheck(check: HealthCheck, signal: AbortSignal): Promise<Finding> {
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]);
    return await raceWithAbort(check.run(deadline), deadline);
  } catch (error) {
    return { status: 'problem', found: getMessage(error) };
  }
}

/** Returns 0 when everything required is there, and otherwise 3: infrastructure, as for every command. */
export function getDoctorExitCode(report: DoctorReport): 0 | 3 {
  return report.healthy ? 0 : 3;
}

const MARKS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;

/** Formats one line for each check, with the remedy below it. */
export function formatDoctorText(report: DoctorReport): string {
  const width = Math.max(...report.checks.map(({ name }) => name.length), 0);
  const lines = report.checks.flatMap(({ name, status, found, remedy }) => [
    `${MARKS[status]}  ${name.padEnd(width)}  ${joinLines(found)}`,
    ...(remedy === undefined ? [] : [`${' '.repeat(MARKS[status].length + width + 4)}→ ${joinLines(remedy)}`]),
  ]);
  const problems = report.checks.filter(({ status }) => status === 'problem').length;
  const verdict =
    problems === 0 ? 'This machine can run evaluations.' : `This machine cannot run evaluations yet: ${countProblems(problems)} to solve.`;
  return `${[...lines, '', verdict].join('\n')}\n`;
}

function joinLines(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ');
}

function countProblems(problems: number): string {
  return problems === 1 ? '1 problem' : `${problems} problems`;
}
