declare const brand: unique symbol;

/** One stream of groups for a training, for as long as it is stored. */
export type StreamId = string & { readonly [brand]: 'StreamId' };

const NAME = /^ro-[a-z0-9-]{1,60}$/;

export function isStreamId(text: string): text is StreamId {
  return NAME.test(text);
}

/** @throws RangeError when `text` is none. */
export function parseStreamId(text: string): StreamId {
  if (isStreamId(text)) return text;
  throw new RangeError(`the id of a stream is "ro-" and 1 to 60 lower-case letters, digits and "-", got "${text.slice(0, 200)}"`);
}

/** Returns a name that is unique among all groups: a trainer's ledger goes by it. */
export function nameGroup(stream: StreamId, number: number): string {
  return `${stream}.${number}`;
}

/** Names a trajectory of a group. @param rep its position, or nothing for what the names of all have in common. */
export function nameMember(group: string, rep: number | ''): string {
  return `${group}-${rep}`;
}

/** @returns the number of a group of this stream; undefined for what is none of its. */
export function parseGroupNumber(stream: StreamId, group: string): number | undefined {
  if (!group.startsWith(`${stream}.`)) return undefined;
  const number = group.slice(stream.length + 1);
  return /^(0|[1-9]\d{0,14})$/.test(number) ? Number(number) : undefined;
}
