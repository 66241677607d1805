"""The lecture room of this session: its pictures and questions go to the followers; a bar says who is there."""
