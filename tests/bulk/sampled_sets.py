"""Made data sets with known near-duplicates and known tasks of a test set, for counting what the steps get wrong."""

import random

NAMES = ("Natalia", "Ravi", "Chen", "Amara", "Lars", "Yuki", "Diego", "Fatima")
THINGS = ("clips", "stamps", "apples", "marbles", "tickets", "bricks", "letters", "coins")
WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ru", "sen", "tor", "vel", "bra", "qui", "dox") for b in ("na", "ple", "sto", "gen", "ri", "ma", "tek", "lu", "ven", "os")]  # fmt: skip
SET_OF_TASKS = "Answer the following question. The last line of your answer must be of the form Answer: X without quotes, where X is the result."


def word_problem(generator: random.Random) -> str:
    """A task as school books have them: many share all but their numbers and names."""
    name, thing = generator.choice(NAMES), generator.choice(THINGS)
    first, second = generator.randrange(10, 999), generator.randrange(2, 99)
    return (
        f"{name} sold {first} {thing} to friends in April, and then sold {second} times fewer {thing} in May than in April. "
        f"How many {thing} did {name} sell altogether in April and May, if none of the {thing} came back?"
    )


def free_text(generator: random.Random, length: int = 80) -> str:
    """A text of its own."""
    return " ".join(generator.choice(WORDS) for _ in range(length))


def slightly_changed(text: str, generator: random.Random) -> str:
    """The same text with another case, white space and one word in forty."""
    words = [
        generator.choice(WORDS)
        if not any(map(str.isdigit, word)) and generator.random() < 0.025
        else word
        for word in text.split()
    ]
    joined = generator.choice((" ", "  ", "\n")).join(words)
    return joined.upper() if generator.random() < 0.2 else joined
