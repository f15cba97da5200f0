"""A certificate with numbers of its own, for tests of what is shown."""

from privet.robustness.certificate import ADDED, CHANGED, Certificate, CertificateRow, PoisonLevel


def certificate(**changes):
    rows = (
        CertificateRow(PoisonLevel("1%", 5, ADDED), 0.7, 0.6, 0.65, 0.2, 0.3),
        CertificateRow(PoisonLevel("1%", 5, CHANGED), 0.6, 0.5, 0.55, 0.3, 0.4),
    )
    fields = {
        "estimator": "PrivateTreeClassifier", "guarantee": "pure", "word": "by its receipt", "unit": "one record",
        "records": 500, "test_records": 100, "runs": 50, "confidence": 0.99, "clean": 0.8, "error": 0.01, "rows": rows,
        "cost": "50 x 0.1 = 5 epsilon in all",
    }  # fmt: skip
    return Certificate(**{**fields, **changes})
