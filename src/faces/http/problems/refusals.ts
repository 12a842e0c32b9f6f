import type { Caller } from '../../../service/access/caller.ts';
import { decidePermission, type Call } from '../../../service/access/permissions.ts';
import { InputError } from '../../../kernel/errors.ts';

/** The caller is unknown: `access.missing`, `access.malformed`, `access.unknown`, `access.expired`, `access.revoked`. */
export class UnauthenticatedError extends InputError {}

/** The caller may not do this: `access.forbidden`, `access.not-local`, `access.foreign-page`, `access.no-such-call`. */
export class ForbiddenError extends InputError {}

/** `request.method`: the path takes others. */
export class MethodNotAllowedError extends InputError {
  readonly allowed: readonly string[];

  constructor(asked: string, allowed: readonly string[]) {
    super('request.method', `there is no ${asked}; the path takes ${allowed.join(', ')}`);
    this.allowed = allowed;
  }
}

/** The caller asked for too much at a time, or within a time. */
export class TooManyRequestsError extends InputError {
  readonly retryAfterSeconds: number;

  constructor(code: 'request.too-many' | 'access.too-many' | 'stream.too-many', message: string, retryAfterSeconds: number) {
    super(code, message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** @param owner principal that owns the resource; another one when left out. @throws ForbiddenError, UnauthenticatedError */
export function assertPermitted(call: Call, caller: Caller | undefined, owner?: string): void {
  const decision = decidePermission(call, caller, owner);
  switch (decision.kind) {
    case 'allowed':
      return;
    case 'unauthenticated':
      throw new UnauthenticatedError(
        'access.missing',
        `${call} needs a token: set MUSTER_TOKEN for muster commands and clients, or send the header "Authorization: Bearer muster_…"`,
      );
    case 'forbidden': {
      const whose = owner === undefined || owner === caller?.principal ? '' : ` for what is ${owner}'s`;
      throw new ForbiddenError(
        'access.forbidden',
        `${call} needs the role ${decision.needed}${whose}, and the token of ${caller?.principal} has the role ${caller?.role}; ask an operator`,
      );
    }
  }
}
