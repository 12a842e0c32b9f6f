import { z } from 'zod';
import { isPathOrUrl, STORE_URL_EXPECTED } from '../kernel/documents/store-url.ts';
import { byteSizeSchema } from './byte-size.ts';

/**
 * What a server with many callers needs: where evaluations are stored, each caller's quotas, and what callers may have the server fetch.
 */

export const storeSchema = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(4096)
      .refine(isPathOrUrl, `expected ${STORE_URL_EXPECTED}`)
      .describe('"auto": the file muster.db in stateDir; a path of another file; or postgresql://user:password@host:port/database'),
  })
  .describe('where evaluations, tokens and the audit are kept');

const UNLIMITED = z.literal('unlimited');
const countOrUnlimited = z.union([UNLIMITED, z.int().min(0).max(Number.MAX_SAFE_INTEGER)], {
  error: 'expected "unlimited" or a whole number from 0 on',
});
const bytesOrUnlimited = z.union([UNLIMITED, byteSizeSchema], {
  error: 'expected "unlimited", a number of bytes of at least 1, or one with its unit, such as "512MiB" or "1.5GB"',
});

const quotaSchema = z
  .strictObject({
    concurrentEpisodes: countOrUnlimited.describe('episodes of all evaluations of the principal that are played at the same time'),
    waitingEvaluations: countOrUnlimited.describe('evaluations that are accepted and not begun'),
    checkpointBytes: bytesOrUnlimited.describe('all checkpoints that were uploaded and are kept; bytes, or text such as "512MiB"'),
    episodesPerDay: countOrUnlimited.describe('episodes that are played, from midnight to midnight UTC'),
    openEpisodes: countOrUnlimited.describe('episodes of agents that the principal has open at the same time'),
  })
  .describe('what one principal may use; missing values come from "default"');

const principalName = z.string().regex(/^[a-z0-9][a-z0-9._@-]{0,62}$/, 'expected the name of a principal, or "default"');

export const quotasSchema = z.record(principalName, quotaSchema).describe('by principal, as tokens name them; "default" is for all others');

const directory = z.string().regex(/^\/[^\0]*$/, 'expected an absolute path');
const hostPattern = z
  .string()
  .regex(
    /^(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?)$/,
    'expected a host in lower case, "*.example.com" for all below one, or "*"',
  );
const network = z.union([z.cidrv4(), z.cidrv6()], { error: 'expected a network such as 10.1.0.0/16 or fd00::/8' });

const reach = {
  networks: z
    .array(network)
    .max(64)
    .describe('networks that may be reached although they are not public: loopback, private, link-local addresses'),
};

export const webhooksSchema = z
  .strictObject({
    hosts: z.array(hostPattern).max(256).describe('hosts that webhooks may be sent to: "*" for all'),
    ...reach,
    plainHttp: z.boolean().describe('whether they may be sent by http:, which others on the network can read'),
  })
  .describe('where webhooks may be sent');

const AUTO = z.literal('auto');
const AUTO_OR_URL = 'expected "auto" or a URL such as https://storage.internal:9000';
const autoOrUrl = z.union([AUTO, z.url({ protocol: /^https?$/, error: AUTO_OR_URL })], { error: AUTO_OR_URL });
const autoOrText = z.union([AUTO, z.string().min(1).max(256)], { error: 'expected "auto" or a name' });
const bucketPrefix = z
  .string()
  .regex(
    /^(gs|s3):\/\/[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](\/.*)?$/,
    'expected gs://bucket, s3://bucket, or either with what names begin with',
  );

export const sourcesSchema = z
  .strictObject({
    roots: z.array(directory).max(64).describe('directories of this machine in which callers of a server may name checkpoints'),
    hosts: z.array(hostPattern).max(256).describe('hosts that checkpoints may be fetched from: "*" for all'),
    ...reach,
    plainHttp: z.boolean().describe('whether http: is fetched from, which others on the network can read and change'),
    buckets: z
      .array(bucketPrefix)
      .max(256)
      .describe(
        'buckets, or prefixes in them, in which callers of a server may name checkpoints: they are read with the server’s credentials',
      ),
    gcs: z
      .strictObject({
        endpoint: autoOrUrl.describe('"auto": Google’s; or the URL of a server that speaks its protocol'),
        project: autoOrText.describe('project of the requests; "auto": that of the credentials'),
      })
      .describe('how gs: is reached; credentials are found as Google’s libraries do'),
    s3: z
      .strictObject({
        endpoint: autoOrUrl.describe('"auto": Amazon’s; or the URL of a server that speaks its protocol'),
        region: autoOrText.describe('"auto": AWS_REGION, or the profile’s'),
        pathStyle: z
          .boolean()
          .describe('whether the bucket is in the path instead of the host’s name, as many servers other than Amazon’s require'),
      })
      .describe('how s3: is reached; credentials are found as Amazon’s libraries do'),
  })
  .describe('which checkpoints the callers of a server may name by their URI');

const FIRESTORE = /^(store|firestore:\/\/[a-z][a-z0-9.:-]{4,98}[a-z0-9](\/([a-z][a-z0-9-]{2,61}[a-z0-9]|\(default\)))?)$/;

export const arenaSchema = z
  .strictObject({
    tasks: z.array(directory).max(1000).describe('tasks that callers may play: directories of tasks, or of directories of tasks'),
    workspaces: z.int().min(1).max(100_000).describe('workspaces at a time, of all open episodes together'),
    live: z
      .string()
      .regex(/^(memory$|rediss?:\/\/|valkeys?:\/\/)/, 'expected "memory" or redis://user:password@host:port/database')
      .max(4096)
      .describe('where the state of open episodes is kept: "memory", or redis://user:password@host:port/database'),
    trajectories: z
      .string()
      .regex(FIRESTORE, 'expected "store", or firestore://PROJECT or firestore://PROJECT/DATABASE')
      .describe('where episodes, steps and rewards are kept: "store", or firestore://PROJECT/DATABASE'),
    steps: z.int().min(1).max(100_000).describe('of an episode, at most'),
    seconds: z.number().positive().max(31_536_000).describe('of an episode, while it is stepping, where its task does not say'),
    bytesWritten: byteSizeSchema.describe('of an episode, by its actions on files'),
    outputCharacters: z.int().min(1).max(1e12).describe('of all observations of an episode'),
    idleSeconds: z.number().positive().max(31_536_000).describe('an episode without a request for this long ends, with the reward 0'),
  })
  .describe('episodes of agents that play tasks over HTTP');
