import { findQuota, type Quota } from '../../service/access/quota.ts';
import { createSourceForCallers } from '../checkpoints/caller-checkpoints.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { getDigestHex } from '../../policy-distribution/checkpoint.ts';
import type { ServiceConfig } from '../../service/evaluation-service.ts';
import { createWebhooks, type Webhooks } from './webhook-sender.ts';

/** What a server looks up in the configuration in force at each use. Part of the composition root. */

interface InForce {
  readonly config: Config;
}

export function createLiveQuotas(inForce: InForce): (principal: string) => Quota {
  return (principal) => findQuota(inForce.config.quotas, principal);
}

/** Whether the configuration grants a principal the use of a checkpoint. */
export function createLiveGrants(inForce: InForce): (principal: string, digest: Digest) => boolean {
  const current = cacheBySetting(
    () => inForce.config.server.grants,
    (grants) => new Set(grants.map(({ principal, sha256 }) => `${principal} ${sha256}`)),
  );
  // Names of principals contain no spaces.
  return (principal, digest) => current().has(`${principal} ${getDigestHex(digest)}`) || current().has(`${principal} *`);
}

export function createLiveServiceConfig(inForce: InForce): ServiceConfig {
  return {
    get slots() {
      return inForce.config.server.concurrentEvaluations;
    },
    get ownershipMilliseconds() {
      return inForce.config.server.ownershipSeconds * 1000;
    },
    get pollMilliseconds() {
      return inForce.config.server.pollSeconds * 1000;
    },
    get reportMilliseconds() {
      return inForce.config.server.reportSeconds * 1000;
    },
    get retentionMilliseconds() {
      return inForce.config.server.retentionDays * 86_400_000;
    },
    get staleness() {
      return inForce.config.server.staleness;
    },
    get deliversWebhooks() {
      return getWebhookSecret(inForce) !== undefined;
    },
  };
}

/** Returns undefined when no webhooks are delivered. */
export function getWebhookSecret({ config }: InForce): string | undefined {
  return config.server.webhookSecret === '' ? undefined : config.server.webhookSecret;
}

/** Creates the sources that callers may name, decided again for each listing and each read. */
export function createLiveSource(inForce: InForce, clock: Clock): CheckpointSource {
  const current = cacheBySetting(
    () => inForce.config.sources,
    (sources) => createSourceForCallers({ sources }, clock),
  );
  return {
    list: (uri, options) => current().list(uri, options),
    read: (file, signal, buffer) => current().read(file, signal, buffer),
  };
}

export function createLiveWebhooks(inForce: InForce, clock: Clock): Webhooks {
  const current = cacheBySetting(
    () => inForce.config.webhooks,
    (webhooks) => createWebhooks({ webhooks }, clock),
  );
  return {
    assertUrl: (url) => current().assertUrl(url),
    sender: { post: (...sent) => current().sender.post(...sent) },
  };
}

/** Makes a new one whenever the setting has another value. */
function cacheBySetting<Setting, Made>(setting: () => Setting, make: (setting: Setting) => Made): () => Made {
  let last: { readonly setting: Setting; readonly made: Made } | undefined;
  return () => {
    const now = setting();
    if (last?.setting !== now) last = { setting: now, made: make(now) };
    return last.made;
  };
}
