"""What to try at each step of the exhibit on residual and norm."""

TRY = (
    "**Try** another word, and the other layers under “Change it”: in which does attention add most, beside what is there already?",
    "**Try** sums on, size 1: the signal grows by hundreds. Sums alone are not enough. Then size 0.1 without sums.",
    "**Try** a sentence of your own. Is it ever better than a uniform guess?",
    "**Try** “σ as printed” with 512 drawn numbers: the variance is 0.001953, one over 512. Then g = 0: whatever came in, b comes out.",
    "**Try** to push by 0.5, then by 5, under both norms; and a sentence of one word under batch norm.",
    "**Try** size 0.1 in all three orders: two hardly add anything, one does not notice.",
)
