import { PROBLEM_TYPE, problemSchema } from './problem.ts';

function describeResponse(description: string): { description: string; content: Record<string, { schema: typeof problemSchema }> } {
  return { description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } };
}

/** What any call may answer in place of what was asked for. */
export const PROBLEMS = {
  400: describeResponse('the request is not one: see `errors`'),
  401: describeResponse('the caller is unknown'),
  403: describeResponse('the caller may not do this'),
  404: describeResponse('there is no such thing'),
  409: describeResponse('it contradicts an earlier request'),
  413: describeResponse('it is too large'),
  415: describeResponse('it is of a type that is not understood'),
  422: describeResponse('what it asks for cannot be done: see `detail`'),
  429: describeResponse('too much at a time: see the header Retry-After'),
  500: describeResponse('a defect of Muster'),
  503: describeResponse('not now: the store, the machine or a shutdown'),
};
