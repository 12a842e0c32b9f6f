import type { OwnerId, SandboxId } from '../../../../kernel/ids.ts';
import { formatCanonicalJson, digestBytes } from '../../../../kernel/canonical-json.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { getPodPart } from '../settings/pod-template.ts';

/** Labels that name the owner of a pod. Every pod has them from its creation. */
export const MANAGED_BY = 'app.kubernetes.io/managed-by';
export const OWNER = 'muster.dev/owner';
export const SANDBOX = 'muster.dev/sandbox';
/** The pool that it belongs to: the name of its template. */
const POOL = 'muster.dev/pool';
/** Selected by the NetworkPolicy of deploy/. */
const NETWORK = 'muster.dev/network';
const TEMPLATE_DIGEST = 'muster.dev/template-digest';
const GENERATION = 'muster.dev/generation';

/** Version of the way in which pods are made of templates; increased when it changes, so that pods of two Musters can be told apart. */
const MANIFEST_GENERATION = '1';
/** A label's value has 63 characters at most; this much of a digest is unlike any other. */
const DIGEST_CHARACTERS = 16;
const NAME_MAX = 253;

/** Creates labels of a sandbox's own objects: its pod, its claim. */
export function createPodLabels(owner: OwnerId, sandbox: SandboxId, template: SandboxTemplate): Record<string, string> {
  return { ...createOwnerLabels(owner, template), [SANDBOX]: sandbox, [NETWORK]: buildNetworkLabel(template) };
}

/** Creates labels of an owner's objects that serve all sandboxes of a template. */
export function createOwnerLabels(owner: OwnerId, template: SandboxTemplate): Record<string, string> {
  return {
    [MANAGED_BY]: 'muster',
    [OWNER]: owner,
    [POOL]: template.name,
    [TEMPLATE_DIGEST]: digestBytes(formatCanonicalJson(template)).slice('sha256:'.length, 'sha256:'.length + DIGEST_CHARACTERS),
    [GENERATION]: MANIFEST_GENERATION,
  };
}

/** Creates labels of pods that are made before their sandbox and its program are known. */
export function createSharedPodLabels(template: SandboxTemplate): Record<string, string> {
  return { [MANAGED_BY]: 'muster', [NETWORK]: buildNetworkLabel(template), [POOL]: template.name, [GENERATION]: MANIFEST_GENERATION };
}

/** Builds the label by which a NetworkPolicy selects a pod. Pods that dial back can connect to Muster, if to nothing else. */
function buildNetworkLabel(template: SandboxTemplate): string {
  const pod = getPodPart(template);
  const network = pod?.network ?? 'none';
  return network === 'none' && pod?.transport.kind === 'dial-back' ? 'dial-back' : network;
}

export function formatOwnerSelector(owner: OwnerId): string {
  return `${MANAGED_BY}=muster,${OWNER}=${owner}`;
}

export const MANAGED_SELECTOR = `${MANAGED_BY}=muster`;

export function namePod(owner: OwnerId, sandbox: SandboxId): string {
  return `${owner}-${sandbox}`.slice(0, NAME_MAX);
}
