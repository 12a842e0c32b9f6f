import { stripVTControlCharacters, styleText } from 'node:util';
import { compareLatestFirst, isOpen, SANDBOX_STATES, type LiveBoard } from '../../faces/client/live-board.ts';
import type { EvaluationItem } from '../../faces/http/schemas/evaluation-schemas.ts';
import type { Pool } from '../../faces/http/schemas/pool-schemas.ts';
import { formatCount, formatDuration, formatRate, formatWaiting } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatAnswer } from '../progress/remote-progress.ts';
import { fitColumns } from './columns.ts';
import { formatCheckpoints } from './evaluation-list.ts';

export interface TopView {
  readonly url: string;
  readonly board: LiveBoard;
  readonly connection: 'live' | 'lost' | 'once';
  /** Lines that are available. */
  readonly rows: number;
  /** Characters of a line. */
  readonly columns: number;
}

const HEADINGS = ['state', 'checkpoint', 'suite', 'answer so far', 'episodes', 'rate', 'time', 'by'] as const;
/** Narrow terminals do not show the principal, the suite, the rate and the episodes; they are omitted in this order. */
const FITTING = { omitted: [7, 2, 5, 4], cut: 1, least: 20 } as const;
/** The largest number of ended evaluations. The others get the remaining room. */
const MOST_ENDED = 5;
const BAR_CELLS = 32;
/** Distinct even without colours. */
const CELLS = { leased: '█', idle: '▒', warming: '░', creating: '░', destroying: '×' } as const;

/** Formats a server's pools and its evaluations, as many as fit. */
export function formatTop({ url, board, connection, rows, columns }: TopView): readonly string[] {
  const all = [...board.evaluations.values()].sort(compareLatestFirst);
  const open = all.filter(isOpen).sort(compareByState);
  const count = (state: EvaluationItem['state']): number => open.filter((item) => item.state === state).length;
  const state = `${CONNECTIONS[connection]} · ${count('running')} running, ${count('waiting')} waiting`;
  const isWide = stripVTControlCharacters(`Muster ${url} · ${state}`).length <= columns;
  const head = `${styleText('bold', 'Muster')}${isWide ? ` ${url}` : ''} · ${state}`;
  const above = [head, '', ...board.pools.flatMap(formatPool), ''];
  if (all.length === 0) return [...above, 'no evaluation waits or runs'];
  // The room below the pools: headings, and a line for evaluations that do not fit.
  const room = Math.max(1, rows - above.length - 2);
  const shown = [...open, ...all.filter((item) => !isOpen(item)).slice(0, MOST_ENDED)].slice(0, room);
  const left = open.length - shown.filter(isOpen).length;
  const [headings = '', ...lines] = fitColumns([HEADINGS, ...shown.map(getCells)], { ...FITTING, width: columns });
  return [...above, styleText('dim', headings), ...lines, ...(left > 0 ? [styleText('dim', `and ${formatCount(left)} more`)] : [])];
}

const CONNECTIONS: Readonly<Record<TopView['connection'], string>> = {
  live: `${styleText('green', 'live')} (q quits)`,
  lost: `${styleText('yellow', 'connection lost')}; trying again`,
  once: 'now',
};

/** Running evaluations come before waiting ones. */
function compareByState(a: EvaluationItem, b: EvaluationItem): number {
  return a.state === b.state ? 0 : a.state === 'running' ? -1 : 1;
}

function formatPool({ name, phase, draining, max, sandboxes, waiting, obstacles, lost, lastErrors }: Pool): readonly string[] {
  const known = SANDBOX_STATES.filter(([state]) => sandboxes[state] > 0).map(([state, word]) => `${formatCount(sandboxes[state])} ${word}`);
  const counts = known.length === 0 ? 'none' : known.join(', ');
  const waits = waiting > 0 ? ` · ${formatWaiting(waiting)}` : '';
  const line = `pool ${escapeUnprintableLine(name)}  ${draining ? 'draining' : phase}  ${drawPool(sandboxes, max)} ${counts} of ${formatCount(max)}${waits}`;
  const errors = Object.entries(lastErrors).filter(([, text]) => text !== null);
  const troubles = [
    ...obstacles.map(({ kind, sandboxes: kept, detail }) => `${kind} keeps ${formatCount(kept)} from getting ready: ${detail}`),
    ...lost.slice(-1).map(({ sandbox, detail }) => `${formatCount(lost.length)} lost in the last minute, lately ${sandbox}: ${detail}`),
    ...errors.map(([what, text]) => `last failed ${what}: ${text}`),
  ];
  return [line, ...troubles.map((text) => styleText('yellow', `  ${escapeUnprintableLine(text)}`))];
}

/** Each state gets its share of the cells, and at least one if it occurs. */
function drawPool(sandboxes: Pool['sandboxes'], max: number): string {
  const most = Math.max(
    max,
    SANDBOX_STATES.reduce((sum, [state]) => sum + sandboxes[state], 0),
  );
  const cells = Math.min(BAR_CELLS, most);
  const drawn = SANDBOX_STATES.map(([state]) => CELLS[state].repeat(Math.ceil((sandboxes[state] / most) * cells))).join('');
  return `[${drawn.slice(0, cells).padEnd(cells, '·')}]`;
}

function getCells(item: EvaluationItem): readonly string[] {
  const { state, suite, running, principal } = item;
  return [
    state,
    formatCheckpoints(item),
    escapeUnprintableLine(suite),
    running === null ? '' : formatAnswer(running),
    running === null ? '' : formatCount(running.episodes),
    state === 'running' && running !== null ? `${formatRate(running.episodesPerSecond)}/s` : '',
    formatTime(item),
    escapeUnprintableLine(principal),
  ];
}

function formatTime({ state, running, startedAt, endedAt }: EvaluationItem): string {
  switch (state) {
    case 'waiting':
      return '';
    case 'running':
      return running === null || running.secondsLeft === null ? '' : `${formatDuration(running.secondsLeft)} left`;
    case 'finished':
    case 'cancelled':
    case 'failed':
      return startedAt === null || endedAt === null ? '' : formatDuration((Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
  }
}
