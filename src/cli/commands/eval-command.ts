import { basename, join } from 'node:path';
import { Command, Option } from 'commander';
import type { OpenLog, ResultLog } from '../../app/result-log.ts';
import { InputError } from '../../kernel/errors.ts';
import { getPartialSummary } from '../../orchestrator/evaluate.ts';
import type { Progress } from '../../orchestrator/facts/progress.ts';
import { toSummaries } from '../../orchestrator/results/summaries.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { judgeStanding, buildScore, type Score } from '../../service/watching/watch-record.ts';
import type { CheckpointOptions, EvaluateSuite, SuiteEvaluator } from './evaluate-suite.ts';
import { formatErrorReport, formatNotice } from '../terminal/error-report.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { collect } from '../flags/flag-values.ts';
import { runInTurn } from '../terminal/in-turn.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { formatEarlierRun } from '../terminal/earlier-run.ts';
import { print, formatJson } from '../terminal/output.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { createEvaluationView, type ProgressTitle } from '../progress/progress-lines.ts';
import { addStopFlags, type StopFlags } from '../flags/stop-override.ts';
import { formatRanking } from '../lines/ranking-lines.ts';
import { reportFile } from './report-file.ts';
import { addLogFlag, toFigures, type LogFlags, readStep } from '../flags/log-flag.ts';
import { addRunFlags, type RunFlags } from '../flags/run-flags.ts';
import { addSuiteChangeFlags, type SuiteChangeFlags } from '../flags/suite-change-flags.ts';
import { formatSummary } from '../lines/summary-lines.ts';

interface WrittenFlags extends StopFlags, SuiteChangeFlags, RunFlags, LogFlags {
  readonly checkpoint?: readonly string[];
  readonly agent?: readonly string[];
}

interface EvalFlags extends Omit<WrittenFlags, 'checkpoint' | 'agent'> {
  readonly checkpoint: readonly string[];
}

/** @param openLog opens what `--log` names. */
export function createEvalCommand(evaluateSuite: EvaluateSuite, openLog: OpenLog): Command {
  const command = new Command('eval')
    .alias('evaluate')
    .summary('evaluate checkpoints or agents on a suite')
    .description('Plays episodes of a suite in isolated sandboxes until the answer is precise enough, and prints the summary.')
    .argument('<suite>', 'suite file (YAML or JSON)');
  command
    .addOption(new Option(CHECKPOINT, 'checkpoint file or directory; give it again for further ones').argParser(collect))
    .addOption(
      new Option(
        '-a, --agent <agent>',
        "of a suite with tasks for agents: oracle, nop or a file; again for further ones (default: the suite's)",
      )
        .argParser(collect)
        .conflicts('checkpoint'),
    );
  return addLogFlag(addRunFlags(addSuiteChangeFlags(addStopFlags(command))))
    .addHelpText('after', EXIT_CODE_HELP)
    .action(async (suite: string, flags: WrittenFlags) => {
      process.exitCode = await runEval(evaluateSuite, openLog, suite, flags);
    });
}

const CHECKPOINT = '-c, --checkpoint <path>';

const EXIT_CODE_HELP = `
Exit codes:
  0    done
  1    a defect of Muster
  2    bad input: a suite, checkpoint, configuration or flag; or all episodes failed
  3    the infrastructure failed
  130  interrupted; the partial summary is printed

Example:
  muster eval examples/game/cartpole.yaml --checkpoint examples/game/checkpoints/late.safetensors --sandboxes 8
  muster eval examples/code/suite.yaml --agent oracle`;

/** The result for one checkpoint. */
interface Verdict {
  readonly title: ProgressTitle;
  readonly summary?: Summary;
  readonly exitCode: number;
  /** Written to stderr. */
  readonly report?: string;
}

/** Stops at the first checkpoint whose evaluation did not finish, and prints the results so far all the same. */
async function runEval(evaluateSuite: EvaluateSuite, openLog: OpenLog, suite: string, written: WrittenFlags): Promise<number> {
  using interrupt = watchInterruption(process);
  const page = written.report === undefined ? undefined : await reportFile(written.report);
  await using opened = written.log === undefined ? undefined : await openLog(written.log);
  const log = opened && new CheckpointLog(opened);
  await using evaluator = await evaluateSuite({ ...written, suite });
  const flags = { ...written, checkpoint: listPlayers(written, evaluator) };
  const summaries: Summary[] = [];
  let exitCode: number = EXIT_CODES.done;
  let isEnding = false;
  let isLogged = true;
  for await (const verdict of evaluateInTurn(evaluator, flags, interrupt.signal)) {
    // Errors of checkpoints whose turn did not come no longer matter.
    if (isEnding && verdict.exitCode !== EXIT_CODES.interrupted) break;
    if (verdict.report !== undefined) await print(process.stderr, verdict.report);
    if (verdict.summary) {
      summaries.push(verdict.summary);
      const step = readStep(verdict.title.checkpoint, summaries.length);
      isLogged = (!log || (await log.tryLog(verdict.title.checkpoint, verdict.summary, step))) && isLogged;
    }
    // A program that reads the document does not see the text's note.
    const unverified = flags.json ? (verdict.summary?.run.pool.unverified ?? []) : [];
    for (const sentence of unverified) await print(process.stderr, formatNotice(sentence));
    if (verdict.summary && !flags.json) await print(process.stdout, formatTitledSummary(verdict.summary, verdict.title));
    exitCode = verdict.exitCode;
    if (exitCode !== EXIT_CODES.done) break;
    isEnding = interrupt.signal.aborted;
  }
  // Printing may have revealed that stdout is closed.
  if (exitCode === EXIT_CODES.done && interrupt.signal.aborted) exitCode = EXIT_CODES.interrupted;
  await printAll(flags, summaries);
  const [first] = summaries;
  if (page && first) await page.write(summaries.length === 1 ? { kind: 'evaluation', summary: first } : { kind: 'evaluations', summaries });
  return exitCode === EXIT_CODES.done && !isLogged ? EXIT_CODES.infrastructure : exitCode;
}

/** Logs the checkpoints of one command, each with its verdict against the best one before it. */
class CheckpointLog {
  readonly #log: ResultLog;
  #best: Score | null = null;

  constructor(log: ResultLog) {
    this.#log = log;
  }

  /** A log that fails is reported and does not change the answer. */
  async tryLog(name: string, summary: Summary, step: number): Promise<boolean> {
    const { renderReportPage } = await import('../../faces/report/page.ts');
    const score = buildScore(name, summary);
    const standing = judgeStanding(this.#best, score);
    if (standing === 'first' || standing === 'better') this.#best = score;
    try {
      await this.#log.log({ step, figures: toFigures(score, standing), page: renderReportPage({ kind: 'evaluation', summary }) });
      return true;
    } catch (error) {
      await print(process.stderr, formatErrorReport(error));
      return false;
    }
  }
}

/** Lists the checkpoints or agents to evaluate. @throws InputError `eval.needs-checkpoint` when nothing is named. */
function listPlayers({ checkpoint, agent }: WrittenFlags, evaluator: SuiteEvaluator): readonly string[] {
  const named = checkpoint ?? agent ?? (evaluator.agent === undefined ? undefined : [evaluator.agent]);
  if (named) return named;
  throw new InputError(
    'eval.needs-checkpoint',
    `required option '${CHECKPOINT}' not specified; a suite with tasks for agents takes --agent instead, or names one itself`,
  );
}

async function printAll(flags: EvalFlags, summaries: readonly Summary[]): Promise<void> {
  if (summaries.length === 0) return;
  if (flags.json) return print(process.stdout, formatJson(flags.checkpoint.length === 1 ? summaries[0] : toSummaries(summaries)));
  if (summaries.length > 1) await print(process.stdout, `${formatRanking(summaries).join('\n')}\n`);
}

/** Prepares the next checkpoint while one is played. */
function evaluateInTurn(evaluator: SuiteEvaluator, { checkpoint, out }: EvalFlags, signal: AbortSignal): AsyncGenerator<Verdict> {
  return runInTurn(checkpoint.length, (position, { after, abandoned }) =>
    evaluateCheckpoint(evaluator, checkpoint[position] ?? '', {
      out: out === undefined ? undefined : chooseOutDirectory(out, checkpoint, position),
      signal: AbortSignal.any([signal, abandoned]),
      after,
    }),
  );
}

/** Never rejects: a failure of one checkpoint does not affect those before it. */
async function evaluateCheckpoint(
  evaluator: SuiteEvaluator,
  checkpoint: string,
  { out, ...turn }: Omit<CheckpointOptions, 'onProgress' | 'out'> & { readonly out: string | undefined },
): Promise<Verdict> {
  const title = { suite: evaluator.suiteName, checkpoint: basename(checkpoint) };
  try {
    using display = openProgressDisplay(createEvaluationView(title), process.stderr);
    const onProgress = (progress: Progress): void => display.show(progress);
    const onEarlier: CheckpointOptions['onEarlier'] = (earlier) => process.stderr.write(formatEarlierRun(`${out}`, 'evaluation', earlier));
    const summary = await evaluator.evaluate(checkpoint, { ...turn, onProgress, onEarlier, ...(out === undefined ? {} : { out }) });
    return { title, summary, exitCode: EXIT_CODES.done };
  } catch (error) {
    const summary = getPartialSummary(error);
    const failed = { title, ...toFailedAttempt(error, turn.signal, `the first episode of ${checkpoint}`) };
    return summary ? { ...failed, summary } : failed;
  }
}

function formatTitledSummary(summary: Summary, { suite, checkpoint }: ProgressTitle): string {
  return `${formatSummary(summary, `${suite} · ${checkpoint}`).join('\n')}\n`;
}

/** Several checkpoints get a directory each, numbered in the given order, because their base names may be equal. */
function chooseOutDirectory(out: string, checkpoints: readonly string[], position: number): string {
  return checkpoints.length === 1 ? out : join(out, `${position + 1}-${basename(checkpoints[position] ?? '')}`);
}
