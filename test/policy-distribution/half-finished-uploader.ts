import { join } from 'node:path';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseDigest } from '../../src/kernel/ids.ts';
import { CheckpointStore } from '../../src/policy-distribution/store/checkpoint-store.ts';
import { Uploads } from '../../src/policy-distribution/uploads/uploads.ts';

/** Started as a process of its own, to be killed: it takes in what comes on its standard input, as a part of an upload that never ends. */
const [directory = '', digest = ''] = process.argv.slice(2);
const limits = { maxBytes: 10_000, maxFiles: 10, unfinishedMs: 86_400_000 };
const store = await CheckpointStore.open({ directory: join(directory, 'store'), limits, clock: systemClock });
const uploads = await Uploads.open(join(directory, 'uploads'), store, limits, systemClock);
const content = { kind: 'file', name: 'policy.bin' } as const;
const upload = { digest: parseDigest(digest), uploader: 'pipeline', content, usable: async () => new Set<never>() };
const part = { ...upload, offset: 0, size: 5000, bytes: process.stdin };
await uploads.append(part, new AbortController().signal);
