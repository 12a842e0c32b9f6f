import { Command, Option } from 'commander';
import { formatCount } from '../../kernel/text/figures.ts';
import { escapeUnprintable } from '../../kernel/text/printable.ts';
import { formatOutcome } from '../../orchestrator/replay/outcome-text.ts';
import type { ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import { parseWholeNumberFromZero } from '../flags/flag-values.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';
import { alignColumns } from '../lines/columns.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { reportFile } from './report-file.ts';

export interface ReplayRequest {
  /** Directory of `--out`. */
  readonly results: string;
  readonly index: number;
  readonly arm: number;
  readonly config?: string;
}

/** `muster replay` gets this from the composition root, for results on this machine. */
export type ReplayResults = (request: ReplayRequest, signal: AbortSignal) => Promise<ReplayDocument>;

interface ReplayFlags extends ServerFlags {
  readonly arm: number;
  readonly html?: string;
}

/** Ids as servers make them. */
const EVALUATION_ID = /^ev-[0-9a-z]+-[0-9a-f]+$/;

export function createReplayCommand(replay: ReplayResults, connect: Connect): Command {
  const command = new Command('replay')
    .summary('play one episode again, and record it')
    .description('Plays one episode of an evaluation again, alone, and records rewards and, where the environment renders, pictures.')
    .argument('<evaluation>', 'directory of --out, or the id of an evaluation of a server')
    .argument('<index>', 'of the episode, from 0 on', parseWholeNumberFromZero)
    .addOption(
      new Option('--arm <position>', 'of the checkpoint in a comparison; 0 is the baseline').argParser(parseWholeNumberFromZero).default(0),
    )
    .option('--html <file>', 'write a page with the pictures and the rewards (HTML, in one file)')
    .addHelpText('after', HELP);
  return addServerFlags(command).action(async (evaluation: string, index: number, flags: ReplayFlags) => {
    const page = flags.html === undefined ? undefined : await reportFile(flags.html, '--html');
    using interrupt = watchInterruption(process);
    const { signal } = interrupt;
    try {
      const replayed = EVALUATION_ID.test(evaluation)
        ? await connect(flags).replay(evaluation, { index, arm: flags.arm }, signal)
        : await replay({ results: evaluation, index, ...flags }, signal);
      await page?.write({ kind: 'replay', replay: replayed });
      await print(
        process.stdout,
        flags.json ? formatJson(replayed) : escapeUnprintable(`${formatReplay(replayed, flags.html).join('\n')}\n`),
      );
      process.exitCode = replayed.isSame ? EXIT_CODES.done : EXIT_CODES.differs;
    } catch (error) {
      if (!signal.aborted) throw error;
      await print(process.stderr, formatNotice('interrupted before the episode was over'));
      process.exitCode = EXIT_CODES.interrupted;
    }
  });
}

const HELP = `
A policy's episode is given its task, its seeds and, where it was played in a block, its block, so that it has the same outcome. An
episode that does not is not deterministic: its environment or its policy draws from something that no seed decides.

Exit codes:
  0    the outcome is the same
  1    a defect of Muster
  2    bad input: no such evaluation or episode, or its checkpoint is gone
  3    the infrastructure failed
  7    the outcome differs
  130  interrupted

Examples:
  muster replay results/late 17 --html episode-17.html
  muster replay ev-0mk2x1c9a-0123456789abcdef 17 --json | jq .rewards`;

/** @param page where the page was written to. */
function formatReplay(replay: ReplayDocument, page: string | undefined): readonly string[] {
  const { suite, index, task, environmentSeed, policySeed, recorded, replayed, isSame, rewards, pictures, remarks } = replay;
  return [
    `${suite.name}, episode ${index} · task ${task} · environment seed ${environmentSeed} · policy seed ${policySeed}`,
    '',
    ...alignColumns([
      ['in the evaluation', formatOutcome(recorded)],
      ['played again', formatOutcome(replayed)],
    ]),
    isSame
      ? 'The outcome is the same.'
      : 'The outcome differs: the environment or the policy draws from something that no seed decides (not deterministic).',
    '',
    `${formatCount(rewards.length)} rewards and ${formatCount(pictures.length)} pictures were recorded (${page ?? '--html FILE'} shows them, --json prints them)`,
    ...remarks.map((remark) => `${pictures.length === 0 ? 'no pictures' : 'no more pictures'}: ${remark}`),
  ];
}
