import type { ScriptEvidence } from './evidence.ts';
import { tryParseJson } from '../../kernel/json-bounds.ts';

export type ScriptReward =
  | { readonly kind: 'reward'; readonly reward: number }
  /** The script wrote none: the submission may have caused that. */
  | { readonly kind: 'none'; readonly detail: string }
  /** Its output is no reward: the verifier is broken. */
  | { readonly kind: 'broken'; readonly detail: string };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/**
 * Reads the reward that a script left: reward.json, a flat object whose "reward" counts, and reward.txt, one number. Harbor takes the first one that
 * exists and any number; here both have to agree, and it has to be in [0, 1].
 */
export function readScriptReward({ rewardJson, rewardText }: Pick<ScriptEvidence, 'rewardJson' | 'rewardText'>): ScriptReward {
  const given = [
    ...(rewardJson === null || rewardJson.trim() === '' ? [] : [readJsonReward(rewardJson)]),
    ...(rewardText === null || rewardText.trim() === '' ? [] : [readTextReward(rewardText)]),
  ];
  const [first, second] = given;
  if (first === undefined) return { kind: 'none', detail: 'the script wrote neither reward.json nor reward.txt' };
  const broken = given.find(({ kind }) => kind === 'broken');
  if (broken !== undefined) return broken;
  if (first.kind === 'reward' && second?.kind === 'reward' && first.reward !== second.reward)
    return { kind: 'broken', detail: `reward.json says ${first.reward} and reward.txt says ${second.reward}; expected the same` };
  return first;
}

function readJsonReward(text: string): ScriptReward {
  const where = 'reward.json';
  const value = tryParseJson(text);
  if (value === undefined) return { kind: 'broken', detail: `${where}: it is no JSON; expected an object such as {"reward": 1}` };
  const reward: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'reward') : undefined;
  if (typeof reward === 'number') return checkWithin(where, reward);
  return {
    kind: 'broken',
    detail: `${where}: reward: expected a number from 0 to 1, got ${JSON.stringify(reward)?.slice(0, 100) ?? 'nothing'}`,
  };
}

function readTextReward(text: string): ScriptReward {
  const where = 'reward.txt';
  const trimmed = text.trim();
  if (NUMBER.test(trimmed)) return checkWithin(where, Number(trimmed));
  return { kind: 'broken', detail: `${where}: expected one number from 0 to 1, got ${JSON.stringify(trimmed.slice(0, 100))}` };
}

function checkWithin(where: string, reward: number): ScriptReward {
  if (reward >= 0 && reward <= 1) return { kind: 'reward', reward };
  return { kind: 'broken', detail: `${where}: expected a number from 0 to 1, got ${reward}` };
}
