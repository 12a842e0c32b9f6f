import { parseSandboxId, type SandboxId } from '../../../kernel/ids.ts';

const POLICY_SUFFIX = '-policy';

/** The id of the policy's part of a sandbox. It names directory and control group, so a sweep can tell them from others. */
export function derivePolicyId(id: SandboxId): SandboxId {
  return parseSandboxId(`${id}${POLICY_SUFFIX}`);
}

/** The id under which the pool knows the sandbox, given that of either part. */
export function getWholeId(id: SandboxId): SandboxId {
  return id.endsWith(POLICY_SUFFIX) ? parseSandboxId(id.slice(0, -POLICY_SUFFIX.length)) : id;
}
