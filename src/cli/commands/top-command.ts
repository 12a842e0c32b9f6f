import { Command } from 'commander';
import { applyChanges, EMPTY_BOARD, type LiveBoard } from '../../faces/client/live-board.ts';
import type { MusterClient } from '../../faces/client/muster-client.ts';
import type { EvaluationItem } from '../../faces/http/schemas/evaluation-schemas.ts';
import { addServerFlags, type Connect, type ServerFlags } from '../flags/server-flags.ts';
import { formatTop, type TopView } from '../lines/top-lines.ts';
import { openFullScreen } from '../terminal/full-screen.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';

interface TopFlags extends ServerFlags {
  readonly once?: true;
}

/** Open evaluations that are read at first; later changes come by the stream. */
const MOST_READ = 200;
/** A terminal may stay open during a server's upgrade. */
const PATIENCE_SECONDS = 3600;
const OPEN = ['waiting', 'running'] as const;

export function createTopCommand(connect: Connect): Command {
  const command = new Command('top')
    .summary('watch the pools and evaluations of a server in the terminal')
    .description('Shows the pools of a server and what it plays, as they change. q or Ctrl-C quits.')
    .option('--once', 'print what there is now, and end; so it is where stdout is no terminal, and with --json')
    .addHelpText('after', HELP);
  return addServerFlags(command).action(async ({ once, ...flags }: TopFlags) => {
    using interrupt = watchInterruption(process, 'quitting');
    const client = connect(flags);
    if (once || flags.json || !process.stdout.isTTY) await printBoard(client, flags, interrupt.signal);
    else await followBoard(client, connect({ ...flags, patienceSeconds: PATIENCE_SECONDS }), interrupt.signal);
  });
}

const HELP = `
Examples:
  $ muster top --server https://muster.example
  $ muster top --json | jq '.pools[].sandboxes'`;

async function printBoard(client: MusterClient, { json }: ServerFlags, signal: AbortSignal): Promise<void> {
  const board = { ...(await readBoard(client, signal)), pools: await client.pools(signal) };
  const document = { pools: board.pools, evaluations: [...board.evaluations.values()] };
  const lines = json
    ? [JSON.stringify(document, undefined, 2)]
    : formatTop({ url: client.url, board, connection: 'once', rows: Infinity, columns: Infinity });
  await print(process.stdout, `${lines.join('\n')}\n`);
}

/** Runs until a key or a signal ends it. @param client that answers at once or fails. @param patient that waits until a server is back. */
async function followBoard(client: MusterClient, patient: MusterClient, signal: AbortSignal): Promise<void> {
  const quit = new AbortController();
  const ended = AbortSignal.any([signal, quit.signal]);
  let view: TopView = { url: client.url, board: await readBoard(client, ended), connection: 'live', rows: 0, columns: 0 };
  const draw = (change: Partial<TopView>): void => {
    view = { ...view, ...change };
    screen.show(formatTop({ ...view, rows: process.stdout.rows, columns: process.stdout.columns }));
  };
  using screen = openFullScreen(process, { onResize: () => draw({}), onQuit: () => quit.abort() });
  try {
    for await (const message of patient.live({ signal: ended, onLost: () => draw({ connection: 'lost' }) })) {
      const before = message.isIncomplete ? { ...view.board, ...(await readBoard(patient, ended)) } : view.board;
      draw({ board: applyChanges(before, message), connection: 'live' });
    }
  } catch (error) {
    if (!quit.signal.aborted) throw error;
  }
}

/** Reads the evaluations that are open. */
async function readBoard(client: MusterClient, signal: AbortSignal): Promise<LiveBoard> {
  const evaluations = new Map<string, EvaluationItem>();
  for await (const item of client.list({ state: OPEN }, { pageSize: MOST_READ, signal })) {
    evaluations.set(item.id, item);
    if (evaluations.size >= MOST_READ) break;
  }
  return { ...EMPTY_BOARD, evaluations };
}
