"""The lecture room: one lecturer, many followers who are not Streamlit sessions. Kept in the memory of this process, or of several that share them.

`ask.py` says what a question is and what answers it, `room.py` what one room holds, `store.py` which rooms there are (`Rooms`
is all that the others know of it, so that a second store can take its place), `routes.py` what a browser may ask for. Where several copies
of the app have the same rooms, what changes one goes through a log in Redis, which all copies do in its order: `log.py`, `shared_room.py`, `shared.py`.
"""
