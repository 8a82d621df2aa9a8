# An image with tokbench and the sample vocabularies: `docker run --rm tokbench run quick`.
# Mount a folder for results: `docker run --rm -v "$PWD:/data" tokbench run mine.yaml`.
FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[samples]" && rm -r /wheels \
    && useradd --create-home tokbench && mkdir /data && chown tokbench /data
USER tokbench
WORKDIR /data
ENTRYPOINT ["tokbench"]
CMD ["run", "quick"]
