import { z } from 'zod';

const use = z.strictObject({ used: z.int().min(0), most: z.int().min(0).nullable().describe('null where there is no bound') });

export const quotaListSchema = z.strictObject({
  items: z
    .array(
      z
        .strictObject({
          principal: z.string(),
          concurrentEpisodes: use.describe('episodes that this server plays now'),
          waitingEvaluations: use,
          checkpointBytes: use,
          episodesPerDay: use.describe('since midnight UTC'),
          openEpisodes: use.describe('of agents'),
        })
        .describe('PrincipalQuotas'),
    )
    .describe('the caller, principals that the configuration names, and those of the latest 200 tokens; by name'),
});

export type PrincipalQuotas = z.infer<typeof quotaListSchema>['items'][number];
