# The image of sandboxes on Kubernetes and in Docker: Python, the runner, the packages that it imports, and websockets for pods that dial
# back. "npm run images" builds it from a context that it has prepared: the runner, and the packages as wheels.
ARG BASE=python:3.12-slim-bookworm
FROM ${BASE} AS packages
COPY wheels /wheels
COPY files/runner/requirements.txt /requirements.txt
RUN python3 -m venv /muster/python && /muster/python/bin/python -m pip install --no-index --find-links=/wheels -r /requirements.txt

FROM ${BASE}
COPY --from=packages /muster/python /muster/python
COPY files/runner /muster/runner
ENV PATH=/muster/python/bin:$PATH
# Python files are compiled here, because a pod's file system is read-only.
RUN python3 -m compileall -q /muster/runner
USER 1000:1000
WORKDIR /tmp
# The pod names the command with which its containers wait.
CMD ["python3", "-I", "/muster/runner"]
