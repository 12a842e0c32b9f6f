import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatEvaluationList, isAnsweredElsewhere, type Listed } from '../../src/cli/lines/evaluation-list.ts';
import { formatTokens } from '../../src/cli/commands/token-command.ts';
import { parseTokenId } from '../../src/kernel/ids.ts';
import { comparison, evaluation } from '../faces/report/documents.ts';

const NOW = new Date('2030-01-02T12:00:00Z');
const DIGEST = `sha256:${'ab'.repeat(32)}`;

const FIGURES = { outcomes: 9, inFlight: 1, episodesPerSecond: 3, seconds: 3, secondsLeft: 7 };
const RUNNING = { kind: 'evaluation', episodes: 8, mean: 0.25, halfWidth: 0.125, target: 0.01, ...FIGURES } as const;

function listed(changes: Partial<Listed>): Listed {
  return {
    id: 'ev-1',
    kind: 'evaluation',
    state: 'running',
    principal: 'ada',
    suite: 'cartpole',
    checkpoints: [{ part: 'subject', uri: 's3://runs/r7/step-1200.safetensors', digest: DIGEST }],
    run: null,
    version: null,
    labels: {},
    priority: 0,
    createdAt: '2030-01-02T11:59:18.000Z',
    startedAt: null,
    endedAt: null,
    cancelRequestedAt: null,
    running: RUNNING,
    failure: null,
    withheld: false,
    links: { self: '', events: '', episodes: '' },
    ...changes,
  };
}

/** Cells of one evaluation's line. */
function cells(changes: Partial<Listed>): readonly string[] {
  const [, line = ''] = formatEvaluationList([listed(changes)], NOW);
  return stripVTControlCharacters(line).split(/ {2,}/);
}

describe('a list of evaluations', () => {
  it('shows a cancelled evaluation as cancelling until it has ended', () => {
    const cancelRequestedAt = '2030-01-02T11:59:58.000Z';
    const states = (['waiting', 'running', 'cancelled', 'finished'] as const).map((state) => cells({ state, cancelRequestedAt })[3]);
    expect(states).toEqual(['cancelling', 'cancelling', 'cancelled', 'finished']);
  });

  it('has checkpoint, suite, state, mean and half-width, and age of each', () => {
    const [head = ''] = formatEvaluationList([listed({})], NOW);
    expect(head.split(/ {2,}/)).toEqual(['id', 'checkpoint', 'suite', 'state', 'answer', 'age']);
    expect(cells({})).toEqual(['ev-1', 'step-1200.safetensors', 'cartpole', 'running', '0.250 ± 0.125', '42 s']);
    expect(cells({ createdAt: '2030-01-02T09:01:00.000Z', run: 'r7', version: 12 })).toEqual([
      'ev-1',
      'step-1200.safetensors (r7@12)',
      'cartpole',
      'running',
      '0.250 ± 0.125',
      '2 h',
    ]);
    expect(cells({ version: 12 })[1]).toBe('step-1200.safetensors (@12)');
    expect(cells({ createdAt: '2029-12-01T09:01:00.000Z', checkpoints: [{ part: 'subject', uri: DIGEST, digest: DIGEST }] })).toEqual([
      'ev-1',
      'sha256:abababababab…',
      'cartpole',
      'running',
      '0.250 ± 0.125',
      '32 d',
    ]);
    expect(cells({ checkpoints: [{ part: 'subject', uri: 'ab'.repeat(32), digest: DIGEST }] })[1]).toBe('sha256:abababababab…');
  });

  it('has the names that callers gave, rather than paths and digests', () => {
    const named = (part: 'subject' | 'baseline' | 'candidate', name: string) => ({ part, uri: DIGEST, digest: DIGEST, name });
    expect(cells({ checkpoints: [named('subject', 'final\u001b[31m.zip')] })[1]).toBe('final\\u001b[31m.zip');
    expect(cells({ checkpoints: [named('baseline', 'old.zip'), named('candidate', 'new.zip')] })[1]).toBe('new.zip against old.zip');
  });

  it('has the mean of the summary, and none before there is one', () => {
    expect(cells({ state: 'finished', summary: evaluation() })).toContain('0.2730 ± 0.0093');
    const checkpoints: Listed['checkpoints'] = [
      { part: 'baseline', uri: '/old.onnx', digest: DIGEST },
      { part: 'candidate', uri: '/new.onnx', digest: DIGEST },
    ];
    const compared = { kind: 'comparison', state: 'finished', checkpoints, summary: comparison() } as const;
    expect(cells(compared)).toEqual(['ev-1', 'new.onnx against old.onnx', 'cartpole', 'finished', comparison().verdict, '42 s']);
    expect(cells({ state: 'failed' })).toEqual(['ev-1', 'step-1200.safetensors', 'cartpole', 'failed', '42 s']);
    expect(cells({ state: 'waiting', running: null })).toEqual(['ev-1', 'step-1200.safetensors', 'cartpole', 'waiting', '42 s']);
    expect([listed({}), listed({ state: 'finished' }), listed({ state: 'finished', running: null })].map(isAnsweredElsewhere)).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('reports an empty list', () => {
    expect(formatEvaluationList([], NOW)).toEqual(['there are no evaluations']);
    expect(formatEvaluationList([], NOW, ['--run', '--state'])).toEqual(['no evaluation fits --run and --state']);
  });
});

it('a list of tokens shows the time of day within two days', () => {
  const token = {
    id: parseTokenId('0123456789abcdef'),
    principal: 'ada',
    role: 'viewer',
    expiresAt: undefined,
    revokedAt: undefined,
  } as const;
  const lines = formatTokens(
    [
      { ...token, createdAt: new Date('2030-01-02T11:20:00Z'), expiresAt: new Date('2030-01-02T12:30:00Z') },
      { ...token, createdAt: new Date('2029-06-01T11:20:00Z'), expiresAt: new Date('2030-06-01T11:20:00Z') },
      { ...token, createdAt: new Date('2029-06-01T11:20:00Z'), expiresAt: NOW },
      { ...token, createdAt: new Date('2029-06-01T11:20:00Z') },
      { ...token, createdAt: new Date('2029-06-01T11:20:00Z'), expiresAt: NOW, revokedAt: new Date('2030-01-01T23:59:59Z') },
    ],
    NOW,
    'in the store /srv/muster.db',
  );
  expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(3))).toEqual([
    ['2030-01-02 11:20 UTC', 'until 2030-01-02 12:30 UTC'],
    ['2029-06-01', 'until 2030-06-01'],
    ['2029-06-01', 'expired 2030-01-02 12:00 UTC'],
    ['2029-06-01', 'does not expire'],
    ['2029-06-01', 'revoked 2030-01-01 23:59 UTC'],
  ]);
});
