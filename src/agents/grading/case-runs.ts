import { InfrastructureError } from '../../kernel/errors.ts';
import type { TestCase } from '../tasks/test-case.ts';
import type { Command, WorkspaceFile } from '../workspace/command.ts';
import { cutIntoSeries, runSeries, type Series, type SeriesResult, type SeriesRun } from '../workspace/series.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';

/** The command for cases, and the files that each run sees. */
export interface CaseRuns {
  /** The command without the parts that belong to a case. */
  readonly command: Command;
  /** Directories that are emptied before each run. */
  readonly wiped: readonly string[];
  /** Files of the task's. */
  readonly trusted: readonly WorkspaceFile[];
  /** Files of a candidate's. */
  readonly files: readonly WorkspaceFile[];
  /** The directory of a case's files. */
  readonly workdir: string;
  /** The file that is the output; undefined where it is printed. */
  readonly output: Series['taken'];
  /** Whether the command is the task's own. */
  readonly trustsCommand: boolean;
  /** Limits a number of seconds to what is left of the verdict's time. */
  readonly within: (seconds: number) => number;
}

/** Sets no limit: measured runs have a command with one of its own. */
export const leaveUnbounded = (seconds: number): number => seconds;
/** Longer than any verdict takes. */
const MOST_SECONDS = 1_000_000;

/** The result of a run, or why the candidate's files could not be placed. */
export type CaseRun = (SeriesResult & { readonly unlaid?: undefined }) | { readonly unlaid: string };

/**
 * Runs a command on one case after the other, a process for each, in a workspace that is made again before each. A run that destroys the sandbox, or
 * files that could not be placed, end the list of results.
 *
 * @throws InfrastructureError when the sandbox is lost, or the task's own files cannot be placed; the signal's reason.
 */
export async function* runOnCases(
  session: WorkspaceSession,
  runs: CaseRuns,
  tests: readonly TestCase[],
  signal: AbortSignal,
): AsyncGenerator<CaseRun, void> {
  const own = tests.map(({ arguments: words, stdin, files }) => ({
    arguments: words,
    input: stdin,
    files: Object.entries(files).map(([path, text]) => ({
      path: `${runs.workdir}/${path}`,
      content: Buffer.from(text),
      executable: false,
    })),
  }));
  const files = [...runs.trusted, ...runs.files];
  const cut = cutIntoSeries(files, own);
  if (cut === undefined) return yield* runOneByOne(session, runs, own, signal);
  for (const series of cut) {
    const within = runs.within(MOST_SECONDS);
    const terms = {
      command: runs.command,
      wiped: runs.wiped,
      files,
      runs: series,
      taken: runs.output,
      trusted: runs.trustsCommand,
      within,
    };
    const { runs: results, unlaid } = await runSeries(session, terms, signal);
    yield* results;
    if (results.at(-1)?.result.end.kind === 'out-of-memory') return;
    if (unlaid === undefined) continue;
    const message = `the workspace refused: ${unlaid.kind} ${unlaid.path}: ${unlaid.detail}`;
    if (runs.trusted.some(({ path }) => path === unlaid.path)) throw new InfrastructureError('workspace.failed', message);
    return yield { unlaid: message };
  }
}

/** Carries out runs that are too large for a series, each with requests of its own. */
async function* runOneByOne(
  session: WorkspaceSession,
  { command, wiped, trusted, files, output, within }: CaseRuns,
  runs: readonly SeriesRun[],
  signal: AbortSignal,
): AsyncGenerator<CaseRun, void> {
  for (const run of runs) {
    for (const directory of wiped) await session.wipe(directory, signal);
    await session.put(trusted, signal);
    try {
      await session.put(files, signal);
    } catch (error) {
      if (!(error instanceof InfrastructureError) || error.code !== 'workspace.failed') throw error;
      return yield { unlaid: error.message };
    }
    await session.put(run.files, signal);
    const argv = [...command.argv, ...run.arguments];
    const result = await session.run({ ...command, argv, input: run.input, seconds: within(command.seconds) }, signal);
    const wrote = output !== undefined && result.end.kind === 'exited' && result.end.code === 0;
    yield { result, taken: wrote ? await session.collect([output.path], { files: 1, bytes: output.bytes }, signal) : undefined };
    if (result.end.kind === 'out-of-memory') return;
  }
}
