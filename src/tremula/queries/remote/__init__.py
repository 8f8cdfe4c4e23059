"""Sites that answer over the network: a server of schema and guarded counts, and the oracle that asks it.

`messages.py` says what is sent, `site.py` answers, `client.py` asks. Open `client.py` first.
"""
