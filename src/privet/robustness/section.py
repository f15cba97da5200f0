"""A certificate as a section of an HTML page: its statement, its table and its warning."""

from __future__ import annotations

from html import escape

from privet.robustness.certificate import Certificate


def section(certificate: Certificate) -> str:
    """``<section>`` with everything that the certificate says; all text is escaped."""
    titles, *rows = certificate.table()
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        '<section id="robustness">\n<h2>Poisoned records</h2>\n'
        f"<p>{escape(certificate.statement)}</p>\n"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        f"<p><strong>{escape(certificate.warning)}</strong></p>\n</section>\n"
    )
