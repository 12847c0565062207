# harness in a container: docker build --tag heart-voice-harness . && docker run --rm -v "$PWD:/runs" heart-voice-harness run --agent polaris-like --limit 4
# Weights are fetched at the first run; -v heart-cache:/home/harness/.cache keeps them.
FROM debian:bookworm-20260918-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libgomp1 python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home harness
COPY . /opt/harness-source
RUN python3 -m venv /opt/harness \
 && /opt/harness/bin/pip install --no-cache-dir --require-hashes --requirement /opt/harness-source/requirements-locked.txt \
 && /opt/harness/bin/pip install --no-deps --no-build-isolation /opt/harness-source \
 && rm -rf /opt/harness-source
USER harness
WORKDIR /runs
ENTRYPOINT ["/opt/harness/bin/harness"]
