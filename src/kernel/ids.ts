/** Branded ids, so that the compiler keeps them apart. Each is a string or number at run time, and only the functions here create one. */
declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = Branded<string, 'Digest'>;
/** Position of an episode in its suite: 0, 1, 2, … It alone decides the task and the seeds. */
export type EpisodeIndex = Branded<number, 'EpisodeIndex'>;
/** One Muster process, from start to end. */
export type OwnerId = Branded<string, 'OwnerId'>;
export type SandboxId = Branded<string, 'SandboxId'>;
export type LeaseId = Branded<string, 'LeaseId'>;
/** One accepted evaluation or comparison, for as long as it is stored. */
export type EvaluationId = Branded<string, 'EvaluationId'>;
/** One bearer token. The id is a part of the token's text and no secret. */
export type TokenId = Branded<string, 'TokenId'>;

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function isDigest(text: string): text is Digest {
  return DIGEST.test(text);
}

/** @throws RangeError when `text` is no digest. */
export function parseDigest(text: string): Digest {
  if (isDigest(text)) return text;
  throw new RangeError(`expected "sha256:" and 64 hexadecimal digits, got "${text}"`);
}

function isEpisodeIndex(value: number): value is EpisodeIndex {
  return Number.isSafeInteger(value) && value >= 0;
}

/** @throws RangeError when `value` is no whole number from 0 on. */
export function parseEpisodeIndex(value: number): EpisodeIndex {
  if (isEpisodeIndex(value)) return value;
  throw new RangeError(`an episode index is a whole number from 0 on, got ${value}`);
}

function isOwnerId(text: string): text is OwnerId {
  return NAME.test(text);
}

function isSandboxId(text: string): text is SandboxId {
  return NAME.test(text);
}

function isLeaseId(text: string): text is LeaseId {
  return NAME.test(text);
}

function isEvaluationId(text: string): text is EvaluationId {
  return NAME.test(text);
}

function isTokenId(text: string): text is TokenId {
  return NAME.test(text);
}

/** @throws RangeError when `text` is not 1 to 63 lower-case letters, digits and "-". */
export function parseOwnerId(text: string): OwnerId {
  if (isOwnerId(text)) return text;
  throw nameError('owner id', text);
}

/** @throws RangeError as `parseOwnerId` does. */
export function parseSandboxId(text: string): SandboxId {
  if (isSandboxId(text)) return text;
  throw nameError('sandbox id', text);
}

/** @throws RangeError as `parseOwnerId` does. */
export function parseLeaseId(text: string): LeaseId {
  if (isLeaseId(text)) return text;
  throw nameError('lease id', text);
}

/** @throws RangeError as `parseOwnerId` does. */
export function parseEvaluationId(text: string): EvaluationId {
  if (isEvaluationId(text)) return text;
  throw nameError('evaluation id', text);
}

/** @throws RangeError as `parseOwnerId` does. */
export function parseTokenId(text: string): TokenId {
  if (isTokenId(text)) return text;
  throw nameError('token id', text);
}

function nameError(kind: string, text: string): RangeError {
  return new RangeError(`a ${kind} is 1 to 63 lower-case letters, digits and "-", got "${text}"`);
}
