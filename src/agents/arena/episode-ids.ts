declare const brand: unique symbol;

export type AgentEpisodeId = string & { readonly [brand]: 'AgentEpisodeId' };

const NAME = /^ep-[a-z0-9-]{1,60}$/;

export function isAgentEpisodeId(text: string): text is AgentEpisodeId {
  return NAME.test(text);
}

/** @throws RangeError when `text` is no such id. */
export function parseAgentEpisodeId(text: string): AgentEpisodeId {
  if (isAgentEpisodeId(text)) return text;
  throw new RangeError(`an episode id is "ep-" and 1 to 60 lower-case letters, digits and "-", got "${text.slice(0, 200)}"`);
}
