"""Parts of the learning searchers: the policy, masks of its options, and the FGNAS paper's own controller."""
