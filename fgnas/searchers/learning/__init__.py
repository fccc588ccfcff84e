"""Parts of the learning searchers: the policy, masks of what it may take, and the FGNAS paper's own controller."""
