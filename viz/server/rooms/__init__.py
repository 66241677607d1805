"""The lecture room: one lecturer, many followers who are not Streamlit sessions. Kept in the memory of this process, and nowhere else.

`ask.py` says what a question is and what answers it, `room.py` what one room holds, `store.py` which rooms there are (`Rooms`
is all that the others know of it, so that a second store can take its place), `routes.py` what a browser may ask for.
"""
