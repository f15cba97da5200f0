from privet.robustness.section import section
from sample_certificate import certificate


def test_a_section_has_the_table_and_both_warnings_and_escapes_names():
    text = section(certificate(estimator="<script>"))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<tr>") == 3
    for words in ("average over retrainings", "itself a release", "attack success at most", "(estimate)</th>"):
        assert words in text
