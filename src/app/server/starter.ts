import { LOCAL_CALLER } from '../../service/access/caller.ts';
import { mintBearerToken } from '../../service/access/bearer-token.ts';
import type { Config } from '../../config/config.ts';
import type { StoredToken } from '../../evaluation-store/tokens.ts';
import { identifyByToken, type Identify } from '../../faces/http/requests/identify.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import type { TokenId } from '../../kernel/ids.ts';

/** The program that started a server for itself alone. Its evaluations are played as those of `muster eval` are. */
export interface Starter {
  /** The only token that the server accepts. */
  readonly token: string;
  readonly identify: Identify;
}

export function createStarter(): Starter {
  const token = mintBearerToken();
  const known: StoredToken = { ...token, ...LOCAL_CALLER, createdAt: systemClock.date(), expiresAt: undefined, revokedAt: undefined };
  const tokens = { find: async (id: TokenId) => (id === token.id ? known : undefined) };
  return { token: token.text, identify: identifyByToken(tokens, systemClock) };
}

/** Listens on a free port of loopback; at the end it releases running evaluations at once. @throws InputError `serve.child`. */
export function toChildConfig(config: Config): Config {
  const { server } = config;
  if (server.access === 'tokens') {
    throw new InputError('serve.child', 'with --child the server accepts only the token that it makes; leave server.access at "off"');
  }
  return { ...config, server: { ...server, host: '127.0.0.1', port: 0, drainSeconds: 0 } };
}
