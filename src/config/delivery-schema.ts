import { z } from 'zod';

/** How a template's sandboxes get their checkpoints. */
export const templateDeliverySchema = z
  .enum(['auto', 'upload', 'pull', 'node-cache'])
  .describe(
    'upload: Muster sends the files; pull: the sandbox fetches them; node-cache: its node has one copy for all; auto: the cheapest that there is',
  );

const URL_EXPECTED = 'expected "none", or how sandboxes reach this Muster, such as http://10.0.0.5:7680';

/** Says where sandboxes that are elsewhere fetch checkpoints from. */
export const deliverySchema = z
  .strictObject({
    url: z
      .union([z.literal('none'), z.string().regex(/^https?:\/\/[^/?#@\s]+$/, URL_EXPECTED)], { error: URL_EXPECTED })
      .describe('how sandboxes reach this Muster to fetch checkpoints from it; "none": they do not'),
    host: z.string().min(1).max(255).describe('address that it listens on for them'),
    port: z.int().min(0).max(65_535).describe('0: any that is free, which is then put behind the URL'),
    linkSeconds: z.number().min(10).max(86_400).describe('a link to a file is good this long'),
    bucketHosts: z
      .array(
        z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, {
          error: 'expected the name of a host, such as storage.googleapis.com, without a port',
        }),
      )
      .max(16)
      .describe('hosts of object stores that sandboxes reach: what came from a bucket there they fetch from there, by a signed link'),
    transfers: z.int().min(1).max(10_000).describe('files that are sent at the same time'),
  })
  .describe('where sandboxes of E2B and Kubernetes fetch checkpoints from');
