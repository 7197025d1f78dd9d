"""Who answers and what they write: rows of data, and how a row is found."""
