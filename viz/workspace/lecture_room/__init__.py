"""The lecture room: opening one, who is in it, what it is asked, the sentences that it sends."""
