import { z } from 'zod';
import { InputError } from '../../../kernel/errors.ts';
import type { Caller } from '../../../service/access/caller.ts';
import type { EpisodeCalls } from '../../../service/arena/episode-service.ts';
import { stepToReward, type RewardWait } from '../../../service/arena/step-to-reward.ts';
import { toProblem } from '../problems/problem.ts';
import { toActionResult } from './openenv-observation.ts';
import { answerRpc, createFailure, INVALID_PARAMS, listEnvironmentTools, rpcSchema, SERVER_ERROR } from './openenv-tools.ts';

export interface RpcParts {
  readonly arena: EpisodeCalls;
  readonly caller: Caller;
  readonly task: string;
  readonly wait: RewardWait;
}

const sessionSchema = z.looseObject({ session_id: z.string().min(1).max(255) });

/**
 * Answers JSON-RPC without a connection, as the tool client of openenv-core uses it in its production mode. A session is an episode and has its id:
 * the server keeps no other state, so a client can continue after a restart. Never rejects.
 */
export async function answerSessionRpc({ arena, caller, task, wait }: RpcParts, data: unknown): Promise<object> {
  const { success, data: request } = rpcSchema.safeParse(data);
  const { method = '', id = null, params = {} } = success ? request : {};
  const session = sessionSchema.safeParse(params).data?.session_id;
  try {
    if (method === 'openenv/session/create') {
      const { episode } = await arena.start({ task, agent: 'openenv', seed: 0 }, caller);
      return { jsonrpc: '2.0', id, result: { session_id: episode.id } };
    }
    if (session === undefined && (method === 'openenv/session/close' || method === 'tools/call'))
      return createFailure(
        id,
        INVALID_PARAMS,
        'params.session_id: expected what openenv/session/create has answered; create a session first',
      );
    if (method === 'openenv/session/close') {
      await arena.cancel(session ?? '', caller);
      return { jsonrpc: '2.0', id, result: { session_id: session, closed: true } };
    }
    return await answerRpc(
      data,
      () => listEnvironmentTools(arena, task),
      async ({ name, action }) => {
        const episode = session ?? '';
        const result = toActionResult(episode, await stepToReward(arena, episode, caller, action, wait));
        if (result === undefined) throw new InputError('episode.grading', `${name}: the episode is still being graded; call it again`);
        return result;
      },
    );
  } catch (error) {
    return createFailure(id, error instanceof InputError ? INVALID_PARAMS : SERVER_ERROR, toProblem(error).detail);
  }
}
