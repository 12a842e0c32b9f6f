import { Command } from 'commander';
import type { MusterClient } from '../client/muster-client.ts';
import { comparisonSummarySchema } from '../orchestrator/comparison-summary.ts';
import { summarySchema } from '../orchestrator/summary.ts';
import type { EvaluationResource } from '../server/evaluation-schemas.ts';
import { runningFiguresSchema } from '../service/running-figures.ts';
import { printable } from '../shown/printable.ts';
import { comparisonLines } from './comparison-lines.ts';
import { notice } from './error-report.ts';
import { EXIT_CODES } from './exit-code.ts';
import { interruption } from './interruption.ts';
import { print } from './output.ts';
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
  for await (const { type, data } of client.follow(id, signal)) {
    const figures = type === 'progress' ? runningFiguresSchema.safeParse(data).data : undefined;
    if (figures) await print(process.stderr, `${id}: ${figures.episodes} episodes, ${figures.episodesPerSecond.toFixed(1)}/s\n`);
  }
  const evaluation = await client.find(id, signal);
  await print(process.stdout, json ? `${JSON.stringify(evaluation, undefined, 2)}\n` : `${answerLines(evaluation).join('\n')}\n`);
  if (evaluation.failure) await print(process.stderr, notice(`${evaluation.failure.code}: ${evaluation.failure.message}`));
  return exitCodeOfState(evaluation.state);
}

function answerLines({ id, suite, state, summary }: EvaluationResource): readonly string[] {
  const title = printable(`${suite} · ${id}`);
  const evaluation = summarySchema.safeParse(summary).data;
  if (evaluation) return summaryLines(evaluation, title);
  const comparison = comparisonSummarySchema.safeParse(summary).data;
  return comparison ? comparisonLines(comparison, title) : [`${title}: ${state}`];
}

function exitCodeOfState(state: EvaluationResource['state']): number {
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
