import { Command, Option } from 'commander';
import { basename } from 'node:path';
import { z } from 'zod';
import type { OpenLog, ResultLog } from '../../app/result-log.ts';
import type { RunWatchHooks, RunWatchRequest } from '../../app/run-watching.ts';
import { isComparisonSummary, isSummary } from '../../faces/client/answer-of.ts';
import type { MusterClient } from '../../faces/client/muster-client.ts';
import type { EvaluationResource } from '../../faces/http/schemas/evaluation-schemas.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import { runningFiguresSchema } from '../../service/orders/running-figures.ts';
import type { StalePolicy } from '../../service/watching/watch-plan.ts';
import type { WatchRecord } from '../../service/watching/watch-record.ts';
import { parseWholeNumber, parsePositiveNumber } from '../flags/flag-values.ts';
import { addLogFlag, toFigures, type LogFlags, readStep } from '../flags/log-flag.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';
import { addStopFlags, type StopFlags, buildStopOverride } from '../flags/stop-override.ts';
import { formatComparison } from '../lines/comparison-lines.ts';
import { formatSummary } from '../lines/summary-lines.ts';
import { watchEventLine } from '../lines/watch-event-line.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { createEvaluationView } from '../progress/progress-lines.ts';
import { createFiguresView } from '../progress/remote-progress.ts';
import { formatErrorReport, formatNotice } from '../terminal/error-report.ts';
import { EXIT_CODES, getVerdictCode } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';

interface WatchFlags extends ServerFlags, StopFlags, LogFlags {
  readonly suite?: string;
  readonly sandboxes?: number;
  readonly marker?: string;
  readonly stale?: StalePolicy;
  readonly every?: number;
  readonly once?: true;
  readonly webhook?: string;
  /** Path of the file that names the best checkpoint. When it is true, the file is `best.json` beside the checkpoints. */
  readonly best?: string | true;
}

/** With a suite, the command watches the directory of a training run; without one, an evaluation on a server. */
export function createWatchCommand(connect: Connect, watchARun: WatchARun, openLog: OpenLog): Command {
  const command = new Command('watch')
    .summary('follow an evaluation on a server, or evaluate a run as it trains')
    .description(
      'Follows an evaluation on a server until it is over, and prints its answer.\nWith --suite: evaluates every new checkpoint in a directory or bucket as it becomes complete, the newest first.',
    )
    .argument('<what>', 'an evaluation\'s id as "muster submit" printed it; with --suite a directory, gs://bucket/run or s3://bucket/run')
    .optionsGroup('Evaluating a run:')
    .option('--suite <file>', 'suite file (YAML or JSON) to evaluate the checkpoints on')
    .option(
      '--marker <name>',
      'a checkpoint is complete once this file is in it, or <file>.<name> beside a file (default: once it stays as it is)',
    )
    .addOption(
      new Option('--stale <policy>', 'what becomes of older checkpoints when a newer one is complete (default: skip)').choices(STALE),
    )
    .option(
      '--every <seconds>',
      'how often to look, and how long a checkpoint without a marker has to stay as it is (default: 30)',
      parsePositiveNumber,
    )
    .option('--once', 'end when all that is there has been evaluated')
    .option('--webhook <url>', 'post what comes of each checkpoint there')
    .option('--best [file]', 'keep a JSON file that says which checkpoint is the best (default: best.json beside the checkpoints)')
    .option('-n, --sandboxes <count>', 'most sandboxes at a time', parseWholeNumber);
  addLogFlag(command);
  addStopFlags(command).optionsGroup('Options:');
  return addServerFlags(command)
    .addHelpText('after', HELP)
    .action(async (what: string, flags: WatchFlags) => {
      process.exitCode = await (flags.suite === undefined
        ? watchEvaluation(connect, what, flags)
        : watchRun(watchARun, openLog, what, flags.suite, flags));
    });
}

const STALE = ['skip', 'cancel', 'evaluate'] as const;
const EVERY_SECONDS = 30;

const HELP = `
Exit codes:
  0    the evaluation has finished; with --once: no checkpoint was left without an answer
  1    a defect of Muster
  2    bad input: an id, suite, checkpoint, configuration or flag; or all episodes failed; with --once: so it was with one of the checkpoints
  3    the evaluation, or the infrastructure, failed
  4, 5 of a comparison: the candidate is worse; no verdict within the budget
  130  no longer watched; with --suite the same command goes on later where this one ended

Example:
  muster watch gs://bucket/run-7/ --suite examples/game/cartpole.yaml --marker DONE --best`;

/** The form of ids that servers make. A directory with such a name is given as ./NAME. */
const EVALUATION_ID = /^ev-[a-z0-9-]+$/;

async function watchEvaluation(connect: Connect, id: string, flags: WatchFlags): Promise<number> {
  const ofRuns = ['sandboxes', 'marker', 'stale', 'every', 'once', 'webhook', 'best', 'log', 'rule', 'episodes', 'halfWidth'] as const;
  const stray = ofRuns.find((name) => flags[name] !== undefined);
  if (stray !== undefined || !EVALUATION_ID.test(id))
    throw new InputError(
      'flags.suite',
      `muster watch ${id}: without --suite an evaluation on a server is followed, by an id such as ev-0mfw3k9xq-…; to evaluate a run's directory, add --suite`,
    );
  using interrupt = watchInterruption(process, 'no longer watching; it goes on');
  return await followEvaluation(connect(flags), id, flags.json === true, interrupt.signal);
}

async function watchRun(watchARun: WatchARun, openLog: OpenLog, run: string, suite: string, flags: WatchFlags): Promise<number> {
  if (flags.server !== undefined) throw new InputError('flags.server', 'muster watch --suite plays on this machine; leave out --server');
  using interrupt = watchInterruption(process, 'no longer watching; the same command goes on later (again to quit at once)');
  const stop = buildStopOverride(flags);
  const best = flags.best === true ? `${run.replace(/\/$/, '')}/best.json` : flags.best;
  const { marker, webhook, config, sandboxes } = flags;
  const request = {
    run,
    suite,
    stale: flags.stale ?? 'skip',
    everySeconds: flags.every ?? EVERY_SECONDS,
    once: flags.once === true,
    ...(stop ? { stop } : {}),
    ...(marker === undefined ? {} : { marker }),
    ...(webhook === undefined ? {} : { webhook }),
    ...(best === undefined ? {} : { best }),
    ...(config === undefined ? {} : { config }),
    ...(sandboxes === undefined ? {} : { sandboxes }),
  };
  await using log = flags.log === undefined ? undefined : await openLog(flags.log);
  return await watchAndPrintRun(watchARun, request, flags.json === true, interrupt.signal, log);
}

/** An evaluation that finds a free sandbox begins sooner. */
const WAITED_MILLISECONDS = 2000;
const waitingSchema = z.object({ state: z.literal('waiting') });

/** @returns the exit code for the evaluation's end. */
export async function followEvaluation(client: MusterClient, id: string, json: boolean, signal: AbortSignal): Promise<number> {
  {
    using display = openProgressDisplay(createFiguresView(id), process.stderr);
    const notice = formatNotice(`${id} waits for a sandbox; "muster pool list" shows whether its pool drains or is in use`);
    let isWaiting = false;
    using _timer = systemClock.after(WAITED_MILLISECONDS, () => void (isWaiting && print(process.stderr, notice)));
    for await (const { type, data } of client.events(id, { signal })) {
      isWaiting = waitingSchema.safeParse(data).success;
      const figures = type === 'progress' ? runningFiguresSchema.safeParse(data).data : undefined;
      if (figures) display.show(figures);
    }
  }
  const evaluation = await client.get(id, signal);
  await print(process.stdout, json ? formatJson(evaluation) : `${formatAnswerLines(evaluation).join('\n')}\n`);
  if (evaluation.failure) await print(process.stderr, formatNotice(`${evaluation.failure.code}: ${evaluation.failure.message}`));
  const { state, summary } = evaluation;
  return state === 'finished' && isComparisonSummary(summary) ? getVerdictCode(summary) : getExitCodeOfState(evaluation);
}

function formatAnswerLines({ id, suite, state, summary, checkpoints }: EvaluationResource): readonly string[] {
  const title = escapeUnprintable(`${suite} · ${id}`);
  if (isSummary(summary)) return formatSummary(summary, title);
  return isComparisonSummary(summary) ? formatComparison(nameAsAsked(summary, checkpoints), title) : [`${title}: ${state}`];
}

/** Calls checkpoints as the caller named them: an uploaded one has only its digest as its URI. */
function nameAsAsked(summary: ComparisonSummary, checkpoints: EvaluationResource['checkpoints']): ComparisonSummary {
  const name = <Facts extends { readonly uri: string }>(facts: Facts): Facts => ({
    ...facts,
    uri: checkpoints.find(({ uri }) => uri === facts.uri)?.name ?? facts.uri,
  });
  return { ...summary, baseline: name(summary.baseline), candidates: summary.candidates.map(name) };
}

export function getExitCodeOfState({ state, failure }: Pick<EvaluationResource, 'state' | 'failure'>): number {
  switch (state) {
    case 'finished':
      return EXIT_CODES.done;
    case 'failed':
      return failure?.kind === 'input' ? EXIT_CODES.badInput : EXIT_CODES.infrastructure;
    case 'waiting':
    case 'running':
    case 'cancelled':
      return EXIT_CODES.interrupted;
  }
}

/** `muster watch --suite` gets this from the composition root. */
type WatchARun = (request: RunWatchRequest & WatchRunSettings, hooks: RunWatchHooks) => Promise<WatchRecord>;

export interface WatchRunSettings {
  readonly config?: string;
  readonly sandboxes?: number;
}

/** @returns the exit code. With `json`, each event is one JSON document on a line of stdout. */
async function watchAndPrintRun(
  watchARun: WatchARun,
  request: RunWatchRequest & WatchRunSettings,
  json: boolean,
  signal: AbortSignal,
  log: ResultLog | undefined,
): Promise<number> {
  const printed: Promise<void>[] = [];
  const hooks: RunWatchHooks = {
    signal,
    onEvent: (event) => {
      const isNews = event.event !== 'troubled';
      const text = json && isNews ? JSON.stringify(event) : watchEventLine(event);
      printed.push(print(isNews ? process.stdout : process.stderr, `${text}\n`));
    },
    onEvaluated: async ({ name, score, standing }, summary, count) => {
      if (!log) return;
      const { renderReportPage } = await import('../../faces/report/page.ts');
      const page = renderReportPage({ kind: 'evaluation', summary });
      await log.log({ step: readStep(name, count), figures: toFigures(score, standing), page });
    },
    onUnreported: (error) => void printed.push(print(process.stderr, formatErrorReport(error))),
    async during(name, evaluation) {
      using display = openProgressDisplay(createEvaluationView({ suite: basename(request.suite), checkpoint: name }), process.stderr);
      return await evaluation((progress) => display.show(progress));
    },
  };
  const complete =
    request.marker === undefined ? `once it has not changed for ${request.everySeconds} s` : `once ${request.marker} marks it`;
  const end = request.once ? '' : ' (Ctrl-C ends it)';
  await print(process.stderr, formatNotice(`watching ${request.run}; a checkpoint is played ${complete}${end}`));
  try {
    const { settled } = await watchARun(request, hooks);
    if (printed.length === 0)
      printed.push(print(process.stderr, formatNotice(`nothing to do in ${request.run}: ${describeSettled(settled)}`)));
    await Promise.all(printed);
    return settled.some(({ outcome }) => outcome === 'refused') ? EXIT_CODES.badInput : EXIT_CODES.done;
  } catch (error) {
    await Promise.all(printed);
    const failed = toFailedAttempt(error, signal, 'the end of the run');
    if (failed.exitCode !== EXIT_CODES.interrupted) await print(process.stderr, failed.report);
    return failed.exitCode;
  }
}

function describeSettled(settled: WatchRecord['settled']): string {
  const skipped = settled.filter(({ outcome }) => outcome === 'skipped').length;
  if (settled.length === 0) return 'it holds no checkpoint';
  const known = `of its checkpoints, ${settled.length - skipped} were evaluated before`;
  return skipped === 0 ? known : `${known}, and ${skipped} skipped for newer ones; --stale evaluate evaluates those, too`;
}
