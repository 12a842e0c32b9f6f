import { Egress } from '../../service/access/egress.ts';
import { CheckedRequests } from '../../adapters/http/checked-requests.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { WebhookSender } from '../../service/upkeep/webhook-deliverer.ts';

/** Decides which addresses may get webhooks, and sends them. Part of the composition root. */
export interface Webhooks {
  readonly sender: WebhookSender;
  /** Checks a URL before anything is accepted. The address of its name is known only when it is sent. @throws InputError `egress.…` */
  readonly assertUrl: (url: string) => void;
}

export function createWebhooks({ webhooks }: Pick<Config, 'webhooks'>, clock: Clock): Webhooks {
  const egress = new Egress(webhooks, 'webhooks');
  const requests = new CheckedRequests({ egress, clock });
  return {
    assertUrl: (url) => void egress.assertUrl(url),
    sender: {
      post: async (url, headers, body, signal) => {
        // The body is of no interest: the request is over with the answer's head.
        using answer = await requests.send(url, { method: 'POST', headers, body }, signal);
        return answer.status;
      },
    },
  };
}
