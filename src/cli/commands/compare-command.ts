import { basename } from 'node:path';
import { Command, Option } from 'commander';
import type { RunningComparison } from '../../aggregation/comparison/paired-fold.ts';
import { getPartialComparison } from '../../orchestrator/compare.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import type { Progress } from '../../orchestrator/facts/progress.ts';
import type { ComparisonOptions, Muster } from '../../app/main.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatComparison } from '../lines/comparison-lines.ts';
import { createComparisonView, type ComparisonTitle } from '../progress/comparison-progress.ts';
import { EXIT_CODES, getVerdictCode } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { collect, parsePositiveNumber, parseProbability, parseWholeNumber } from '../flags/flag-values.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { addNeededOption } from '../flags/needed-option.ts';
import { formatEarlierRun } from '../terminal/earlier-run.ts';
import { print, formatJson } from '../terminal/output.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { reportFile } from './report-file.ts';
import { addRunFlags, type RunFlags } from '../flags/run-flags.ts';

/** `muster compare` gets this from the composition root. */
export type OpenMuster = (options: {
  readonly config?: string;
  readonly sandboxes?: number;
}) => Promise<Pick<Muster, 'compare' | typeof Symbol.asyncDispose>>;

interface CompareFlags extends RunFlags {
  readonly baseline: string;
  readonly candidate: readonly string[];
  readonly margin?: number;
  readonly budget?: number;
  readonly confidence?: number;
}

export function createCompareCommand(open: OpenMuster): Command {
  const command = new Command('compare')
    .summary('compare candidate checkpoints or agents with a baseline')
    .description(
      'Plays all checkpoints on the same episodes, until each candidate is shown to be better or worse than the baseline, or equivalent within a margin.',
    )
    .argument('<suite>', 'suite file (YAML or JSON) that declares reward bounds');
  addNeededOption(
    command,
    new Option('-b, --baseline <path>', 'checkpoint or agent, or a directory that "muster eval --out" kept on the same suite'),
  );
  addNeededOption(command, new Option('-c, --candidate <path>', 'checkpoint or agent; give it again for further ones').argParser(collect))
    .option('--margin <difference>', 'mean differences up to it do not matter; needed for "equivalent"', parsePositiveNumber)
    .option('--budget <episodes>', "most episodes of all checkpoints together (default: the suite's, or 2000 for each)", parseWholeNumber)
    .option('--confidence <probability>', "that no verdict is wrong (default: the suite's)", parseProbability);
  return addRunFlags(command)
    .addHelpText('after', HELP)
    .action(async (suite: string, flags: CompareFlags) => {
      process.exitCode = await runCompare(open, suite, flags);
    });
}

const HELP = `
Exit codes, so that a pipeline can act on them (with several candidates, the best verdict counts):
  0    promote or equivalent
  1    a defect of Muster
  2    bad input: a suite, checkpoint, configuration or flag; or all episodes of a checkpoint failed
  3    the infrastructure failed
  4    regress
  5    inconclusive within the budget
  130  interrupted; the partial comparison is printed

Example:
  muster compare examples/game/cartpole.yaml --baseline examples/game/checkpoints/middle.safetensors \\
    --candidate examples/game/checkpoints/late.safetensors --margin 10`;

interface Verdict {
  readonly summary?: ComparisonSummary;
  readonly exitCode: number;
  /** Written to stderr. */
  readonly report?: string;
}

async function runCompare(open: OpenMuster, suite: string, flags: CompareFlags): Promise<number> {
  using interrupt = watchInterruption(process);
  const page = flags.report === undefined ? undefined : await reportFile(flags.report);
  await using muster = await open(flags);
  const verdict = await compareOn(muster, suite, flags, interrupt.signal);
  if (verdict.report !== undefined) await print(process.stderr, verdict.report);
  if (verdict.summary) await print(process.stdout, flags.json ? formatJson(verdict.summary) : formatText(verdict.summary));
  if (page && verdict.summary) await page.write({ kind: 'comparison', comparison: verdict.summary });
  // Printing may have revealed that stdout is closed.
  return interrupt.signal.aborted ? EXIT_CODES.interrupted : verdict.exitCode;
}

async function compareOn(muster: Pick<Muster, 'compare'>, suite: string, flags: CompareFlags, signal: AbortSignal): Promise<Verdict> {
  const { margin, budget, confidence } = flags;
  const terms = {
    ...(margin === undefined ? {} : { margin }),
    ...(budget === undefined ? {} : { budgetEpisodes: budget }),
    ...(confidence === undefined ? {} : { confidence }),
  };
  try {
    using display = openProgressDisplay(createComparisonView(getTitle(suite, flags)), process.stderr);
    const onProgress = (progress: Progress<RunningComparison>): void => display.show(progress);
    const input = { suite, baseline: flags.baseline, candidates: flags.candidate, terms };
    const { out } = flags;
    const kept: ComparisonOptions =
      out === undefined ? {} : { out, onEarlier: (earlier) => process.stderr.write(formatEarlierRun(out, 'comparison', earlier)) };
    const summary = await muster.compare(input, { signal, onProgress, ...kept });
    return { summary, exitCode: getVerdictCode(summary) };
  } catch (error) {
    const summary = getPartialComparison(error);
    const failed = toFailedAttempt(error, signal, 'the first episode');
    return summary ? { ...failed, summary } : failed;
  }
}

function getTitle(suite: string, { baseline, candidate }: CompareFlags): ComparisonTitle {
  return {
    suite: escapeUnprintableLine(basename(suite)),
    baseline: basename(baseline),
    candidates: candidate.map((one) => basename(one)),
  };
}

function formatText(summary: ComparisonSummary): string {
  return `${formatComparison(summary, summary.official.suite.name).join('\n')}\n`;
}
