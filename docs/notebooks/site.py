"""A hook of MkDocs: notebooks become pages of the site, with the outputs that they were saved with."""

import html
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
        assert file.abs_src_path is not None
        content = as_markdown(json.loads(Path(file.abs_src_path).read_text(encoding="utf-8")))
        files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=content))
    return files


def as_markdown(notebook: dict[str, Any]) -> str:
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *map(_shown, cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f'<img alt="{html.escape("".join(data["text/plain"]))}" src="data:image/png;base64,{data["image/png"]}">'
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
