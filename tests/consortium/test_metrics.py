"""Numbers for Prometheus: counts of runs for all, the rest for who has the token."""

from privet.consortium.metrics import prometheus

STATUS = {
    "name": "alpha", "role": "server", "version": "1", "limit": "1 (delta 1e-06)", "spent": "0.25", "left": "infinity",
    "runs": [{"state": "open"}, {"state": "closed"}, {"state": "open"}],
    "certificates": [{"name": 'o"d\\d', "days": 12}],
    "users": [{"user": "ann", "queries left": 3}], "hidden models": [{}],
    "members": [{"name": "owner bank", "connected": True}, {"name": "trainer"}], "refused connections": 7,
}  # fmt: skip


def test_strangers_on_the_machine_see_counts_of_runs_alone():
    lines = [line for line in prometheus(STATUS, everything=False).splitlines() if not line.startswith("#")]
    assert lines == ["privet_up 1", 'privet_runs{state="closed"} 1', 'privet_runs{state="open"} 2']


def test_operators_see_budgets_certificates_and_who_is_there():
    text = prometheus(STATUS, everything=True)
    for line in (
        'privet_info{name="alpha",role="server",version="1"} 1',
        "privet_epsilon_limit 1",
        "privet_epsilon_spent 0.25",
        "privet_epsilon_left inf",
        r'privet_certificate_days{name="o\"d\\d"} 12',
        'privet_queries_left{name="ann"} 3',
        "privet_hidden_models 1",
        'privet_connected{name="owner bank"} 1',
        "privet_refused_connections 7",
    ):
        assert line in text.splitlines()
    assert 'name="trainer"' not in text
    assert "privet_epsilon_spent NaN" in prometheus({"spent": ""}, everything=True)
