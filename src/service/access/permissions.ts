import { ROLES, type Role } from '../../evaluation-store/tokens.ts';
import type { Caller } from './caller.ts';

/** The least role that a call takes. For another principal's data a call may take more. */
export type Need = 'anyone' | Role | { readonly own: Role; readonly others: Role };

/**
 * The role that each call needs. A call that is not listed here is refused. Every token may read the evaluations of all principals, so that results
 * can be compared.
 */
export const NEEDS = {
  // Load balancers use these, and people before they sign in. None of them reveals evaluations.
  'GET /healthz': 'anyone',
  'GET /readyz': 'anyone',
  'GET /openapi.json': 'anyone',
  'GET /docs': 'anyone',
  // The page itself holds no data: it requests them as its reader.
  'GET /': 'anyone',
  'DELETE /v1/session': 'anyone',
  'GET /v1/session': 'viewer',
  'POST /v1/session': 'viewer',
  'GET /v1/live': 'viewer',
  'GET /metrics': 'viewer',
  'HEAD /v1/checkpoints/{sha256}': 'viewer',
  'PUT /v1/checkpoints/{sha256}': 'submitter',
  'GET /v1/checkpoints/{sha256}/grants': 'submitter',
  'POST /v1/checkpoints/{sha256}/grants': 'submitter',
  'DELETE /v1/checkpoints/{sha256}/grants/{principal}': 'submitter',
  'POST /v1/evaluations': 'submitter',
  'GET /v1/evaluations': 'viewer',
  'GET /v1/evaluations/{id}': 'viewer',
  'GET /v1/evaluations/{id}/events': 'viewer',
  'GET /v1/evaluations/{id}/episodes': 'viewer',
  'GET /v1/evaluations/{id}/transcripts/{index}': 'viewer',
  'GET /v1/evaluations/{id}/playing': 'viewer',
  'GET /v1/evaluations/{id}/report': 'viewer',
  // It takes a sandbox, and shows what the environment shows.
  'POST /v1/evaluations/{id}/replays': { own: 'submitter', others: 'operator' },
  'DELETE /v1/evaluations/{id}': { own: 'submitter', others: 'operator' },
  'POST /v1/comparisons': 'submitter',
  // Episodes of agents are their principal's alone; operators see all.
  'POST /v1/episodes': 'submitter',
  'GET /v1/episodes': 'viewer',
  'GET /v1/episodes/{id}': 'viewer',
  'DELETE /v1/episodes/{id}': 'submitter',
  'POST /v1/episodes/{id}/steps': 'submitter',
  'GET /v1/episodes/{id}/steps': 'viewer',
  'GET /v1/episodes/{id}/reward': 'viewer',
  'GET /v1/episodes/{id}/events': 'viewer',
  'POST /v1/episodes/{id}/fork': 'submitter',
  'GET /v1/episodes/{id}/files': 'viewer',
  'GET /v1/episodes/{id}/files/content': 'viewer',
  'GET /v1/episodes/{id}/diff': 'viewer',
  // Streams belong to their principal alone, and so do the policies whose versions it reports.
  'POST /v1/rollouts': 'submitter',
  'GET /v1/rollouts': 'viewer',
  'GET /v1/rollouts/{id}': 'viewer',
  'GET /v1/rollouts/{id}/board': 'viewer',
  'GET /v1/rollouts/{id}/events': 'viewer',
  'DELETE /v1/rollouts/{id}': 'submitter',
  // It leases a group, which no other caller gets meanwhile.
  'GET /v1/rollouts/{id}/groups': 'submitter',
  'POST /v1/rollouts/{id}/ack': 'submitter',
  'POST /v1/policies/{name}/versions': 'submitter',
  // The same for agents that are written for a Gym-style API. Asking for the reward submits.
  'POST /episodes': 'submitter',
  'POST /episodes/{id}/steps': 'submitter',
  'GET /episodes/{id}/reward': 'submitter',
  // The same as tools of the Model Context Protocol, and for clients of OpenEnv.
  'POST /mcp': 'submitter',
  'GET /openenv': 'viewer',
  'GET /openenv/{task}/ws': 'submitter',
  'GET /openenv/{task}/metadata': 'viewer',
  'GET /openenv/{task}/schema': 'viewer',
  'GET /openenv/{task}/health': 'viewer',
  'GET /openenv/{task}/state': 'viewer',
  'POST /openenv/{task}/reset': 'submitter',
  'POST /openenv/{task}/step': 'submitter',
  'POST /openenv/{task}/mcp': 'submitter',
  'GET /v1/suites/{name}': 'viewer',
  'GET /v1/pools': 'viewer',
  'PATCH /v1/pools/{name}': 'operator',
  'GET /v1/tokens': 'operator',
  'POST /v1/tokens': 'operator',
  'DELETE /v1/tokens/{id}': 'operator',
  'GET /v1/audit': 'operator',
  'GET /v1/quotas': 'operator',
} as const satisfies Readonly<Record<string, Need>>;

export type Call = keyof typeof NEEDS;

/**
 * Finds the call of a route, so that routes can be checked against this table.
 *
 * @param route as fastify writes it: `/v1/evaluations/:id`. @returns undefined when there is no such call.
 */
export function findCall(method: string, route: string): Call | undefined {
  const path = isOfPage(route) ? '/' : /^\/docs(\/|$)/.test(route) ? '/docs' : route.replace(/:(\w+)/g, '{$1}');
  const call = `${method} ${path}`;
  if (isCall(call)) return call;
  // What may be read may be requested without its body.
  return method === 'HEAD' ? findCall('GET', route) : undefined;
}

/** The page is the same at each address and shows what its address says. */
function isOfPage(route: string): boolean {
  return /^\/(page|evaluations|runs|compare|pools|access|agents|batches|rollouts)(\/|$)/.test(route);
}

function isCall(text: string): text is Call {
  return Object.hasOwn(NEEDS, text);
}

export type Permission =
  | { readonly kind: 'allowed' }
  /** The caller is unknown. */
  | { readonly kind: 'unauthenticated' }
  /** The caller is known, and this takes more. */
  | { readonly kind: 'forbidden'; readonly needed: Role };

/** @param caller undefined when the caller is unknown. @param owner principal that owns the resource; another one when left out. */
export function decidePermission(call: Call, caller: Caller | undefined, owner?: string): Permission {
  const need: Need = NEEDS[call];
  if (need === 'anyone') return { kind: 'allowed' };
  if (!caller) return { kind: 'unauthenticated' };
  const needed = typeof need === 'string' ? need : need[caller.principal === owner ? 'own' : 'others'];
  return rank(caller.role) >= rank(needed) ? { kind: 'allowed' } : { kind: 'forbidden', needed };
}

function rank(role: Role): number {
  return ROLES.indexOf(role);
}
