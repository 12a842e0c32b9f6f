import { userInfo } from 'node:os';
import { TokenService, type ListedToken, type TokenActions } from '../../service/access/token-service.ts';
import { RefusedError } from '../../faces/client/client-errors.ts';
import type { MusterClient } from '../../faces/client/muster-client.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError, MusterError } from '../../kernel/errors.ts';
import { parseTokenId } from '../../kernel/ids.ts';
import { readConfiguration } from '../configuration.ts';
import { createClient, type ServerAddress } from './server-client.ts';
import type { Token } from '../../faces/http/schemas/token-schemas.ts';
import { describeStore, openEvaluationStore } from '../stores.ts';

/** Creates, lists and revokes tokens, until it is closed. Part of the composition root. */
export interface OpenTokenService extends AsyncDisposable {
  readonly office: TokenActions;
  /** Says where the tokens are kept, for people: `in the store /srv/muster.db`. */
  readonly place: string;
  /** A hint at another meaning that the person may have had in mind. */
  readonly remark: string | undefined;
  /** Returns the time by its clock. */
  readonly now: () => Date;
}

/**
 * Opens the tokens of a running server, as an operator whose token is in MUSTER_TOKEN, or those in the store of a configuration.
 *
 * @param server its address; MUSTER_URL when left out, unless a configuration is named: a flag takes precedence over the environment. @throws as
 * `openStoredTokens` does.
 */
export async function openTokenService({ server: named, config, plainHttp = false }: ServerAddress): Promise<OpenTokenService> {
  const server = named ?? (config === undefined ? process.env['MUSTER_URL'] : undefined);
  if (server === undefined) return openStoredTokens(readConfiguration(config));
  return {
    office: createTokenActions(createClient({ server, plainHttp })),
    place: `at the server ${server}`,
    remark: undefined,
    now: () => systemClock.date(),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The remark for people who have an operator's token but do not name a server. */
const UNASKED = 'MUSTER_TOKEN is not used, as this is the store itself; set MUSTER_URL, or give --server, to ask a server';

/**
 * Access to the store suffices: there is no other way to the first token.
 *
 * @throws InputError `store.in-use` when the store is a file that a server has open.
 */
async function openStoredTokens(config: Pick<Config, 'store'>): Promise<OpenTokenService> {
  const store = await openEvaluationStore(config, systemClock).catch((error: unknown) => {
    if (!(error instanceof MusterError) || error.code !== 'store.in-use') throw error;
    const ask = 'or ask the server that has it: --server URL, with the token of an operator in MUSTER_TOKEN';
    throw new InputError(error.code, `${error.message}; ${ask}`, { cause: error });
  });
  return {
    place: `in ${describeStore(config.store.url)}`,
    remark: process.env['MUSTER_TOKEN'] === undefined ? undefined : UNASKED,
    office: new TokenService(store, systemClock, `command-line:${getAccountName()}`),
    now: () => systemClock.date(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Containers may run under user ids without an account. */
export function getAccountName(account: () => { readonly username: string } = userInfo): string {
  try {
    return account().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function createTokenActions(client: MusterClient): TokenActions {
  return {
    async issue({ principal, role, lifetimeMs }) {
      const lifetime = lifetimeMs === undefined ? {} : { lifetimeSeconds: Math.ceil(lifetimeMs / 1000) };
      const { token: text, ...made } = await callAsOperator(client.createToken({ principal, role, ...lifetime }));
      return { token: toListedToken(made), text };
    },
    async list({ after }) {
      const { items, next } = await callAsOperator(client.tokens(after));
      return { items: items.map(toListedToken), next: next ?? undefined };
    },
    revoke: async (id) => toListedToken(await callAsOperator(client.revokeToken(id))),
  };
}

/** The first token cannot come from a server. */
async function callAsOperator<T>(call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    if (!(error instanceof RefusedError) || error.reason !== 'unauthorized') throw error;
    const first = 'muster token create NAME --role operator --config FILE';
    throw new InputError(
      error.code,
      `${error.message}\nThe first token of an operator is made where the store is, with the server stopped: ${first}`,
    );
  });
}

function toListedToken({ id, principal, role, createdAt, expiresAt, revokedAt }: Token): ListedToken {
  return {
    id: parseTokenId(id),
    principal,
    role,
    createdAt: new Date(createdAt),
    expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
    revokedAt: revokedAt === null ? undefined : new Date(revokedAt),
  };
}
