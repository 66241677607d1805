# Attention Atlas in a container: `docker compose up` (two copies, nginx, rooms), or this image alone:
#
#   docker build -t attention-atlas . && docker run --rm -p 8501:8501 --read-only --tmpfs /tmp attention-atlas
#
# examples/container.md says what can be set. tests/test_container.py carries out these steps without a container engine.

FROM python:3.12-slim-bookworm AS build
# The address of an index with torch's build for the processor alone; without it the usual index's build is taken, which is larger.
ARG TORCH_INDEX=""
WORKDIR /src
RUN python -m venv /opt/atlas
ENV PATH="/opt/atlas/bin:$PATH"
RUN PIP_INDEX_URL="$TORCH_INDEX" pip install --no-cache-dir "torch==2.13.0"
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . ./
RUN pip install --no-cache-dir --no-deps .

FROM python:3.12-slim-bookworm
# jemalloc gives freed memory back where the C library keeps up to 200 MB between what is in use.
RUN apt-get update && apt-get install -y --no-install-recommends "libjemalloc2=5.3.0-*" && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /tmp --no-create-home atlas
COPY --from=build /opt/atlas /opt/atlas
ENV PATH="/opt/atlas/bin:$PATH" HOME="/tmp" PYTHONDONTWRITEBYTECODE="1" ATLAS_PROFILE="container"
ENV LD_PRELOAD="libjemalloc.so.2" MALLOC_CONF="narenas:2,dirty_decay_ms:0,muzzy_decay_ms:0,background_thread:true"
WORKDIR /tmp
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["attention-atlas", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
