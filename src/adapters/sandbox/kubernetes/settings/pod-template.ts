import type { FetchWay } from '../../../../kernel/fetching.ts';
import type { SandboxTemplate } from '../../../../pool/ports/template.ts';

/** The part of a template for sandboxes that are pods: where the pods run, and what they are made of. */
export interface PodTemplate extends PodLocation {
  /** Has the runner, what it imports, and a POSIX shell with `cat`, `wc`, `mkdir`, `mv` and `chmod`. */
  readonly image: string;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Names of secrets in the namespace. */
  readonly imagePullSecrets: readonly string[];
  /** `origin`: where checkpoints are fetched from, and nothing else. `cluster`: all that pods of the namespace reach. */
  readonly network: 'none' | 'origin' | 'cluster';
  /** It is left out where Muster sends all files. */
  readonly fetching?: PodFetching | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly PodToleration[];
  readonly runtimeClassName?: string | undefined;
  readonly priorityClassName?: string | undefined;
  /** The scheduler's reservation for a pod, as a share of its limits: above 0, at most 1. */
  readonly requestedShare: number;
  /** How long a pod may wait for a node to have room before its creation counts as failed. */
  readonly unschedulableSeconds: number;
  /** How Muster and the programs in a pod communicate. */
  readonly transport: PodTransport;
}

/** The provider's part of a template. */
export class PodPart {
  readonly pod: PodTemplate;

  constructor(pod: PodTemplate) {
    this.pod = pod;
  }
}

/** Returns undefined when the template was made for another provider. */
export function getPodPart({ providerPart }: SandboxTemplate): PodTemplate | undefined {
  return providerPart instanceof PodPart ? providerPart.pod : undefined;
}

/**
 * `exec` and `attach` go through the API server: `exec` starts the program beside the first process; with `attach` the program is the first process.
 */
export type PodTransport = { readonly kind: 'exec' | 'attach' } | DialBackSettings;

/** Containers connect to Muster. */
export interface DialBackSettings {
  readonly kind: 'dial-back';
  /** The provider whose settings these are, for errors. */
  readonly provider: string;
  /** The address on which Muster listens. Port 0 means any free port. */
  readonly host: string;
  readonly port: number;
  /** How pods reach it: `ws://` or `wss://`, a host and a port; port 0 means the one on which Muster listens. */
  readonly advertise?: string | undefined;
  /** PEM files with which Muster serves TLS. Without them a proxy in front of it may. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** File of PEM: whose certificates pods trust; the certificate itself, or what the image trusts, where this is left out. */
  readonly authority?: string | undefined;
  /** Whether `ws://` to another machine is allowed. */
  readonly plaintext: 'refused' | 'allowed';
  /** The interpreter and the dialler, as paths in the image. */
  readonly python: string;
  readonly dialler: string;
}

/** The place where pods are made. */
export interface PodLocation {
  /** Path of a kubeconfig; `auto`: $KUBECONFIG, ~/.kube/config, or the service account of the pod that Muster runs in. */
  readonly kubeconfig: string;
  /** A context of the kubeconfig; its current one when left out. */
  readonly context?: string | undefined;
  readonly namespace: string;
  /** Requests to the API server, at most. */
  readonly requestsPerSecond: number;
  /** Claimed from SIG agent-sandbox; Muster makes the pods itself where this is left out. */
  readonly claims?: ClaimSettings | undefined;
}

/** A SandboxWarmPool of the namespace; or the number of pods that Muster's own pool keeps ready, besides claimed ones. */
export type ClaimSettings = { readonly warmPool: string } | { readonly replicas: number };
/** How a pod, or its node, fetches files. */
export interface PodFetching {
  /** Ways of fetching, the cheapest first. */
  readonly ways: readonly FetchWay[];
  /** Reads an order on its input, in the container that may write the inbox, and in those of nodes' caches. */
  readonly command: readonly string[];
  /** It is undefined where the nodes have no caches. */
  readonly nodeCache?: NodeCacheTemplate | undefined;
}

/** The caches of nodes, as deploy/kubernetes/node-cache sets them up. */
export interface NodeCacheTemplate {
  /** The namespace of the pods with the caches. */
  readonly namespace: string;
  /** The claim, in the sandboxes' namespace, of a volume that is the node's cache on each node. */
  readonly claim: string;
}

export interface PodToleration {
  readonly key?: string | undefined;
  readonly operator?: 'Exists' | 'Equal' | undefined;
  readonly value?: string | undefined;
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute' | undefined;
  readonly tolerationSeconds?: number | undefined;
}
