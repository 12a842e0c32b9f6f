import { expect } from 'vitest';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import type { Digest } from '../../../src/kernel/ids.ts';
import type { Case } from '../evaluation-store.ts';

const [WEIGHTS, OTHER] = [digestBytes('weights'), digestBytes('other weights')];

async function mayUse({ rights }: EvaluationStore, principal: string, digest: Digest = WEIGHTS): Promise<boolean> {
  return (await rights.findUsable(principal, [digest])).has(digest);
}

export const checkpointRights: Readonly<Record<string, Case>> = {
  async 'a checkpoint may be used by those who brought it, each under its own name for it, also when the store is opened again'({ open }) {
    await (async () => {
      await using store = await open();
      expect(await mayUse(store, 'pipeline')).toBe(false);
      await store.rights.bring([
        { principal: 'pipeline', digest: WEIGHTS, kind: 'file', name: 'policy.onnx' },
        { principal: 'pipeline', digest: OTHER, kind: 'directory', name: undefined },
      ]);
      await store.rights.bring([{ principal: 'researcher', digest: WEIGHTS, kind: 'file', name: 'policy.pt' }]);
    })();
    await using store = await open();
    const names = (principal: string): Promise<unknown> => store.rights.findUsable(principal, [WEIGHTS, OTHER]);
    const both = new Map([
      [WEIGHTS, { kind: 'file', name: 'policy.onnx' }] as const,
      [OTHER, { kind: 'directory', name: undefined }] as const,
    ]);
    expect(await names('pipeline')).toEqual(both);
    expect(await names('researcher')).toEqual(new Map([[WEIGHTS, { kind: 'file', name: 'policy.pt' }]]));
    expect(await names('nobody')).toEqual(new Map());
    expect([await store.rights.hasBrought('pipeline', OTHER), await store.rights.hasBrought('researcher', OTHER)]).toEqual([true, false]);
  },

  async 'of what is brought again the latest kind and name count, and it stays as old as it is'({ open, clock }) {
    await using store = await open();
    const bring = async (kind: 'file' | 'directory', name: string | undefined, principal = 'pipeline'): Promise<void> => {
      await store.rights.bring([{ principal, digest: WEIGHTS, kind, name }]);
      await clock.advance(1000);
    };
    await bring('file', 'policy.onnx');
    await bring('file', 'zoo.pt', 'archive');
    await bring('directory', undefined);
    expect((await store.rights.findUsable('pipeline', [WEIGHTS])).get(WEIGHTS)).toEqual({ kind: 'directory', name: undefined });
    await bring('file', 'policy.safetensors');
    expect((await store.rights.findUsable('pipeline', [WEIGHTS])).get(WEIGHTS)).toEqual({ kind: 'file', name: 'policy.safetensors' });
    expect(await store.rights.findFirstBrought(WEIGHTS)).toEqual({ kind: 'file', name: 'policy.safetensors' });
    expect(await store.rights.findFirstBrought(OTHER)).toBeUndefined();
  },

  async 'of very many digests those are found that the principal may use'({ open }) {
    await using store = await open();
    const digests = Array.from({ length: 1203 }, (_, i) => digestBytes(`file ${i}`));
    const own = digests.filter((_, i) => i % 3 === 0);
    await store.rights.bring(own.map((digest) => ({ principal: 'pipeline', digest, kind: 'file', name: 'x.bin' })));
    await store.rights.bring(digests.map((digest) => ({ principal: 'researcher', digest, kind: 'file', name: 'x.bin' })));
    expect([...(await store.rights.findUsable('pipeline', digests)).keys()].sort()).toEqual([...own].sort());
    expect(await store.rights.findUsable('pipeline', [])).toEqual(new Map());
  },

  async 'a grant lets one principal use one checkpoint, under the name of who granted it, until it is taken back'({ open, clock }) {
    await using store = await open();
    await store.rights.bring([{ principal: 'pipeline', digest: WEIGHTS, kind: 'file', name: 'policy.onnx' }]);
    const grant = { digest: WEIGHTS, principal: 'eval-team', grantedBy: 'pipeline' };
    const given = await store.rights.grant(grant);
    expect(given).toEqual({ ...grant, at: clock.date() });
    await clock.advance(1000);
    expect(await store.rights.grant(grant)).toEqual(given);
    expect((await store.rights.findUsable('eval-team', [WEIGHTS, OTHER])).get(WEIGHTS)).toEqual({ kind: 'file', name: 'policy.onnx' });
    expect([await mayUse(store, 'eval-team', OTHER), await mayUse(store, 'other-team')]).toEqual([false, false]);
    expect(await store.rights.hasBrought('eval-team', WEIGHTS)).toBe(false);
    expect(await store.rights.revoke(WEIGHTS, 'eval-team', 'pipeline')).toEqual([given]);
    expect(await mayUse(store, 'eval-team')).toBe(false);
    expect(await store.rights.revoke(WEIGHTS, 'eval-team', 'pipeline')).toEqual([]);
    expect(await mayUse(store, 'pipeline')).toBe(true);
  },

  async 'of two who granted the same, each takes back its own, and an operator both'({ open }) {
    await using store = await open();
    await store.rights.bring([{ principal: 'pipeline', digest: WEIGHTS, kind: 'file', name: 'policy.onnx' }]);
    for (const grantedBy of ['pipeline', 'archive']) await store.rights.grant({ digest: WEIGHTS, principal: 'eval-team', grantedBy });
    await store.rights.grant({ digest: WEIGHTS, principal: 'auditor', grantedBy: 'pipeline' });
    const listed = async (limit = 10): Promise<readonly string[]> =>
      (await store.rights.listGrants(WEIGHTS, limit)).map(({ principal, grantedBy }) => `${principal} by ${grantedBy}`);
    expect(await listed()).toEqual(['auditor by pipeline', 'eval-team by archive', 'eval-team by pipeline']);
    expect(await listed(2)).toHaveLength(2);
    expect(await store.rights.listGrants(WEIGHTS, 10, 'archive')).toMatchObject([{ principal: 'eval-team', grantedBy: 'archive' }]);
    await store.rights.revoke(WEIGHTS, 'eval-team', 'pipeline');
    expect(await mayUse(store, 'eval-team')).toBe(true);
    await store.rights.grant({ digest: WEIGHTS, principal: 'eval-team', grantedBy: 'pipeline' });
    expect(await store.rights.revoke(WEIGHTS, 'eval-team')).toHaveLength(2);
    expect([await mayUse(store, 'eval-team'), await mayUse(store, 'auditor')]).toEqual([false, true]);
  },

  async 'what one has brought stays its own whatever was granted and taken back'({ open }) {
    await using store = await open();
    await store.rights.bring([
      { principal: 'pipeline', digest: WEIGHTS, kind: 'file', name: 'policy.onnx' },
      { principal: 'eval-team', digest: WEIGHTS, kind: 'file', name: 'same.onnx' },
    ]);
    await store.rights.grant({ digest: WEIGHTS, principal: 'eval-team', grantedBy: 'pipeline' });
    expect((await store.rights.findUsable('eval-team', [WEIGHTS])).get(WEIGHTS)).toEqual({ kind: 'file', name: 'same.onnx' });
    await store.rights.revoke(WEIGHTS, 'eval-team');
    expect(await mayUse(store, 'eval-team')).toBe(true);
  },

  async 'what an operator grants, who has not brought it, is used as it was first brought'({ open, clock }) {
    await using store = await open();
    await store.rights.bring([{ principal: 'zoo', digest: WEIGHTS, kind: 'file', name: 'first.onnx' }]);
    await clock.advance(1000);
    await store.rights.bring([{ principal: 'archive', digest: WEIGHTS, kind: 'file', name: 'second.onnx' }]);
    await store.rights.grant({ digest: WEIGHTS, principal: 'eval-team', grantedBy: 'admin' });
    expect((await store.rights.findUsable('eval-team', [WEIGHTS])).get(WEIGHTS)).toEqual({ kind: 'file', name: 'first.onnx' });
    await store.rights.grant({ digest: OTHER, principal: 'eval-team', grantedBy: 'admin' });
    expect(await mayUse(store, 'eval-team', OTHER)).toBe(false);
  },
};
