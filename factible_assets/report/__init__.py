"""The HTML report of one video: one file, no script, no request to anywhere.

What belongs here: the records that a report needs (data.py), reading them from a warehouse
(reader.py), arranging them for a reader (view.py, passages.py), and the page itself (render.py with
its template and style sheet). What does not: any judgement, any other format.
"""
