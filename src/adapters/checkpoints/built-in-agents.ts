import { BUILT_IN_AGENTS } from '../../agents/acting/agent.ts';
import { InputError } from '../../kernel/errors.ts';
import type { CheckpointSource, ListedFile } from '../../policy-distribution/checkpoint-source.ts';

const SCHEME = 'agent:';

/** Formats `oracle` as a URI: `agent:oracle`. */
export function formatBuiltInAgentUri(name: string): string {
  return `${SCHEME}${name}`;
}

/** Agents that need no file: each is stored as the file with the same meaning. */
export const builtInAgents: CheckpointSource = {
  async list(uri) {
    const name = uri.slice(SCHEME.length);
    const size = getText(name).length;
    const file: ListedFile = { path: `${name}.agent.json`, size, address: uri, revision: 'built-in', isSettled: true };
    return { kind: 'file', files: [file] };
  },
  async *read({ address }) {
    yield getText(address.slice(SCHEME.length));
  },
};

/** @throws InputError `agent.unknown` */
function getText(name: string): Buffer<ArrayBuffer> {
  const agent = BUILT_IN_AGENTS.get(name);
  if (agent) return Buffer.from(`${JSON.stringify(agent)}\n`);
  const known = [...BUILT_IN_AGENTS.keys()].map(formatBuiltInAgentUri).join(' or ');
  throw new InputError('agent.unknown', `there is no agent "${name.slice(0, 100)}"; expected ${known}, or a file`);
}
