"""Solutions of lesson 7; the builder folds each below its exercise."""

from deepnlp.lessons.exercises import check

# %%
# Solution 7.1
# A unit must be spared ten times, each time with probability 1/2: about one in a thousand.
check("7.1", 0.5**10)


# %%
# Solution 7.2
def locked_dropout_solution(x, p, rng):
    N, _, D = x.shape
    mask = rng.random((N, 1, D)) >= p  # (N, 1, D), the same for all T
    return x * mask / (1 - p)


check("7.2", locked_dropout_solution)
