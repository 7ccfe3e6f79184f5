# The workbench in a container, without a GPU:
#   docker build -t puzzleflow --build-arg TORCH_INDEX=ADDRESS .
#   docker run --rm -p 8000:8000 puzzleflow
# ADDRESS is that of PyTorch's CPU wheels, as its page on installation tells it; without it the image
# holds CUDA and is some 5 GB larger. Another command:
#   docker run --rm -v "$PWD:/data" puzzleflow solve cut --out solved
FROM python:3.12-slim AS build
ARG TORCH_INDEX=""
WORKDIR /source
COPY constraints.txt ./
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir -c constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /venv/bin/pip install --no-cache-dir -c constraints.txt '.[web,hub]' \
    && /venv/bin/python -m puzzleflow.search

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 puzzler && mkdir /data && chown puzzler /data
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1
USER puzzler
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["puzzleflow"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--no-browser"]
