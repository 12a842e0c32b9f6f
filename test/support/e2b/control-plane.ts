import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Account, Tenant } from './account.ts';
import { answer, jsonBody, Refusal } from './wire.ts';

const createSchema = z.object({
  templateID: z.string(),
  timeout: z.number().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  autoPause: z.boolean().optional(),
  network: z.object({ allowOut: z.array(z.string()).default([]), denyOut: z.array(z.string()).default([]) }).optional(),
});
const timeoutSchema = z.object({ timeout: z.number() });

/** What the service takes when nothing is said. */
const DEFAULT_SECONDS = 15;
const PAGE_MOST = 100;
export const ENVD_VERSION = '0.6.13';

type Call = (account: Account, request: IncomingMessage, response: ServerResponse, id: string, url: URL) => Promise<void> | void;

/** E2B's HTTP API, as far as the SDK's sandboxes need it; keys are the method and the path without the id. */
export const CONTROL_PLANE: Readonly<Record<string, Call>> = {
  'POST /v2/sandboxes': async (account, request, response) => {
    const { templateID, timeout = DEFAULT_SECONDS, metadata = {}, network } = await jsonBody(request, createSchema);
    answer(response, 201, created(account.create(templateID, timeout, metadata, network?.allowOut)));
  },

  'GET /v2/sandboxes': (account, _request, response, _id, url) => {
    const wanted = metadataOf(url.searchParams.get('metadata'));
    const states = url.searchParams.get('state')?.split(',') ?? ['running', 'paused'];
    const matching = account.tenants.filter(
      ({ metadata, state }) => states.includes(state) && wanted.every(([key, value]) => metadata[key] === value),
    );
    const limit = Math.min(PAGE_MOST, Number(url.searchParams.get('limit') ?? PAGE_MOST));
    const from = Number(Buffer.from(url.searchParams.get('nextToken') ?? '', 'base64url').toString() || 0);
    const page = matching.slice(from, from + limit);
    const next = from + limit < matching.length ? { 'x-next-token': Buffer.from(String(from + limit)).toString('base64url') } : {};
    answer(response, 200, page.map(listed), next);
  },

  'GET /sandboxes/{}': (account, _request, response, id) => answer(response, 200, listed(account.tenant(id))),

  'DELETE /sandboxes/{}': async (account, _request, response, id) => {
    await account.end(account.tenant(id));
    answer(response, 204);
  },

  'POST /sandboxes/{}/timeout': async (account, request, response, id) => {
    account.extend(account.running(id), (await jsonBody(request, timeoutSchema)).timeout);
    answer(response, 204);
  },

  'POST /v2/sandboxes/{}/connect': async (account, request, response, id) => {
    const { timeout } = await jsonBody(request, timeoutSchema);
    const tenant = account.tenant(id);
    const wasPaused = tenant.state === 'paused';
    account.resume(tenant, timeout);
    answer(response, wasPaused ? 201 : 200, created(tenant));
  },

  'POST /sandboxes/{}/pause': (account, _request, response, id) => {
    const tenant = account.tenant(id);
    if (tenant.state === 'paused') throw new Refusal(409, `Error pausing sandbox - sandbox '${id}' is already paused`);
    account.pause(tenant);
    answer(response, 204);
  },

  'GET /templates/aliases/{}': (account, _request, response, id) => {
    if (!account.templates.includes(id)) throw new Refusal(404, `template '${id}' not found`);
    answer(response, 200, { templateID: id, public: false });
  },
};

function created({ id, templateId }: Tenant): object {
  return { sandboxID: id, templateID: templateId, clientID: 'simulator', envdVersion: ENVD_VERSION, envdAccessToken: `token-${id}` };
}

function listed({ id, templateId, metadata, state, startedAt, endsAt }: Tenant): object {
  return {
    ...created({ id, templateId, metadata, state, startedAt, endsAt }),
    metadata,
    state,
    startedAt: startedAt.toISOString(),
    endAt: endsAt.toISOString(),
    cpuCount: 2,
    memoryMB: 512,
  };
}

/** The SDK encodes keys and values, and then the whole again. */
function metadataOf(written: string | null): [string, string][] {
  return [...new URLSearchParams(written ?? '')].map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)]);
}
