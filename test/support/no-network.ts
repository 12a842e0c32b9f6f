import nock from 'nock';

// No test, and nothing that a test calls, talks to anything over HTTP unless it has said what it expects to be answered. The file before in this
// process may have said otherwise.
if (!nock.isActive()) nock.activate();
nock.cleanAll();
nock.disableNetConnect();
