import { Command } from 'commander';
import { isComparisonSummary, isSummary } from '../client/answer-of.ts';
import type { MusterClient } from '../client/muster-client.ts';
import type { EvaluationResource } from '../server/evaluation-schemas.ts';
import { runningFiguresSchema } from '../service/running-figures.ts';
import { printable } from '../shown/printable.ts';
import { comparisonLines } from './comparison-lines.ts';
import { notice } from './error-report.ts';
import { EXIT_CODES } from './exit-code.ts';
import { interruption } from './interruption.ts';
import { print } from './output.ts';
import { openProgressDisplay } from './progress-display.ts';
import { figuresView } from './remote-progress.ts';
import { addServerFlags, type Connect, type ServerFlags } from './server-flags.ts';
import { summaryLines } from './summary-lines.ts';

export function watchCommand(connect: Connect): Command {
  const command = new Command('watch')
    .summary('follow an evaluation on a server')
    .description('Follows an evaluation until it is over, and prints its answer.')
    .argument('<id>', 'as "muster submit" printed it');
  return addServerFlags(command).action(async (id: string, flags: ServerFlags) => {
    using interrupt = interruption(process, 'no longer watching; it goes on');
    process.exitCode = await watched(connect(flags), id, flags.json === true, interrupt.signal);
  });
}

/** @returns the exit code that says how it ended. */
export async function watched(client: MusterClient, id: string, json: boolean, signal: AbortSignal): Promise<number> {
  {
    using display = openProgressDisplay(figuresView(id), process.stderr);
    for await (const { type, data } of client.events(id, { signal })) {
      const figures = type === 'progress' ? runningFiguresSchema.safeParse(data).data : undefined;
      if (figures) display.show(figures);
    }
  }
  const evaluation = await client.get(id, signal);
  await print(process.stdout, json ? `${JSON.stringify(evaluation, undefined, 2)}\n` : `${answerLines(evaluation).join('\n')}\n`);
  if (evaluation.failure) await print(process.stderr, notice(`${evaluation.failure.code}: ${evaluation.failure.message}`));
  return exitCodeOfState(evaluation.state);
}

function answerLines({ id, suite, state, summary }: EvaluationResource): readonly string[] {
  const title = printable(`${suite} · ${id}`);
  if (isSummary(summary)) return summaryLines(summary, title);
  return isComparisonSummary(summary) ? comparisonLines(summary, title) : [`${title}: ${state}`];
}

/** What a shell learns of how an evaluation stands. */
export function exitCodeOfState(state: EvaluationResource['state']): number {
  switch (state) {
    case 'finished':
      return EXIT_CODES.done;
    case 'failed':
      return EXIT_CODES.infrastructure;
    case 'waiting':
    case 'running':
    case 'cancelled':
      return EXIT_CODES.interrupted;
  }
}
