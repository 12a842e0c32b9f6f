import type { SuiteStage } from '../../tasks/muster-schema.ts';
import type { SuiteEvidence } from '../../verification/evidence.ts';
import { readReport, type ReadReport } from '../../verification/reports/read-report.ts';
import type { CommandResult, OutputBounds, PrintedOutput } from '../../workspace/command.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import { joinStreams, readEnding, shortenEvidence, SHOWN_OUTPUT } from '../endings.ts';
import { REPORT } from './suite-run.ts';
import { formatExactBytes } from '../../../kernel/text/figures.ts';

type Ran = SuiteEvidence['runs'][number];

/** The largest report in bytes. */
const REPORT_BYTES = 32 * 2 ** 20;
/** Runners whose report is what they print. */
const PRINTED: Readonly<Partial<Record<SuiteStage['runner'], 'stdout' | 'stderr'>>> = { unittest: 'stderr', go: 'stdout', cargo: 'stdout' };

/** Returns how many bytes of a run's output are kept. */
export function boundOutput({ runner }: SuiteStage): OutputBounds {
  return PRINTED[runner] === undefined ? SHOWN_OUTPUT : { ...SHOWN_OUTPUT, head: REPORT_BYTES };
}

/** Reads the report of a run, once every process of it is dead. */
export async function readSuiteEvidence(
  session: WorkspaceSession,
  execute: SuiteStage,
  result: CommandResult,
  { workdir, order }: { readonly workdir: string; readonly order: Ran['order'] },
  signal: AbortSignal,
): Promise<Ran> {
  const isAlive = result.end.kind !== 'out-of-memory';
  const report = isAlive
    ? await readReportFile(session, execute, result, workdir, signal)
    : toProblem('its tests took more memory than they may');
  const { seconds, cpuSeconds } = result;
  return { order, ending: readEnding(result.end), ...toWritable(report), output: formatShown(result), seconds, cpuSeconds };
}

/** Describes tests that could not be run because of the submission. */
export function describeNotRun(order: Ran['order'], detail: string): Ran {
  const ending = { kind: 'no-output', detail: shortenEvidence(`was not run: ${detail}`) } as const;
  return { order, ending, results: [], problem: ending.detail, output: '', seconds: 0 };
}

function toWritable({ results, problem }: ReadReport): Pick<Ran, 'results' | 'problem'> {
  return { results: [...results], problem };
}

async function readReportFile(
  session: WorkspaceSession,
  { runner }: SuiteStage,
  result: CommandResult,
  workdir: string,
  signal: AbortSignal,
): Promise<ReadReport> {
  const stream = PRINTED[runner];
  if (stream !== undefined) {
    const { head, total } = result[stream];
    return total > head.length ? toProblem(`it is longer than ${formatExactBytes(REPORT_BYTES)}`) : readReport(runner, head, workdir);
  }
  const collected = await session.collect([REPORT], { files: 1, bytes: REPORT_BYTES }, signal);
  if (collected.kind === 'refused') return toProblem(`the file that {report} stands for ${collected.refusal.detail}`);
  const [file] = collected.files;
  return file ? readReport(runner, file.content, workdir) : toProblem('the file that {report} stands for is a directory');
}

function toProblem(text: string): ReadReport {
  return { results: [], problem: text };
}

/** A printed report counts by its results; of its text the ends are kept. */
function formatShown({ stdout, stderr, ...rest }: CommandResult): string {
  return joinStreams({ ...rest, stdout: shorten(stdout), stderr: shorten(stderr) });
}

function shorten({ head, tail, total }: PrintedOutput): PrintedOutput {
  if (head.length <= SHOWN_OUTPUT.head) return { head, tail, total };
  const end = tail.length > 0 ? tail : head.subarray(Math.max(SHOWN_OUTPUT.head, head.length - SHOWN_OUTPUT.tail));
  return { head: head.subarray(0, SHOWN_OUTPUT.head), tail: end, total };
}
