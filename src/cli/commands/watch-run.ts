import { basename } from 'node:path';
import { openProgressDisplay } from '../progress/progress-display.ts';
import { evaluationView } from '../progress/progress-lines.ts';
import { errorReport, notice } from '../terminal/error-report.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { toFailedAttempt } from '../terminal/failed-attempt.ts';
import { print } from '../terminal/output.ts';
import { watchEventLine } from '../lines/watch-event-line.ts';
import type { RunWatchHooks, RunWatchRequest } from '../../app/run-watching.ts';
import type { WatchRecord } from '../../service/watching/watch-record.ts';

/** What `muster watch --suite` needs of the composition root. */
export type WatchARun = (request: RunWatchRequest & WatchRunSettings, hooks: RunWatchHooks) => Promise<WatchRecord>;

export interface WatchRunSettings {
  readonly config?: string;
  readonly sandboxes?: number;
}

/** @returns the exit code. With `json`, what happens is a document a line on stdout. */
export async function watchAndPrintRun(
  watchARun: WatchARun,
  request: RunWatchRequest & WatchRunSettings,
  json: boolean,
  signal: AbortSignal,
): Promise<number> {
  const printed: Promise<void>[] = [];
  const hooks: RunWatchHooks = {
    signal,
    onEvent: (event) => {
      const isNews = event.event !== 'troubled';
      const text = json && isNews ? JSON.stringify(event) : watchEventLine(event);
      printed.push(print(isNews ? process.stdout : process.stderr, `${text}\n`));
    },
    onUntold: (error) => void printed.push(print(process.stderr, errorReport(error))),
    async during(name, evaluation) {
      using display = openProgressDisplay(evaluationView({ suite: basename(request.suite), checkpoint: name }), process.stderr);
      return await evaluation((progress) => display.show(progress));
    },
  };
  await print(process.stderr, notice(`watching ${request.run}${request.once ? '' : ' (Ctrl-C ends it)'}`));
  try {
    const { settled } = await watchARun(request, hooks);
    await Promise.all(printed);
    return settled.some(({ outcome }) => outcome === 'refused') ? EXIT_CODES.badInput : EXIT_CODES.done;
  } catch (error) {
    await Promise.all(printed);
    const told = toFailedAttempt(error, signal, 'the end of the run');
    if (told.exitCode !== EXIT_CODES.interrupted) await print(process.stderr, told.report);
    return told.exitCode;
  }
}
