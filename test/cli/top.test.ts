import { EventEmitter } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatTop } from '../../src/cli/lines/top-lines.ts';
import { openFullScreen } from '../../src/cli/terminal/full-screen.ts';
import { applyChanges, EMPTY_BOARD, type LiveBoard } from '../../src/faces/client/live-board.ts';
import type { EvaluationItem } from '../../src/faces/http/schemas/evaluation-schemas.ts';
import type { Pool } from '../../src/faces/http/schemas/pool-schemas.ts';

const FIGURES = { outcomes: 9, inFlight: 1, episodesPerSecond: 3, seconds: 3, secondsLeft: 75 };
const RUNNING = { kind: 'evaluation', episodes: 1800, mean: 0.25, halfWidth: 0.125, target: 0.01, ...FIGURES } as const;
const POOL: Pool = {
  name: 'local',
  provider: 'bubblewrap',
  min: 0,
  max: 8,
  warm: 0,
  draining: false,
  phase: 'open',
  sandboxes: { creating: 1, warming: 0, idle: 2, leased: 3, destroying: 1 },
  waiting: 1200,
  totals: { created: 9, destroyed: 2, failed: 0, died: 0, abandoned: 0, leases: 3, revoked: 0 },
  obstacles: [{ kind: 'no room', sandboxes: 1, detail: 'too small\u001b[2J' }],
  lost: [{ sandbox: 's-7', at: '2026-01-01T00:00:00.000Z', detail: 'its node\u001b[2J went away' }],
  usage: null,
  lastErrors: { creation: 'out of disk', destruction: null, sweep: null },
};

function item(id: string, changes: Partial<EvaluationItem> = {}): EvaluationItem {
  return {
    id,
    kind: 'evaluation',
    state: 'running',
    principal: 'ada',
    suite: 'cartpole',
    checkpoints: [{ part: 'subject', uri: 's3://runs/late.safetensors', digest: 'sha256:a' }],
    run: 'r7',
    version: 12,
    labels: {},
    priority: 0,
    createdAt: `2030-01-02T11:00:00.000Z`,
    startedAt: '2030-01-02T11:00:00.000Z',
    endedAt: null,
    cancelRequestedAt: null,
    running: RUNNING,
    failure: null,
    withheld: false,
    links: { self: '', events: '', episodes: '' },
    ...changes,
  };
}

const ended = (id: string): EvaluationItem => item(id, { state: 'finished', endedAt: '2030-01-02T11:01:05.000Z' });

function lines(board: LiveBoard, rows = Infinity, columns = Infinity): readonly string[] {
  return formatTop({ url: 'http://muster.test', board, connection: 'live', rows, columns }).map(stripVTControlCharacters);
}

describe('muster top', () => {
  it('shows pools with their problems, running before waiting evaluations, and the last that ended', () => {
    const waiting = item('ev-2', { state: 'waiting', running: null, suite: 'evil\u001b[2J' });
    const board = applyChanges(EMPTY_BOARD, { pools: [POOL], evaluations: [ended('ev-0'), waiting, item('ev-1')] });
    expect(lines(board)).toEqual([
      'Muster http://muster.test · live (q quits) · 1 running, 1 waiting',
      '',
      'pool local  open  [███▒▒░×·] 3 busy, 2 idle, 1 creating, 1 ending of 8 · 1,200 requests wait',
      '  no room keeps 1 from getting ready: too small\\u001b[2J',
      '  1 lost in the last minute, lately s-7: its node\\u001b[2J went away',
      '  last failed creation: out of disk',
      '',
      'state     checkpoint                suite          answer so far                         episodes  rate   time       by',
      'running   late.safetensors (r7@12)  cartpole       mean 0.250 ± 0.125 (target ± 0.0100)  1,800     3.0/s  1:15 left  ada',
      'waiting   late.safetensors (r7@12)  evil\\u001b[2J                                                                    ada',
      'finished  late.safetensors (r7@12)  cartpole       mean 0.250 ± 0.125 (target ± 0.0100)  1,800            1:05       ada',
    ]);
    expect(lines(EMPTY_BOARD).at(-1)).toBe('no evaluation waits or runs');
  });

  it('fits the rows of the terminal, and says how many evaluations have no room', () => {
    const evaluations = Array.from({ length: 40 }, (_, at) => item(`ev-${at}`));
    const shown = lines(applyChanges(EMPTY_BOARD, { pools: [POOL], evaluations }), 24);
    expect(shown).toHaveLength(24);
    expect(shown.at(-1)).toBe('and 25 more');
  });

  it('leaves out the least important columns on a narrow terminal, and keeps the answer', () => {
    const board = applyChanges(EMPTY_BOARD, { pools: [POOL], evaluations: [item('ev-1')] });
    const narrow = (columns: number): readonly string[] => lines(board, 24, columns).slice(-2);
    expect(narrow(118).at(-1)).toMatch(/ ada$/);
    expect(narrow(110)).toEqual([
      'state    checkpoint            suite     answer so far                         episodes  rate   time       by',
      'running  late.safetensors (r…  cartpole  mean 0.250 ± 0.125 (target ± 0.0100)  1,800     3.0/s  1:15 left  ada',
    ]);
    expect(narrow(80)).toEqual([
      'state    checkpoint              answer so far                         time',
      'running  late.safetensors (r7@…  mean 0.250 ± 0.125 (target ± 0.0100)  1:15 left',
    ]);
    expect(lines(board, 24, 60)[0]).toBe('Muster · live (q quits) · 1 running, 0 waiting');
    for (const columns of [60, 80, 100, 120]) for (const line of narrow(columns)) expect(line.length).toBeLessThanOrEqual(columns);
  });

  it('follows changes, and forgets the oldest of many that have ended', () => {
    const open = applyChanges(EMPTY_BOARD, { evaluations: [item('ev-1')], pools: [POOL] });
    const later = applyChanges(open, { running: [{ id: 'ev-1', running: { ...RUNNING, episodes: 1801 } }] });
    expect(later).toMatchObject({ pools: [POOL] });
    expect(later.evaluations.get('ev-1')?.running?.episodes).toBe(1801);
    // Figures that come after the end are of before it.
    const over = applyChanges(applyChanges(later, { evaluations: [ended('ev-1')] }), { running: [{ id: 'ev-1', running: RUNNING }] });
    expect(over.evaluations.get('ev-1')).toEqual(ended('ev-1'));
    const many = Array.from({ length: 1500 }, (_, at) => ended(`ev-${1000 + at}`));
    const kept = applyChanges(later, { evaluations: many });
    expect([kept.evaluations.size, kept.evaluations.has('ev-1'), kept.evaluations.has('ev-1499'), kept.evaluations.has('ev-1500')]).toEqual(
      [1001, true, false, true],
    );
  });

  it('takes the whole screen until a key ends it, and leaves the terminal as it was', () => {
    const stdin = Object.assign(new EventEmitter(), {
      isTTY: true,
      isRaw: false,
      isRead: false,
      setRawMode: (isRaw: boolean) => (stdin.isRaw = isRaw),
      resume: () => (stdin.isRead = true),
      pause: () => (stdin.isRead = false),
    });
    const stdout = Object.assign(new EventEmitter(), { rows: 2, written: '', write: (text: string) => (stdout.written += text) });
    const events: string[] = [];
    const screen = openFullScreen({ stdin, stdout }, { onResize: () => events.push('resize'), onQuit: () => events.push('quit') });
    expect([stdin.isRaw, stdin.isRead]).toEqual([true, true]);
    stdout.written = '';
    screen.show(['one', 'two', 'three']);
    expect(stdout.written).toBe('\x1b[H\x1b[Kone\r\n\x1b[Jtwo');
    stdout.emit('resize');
    for (const key of ['x', '\x1b[A', 'q', '\x03']) stdin.emit('data', Buffer.from(key));
    expect(events).toEqual(['resize', 'quit', 'quit']);
    screen[Symbol.dispose]();
    expect(stdout.written.endsWith('\x1b[?7h\x1b[?25h\x1b[?1049l')).toBe(true);
    expect([stdin.isRaw, stdin.isRead, stdin.listenerCount('data'), stdout.listenerCount('resize')]).toEqual([false, false, 0, 0]);
  });
});
