import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/service/access/caller.ts';
import { findCall, NEEDS, decidePermission, type Call } from '../../../src/service/access/permissions.ts';
import { ROLES, type Role } from '../../../src/evaluation-store/tokens.ts';

type Answer = '-' | 'no' | 'yes' | 'own';

/** Who may make each call: unknown caller, viewer, submitter, operator. */
const EXPECTED: Readonly<Record<Call, readonly [Answer, Answer, Answer, Answer]>> = {
  'GET /healthz': ['yes', 'yes', 'yes', 'yes'],
  'GET /readyz': ['yes', 'yes', 'yes', 'yes'],
  'GET /openapi.json': ['yes', 'yes', 'yes', 'yes'],
  'GET /docs': ['yes', 'yes', 'yes', 'yes'],
  'GET /': ['yes', 'yes', 'yes', 'yes'],
  'DELETE /v1/session': ['yes', 'yes', 'yes', 'yes'],
  'GET /v1/session': ['-', 'yes', 'yes', 'yes'],
  'POST /v1/session': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/live': ['-', 'yes', 'yes', 'yes'],
  'GET /metrics': ['-', 'yes', 'yes', 'yes'],
  'HEAD /v1/checkpoints/{sha256}': ['-', 'yes', 'yes', 'yes'],
  'PUT /v1/checkpoints/{sha256}': ['-', 'no', 'yes', 'yes'],
  'GET /v1/checkpoints/{sha256}/grants': ['-', 'no', 'yes', 'yes'],
  'POST /v1/checkpoints/{sha256}/grants': ['-', 'no', 'yes', 'yes'],
  'DELETE /v1/checkpoints/{sha256}/grants/{principal}': ['-', 'no', 'yes', 'yes'],
  'POST /v1/evaluations': ['-', 'no', 'yes', 'yes'],
  'GET /v1/evaluations': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}/events': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}/episodes': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}/transcripts/{index}': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}/playing': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/evaluations/{id}/report': ['-', 'yes', 'yes', 'yes'],
  'POST /v1/evaluations/{id}/replays': ['-', 'no', 'own', 'yes'],
  'DELETE /v1/evaluations/{id}': ['-', 'no', 'own', 'yes'],
  'POST /v1/comparisons': ['-', 'no', 'yes', 'yes'],
  'POST /v1/episodes': ['-', 'no', 'yes', 'yes'],
  'GET /v1/episodes': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/episodes/{id}': ['-', 'yes', 'yes', 'yes'],
  'DELETE /v1/episodes/{id}': ['-', 'no', 'yes', 'yes'],
  'POST /v1/episodes/{id}/steps': ['-', 'no', 'yes', 'yes'],
  'GET /v1/episodes/{id}/steps': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/episodes/{id}/reward': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/episodes/{id}/events': ['-', 'yes', 'yes', 'yes'],
  'POST /v1/episodes/{id}/fork': ['-', 'no', 'yes', 'yes'],
  'GET /v1/episodes/{id}/files': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/episodes/{id}/files/content': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/episodes/{id}/diff': ['-', 'yes', 'yes', 'yes'],
  'POST /v1/rollouts': ['-', 'no', 'yes', 'yes'],
  'GET /v1/rollouts': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/rollouts/{id}': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/rollouts/{id}/board': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/rollouts/{id}/events': ['-', 'yes', 'yes', 'yes'],
  'DELETE /v1/rollouts/{id}': ['-', 'no', 'yes', 'yes'],
  'GET /v1/rollouts/{id}/groups': ['-', 'no', 'yes', 'yes'],
  'POST /v1/rollouts/{id}/ack': ['-', 'no', 'yes', 'yes'],
  'POST /v1/policies/{name}/versions': ['-', 'no', 'yes', 'yes'],
  'POST /episodes': ['-', 'no', 'yes', 'yes'],
  'POST /episodes/{id}/steps': ['-', 'no', 'yes', 'yes'],
  'GET /episodes/{id}/reward': ['-', 'no', 'yes', 'yes'],
  'POST /mcp': ['-', 'no', 'yes', 'yes'],
  'GET /openenv': ['-', 'yes', 'yes', 'yes'],
  'GET /openenv/{task}/ws': ['-', 'no', 'yes', 'yes'],
  'GET /openenv/{task}/metadata': ['-', 'yes', 'yes', 'yes'],
  'GET /openenv/{task}/schema': ['-', 'yes', 'yes', 'yes'],
  'GET /openenv/{task}/health': ['-', 'yes', 'yes', 'yes'],
  'GET /openenv/{task}/state': ['-', 'yes', 'yes', 'yes'],
  'POST /openenv/{task}/reset': ['-', 'no', 'yes', 'yes'],
  'POST /openenv/{task}/step': ['-', 'no', 'yes', 'yes'],
  'POST /openenv/{task}/mcp': ['-', 'no', 'yes', 'yes'],
  'GET /v1/suites/{name}': ['-', 'yes', 'yes', 'yes'],
  'GET /v1/pools': ['-', 'yes', 'yes', 'yes'],
  'PATCH /v1/pools/{name}': ['-', 'no', 'no', 'yes'],
  'GET /v1/tokens': ['-', 'no', 'no', 'yes'],
  'POST /v1/tokens': ['-', 'no', 'no', 'yes'],
  'DELETE /v1/tokens/{id}': ['-', 'no', 'no', 'yes'],
  'GET /v1/audit': ['-', 'no', 'no', 'yes'],
  'GET /v1/quotas': ['-', 'no', 'no', 'yes'],
};

const calls = Object.keys(EXPECTED).filter((call): call is Call => call in NEEDS);

describe('permissions', () => {
  it('are defined for every call', () => {
    expect(Object.keys(EXPECTED)).toEqual(Object.keys(NEEDS));
  });

  it.each(calls)('%s', (call) => {
    const callers = [undefined, ...ROLES.map((role) => callerOf(role))];
    expect(callers.map((caller) => answer(call, caller))).toEqual(EXPECTED[call]);
  });

  it('say what role is missing', () => {
    expect(decidePermission('PATCH /v1/pools/{name}', callerOf('submitter'))).toEqual({ kind: 'forbidden', needed: 'operator' });
    expect(decidePermission('DELETE /v1/evaluations/{id}', callerOf('viewer'), 'me')).toEqual({ kind: 'forbidden', needed: 'submitter' });
  });

  it('treat an object as another principal’s unless its owner is given', () => {
    expect(decidePermission('DELETE /v1/evaluations/{id}', callerOf('submitter'))).toEqual({ kind: 'forbidden', needed: 'operator' });
  });
});

describe('a route', () => {
  it.each([
    ['GET', '/v1/evaluations/:id', 'GET /v1/evaluations/{id}'],
    ['HEAD', '/v1/evaluations/:id', 'GET /v1/evaluations/{id}'],
    ['HEAD', '/v1/checkpoints/:sha256', 'HEAD /v1/checkpoints/{sha256}'],
    ['GET', '/docs/static/*', 'GET /docs'],
    ['GET', '/docs', 'GET /docs'],
  ])('%s %s is the call %s', (method, route, call) => {
    expect(findCall(method, route)).toBe(call);
  });

  it.each([
    ['GET', '/v1/checkpoints/:sha256'],
    ['POST', '/v1/evaluations/:id'],
    ['GET', '/docsx'],
    ['PUT', '/docs'],
    ['GET', '/constructor'],
    ['', ''],
  ])('%s %s is none', (method, route) => {
    expect(findCall(method, route)).toBeUndefined();
  });
});

function answer(call: Call, caller: Caller | undefined): Answer {
  const own = decidePermission(call, caller, 'me');
  const others = decidePermission(call, caller, 'somebody else');
  if (own.kind === 'unauthenticated') return '-';
  if (own.kind === 'forbidden') return 'no';
  return others.kind === 'allowed' ? 'yes' : 'own';
}

function callerOf(role: Role): Caller {
  return { principal: 'me', role, token: undefined };
}
