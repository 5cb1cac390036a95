"""Word classes: clustering beside its peers, and classes as features; ``__main__`` says what is measured."""
